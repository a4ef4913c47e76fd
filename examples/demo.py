"""Shunter's main job on an embedded workload: tune a score, train a network, and hold both against the classics.

Both learn from the first 60 % of the jobs and are shown on the last 30 %, which nothing has looked at before.

python examples/demo.py
"""

from __future__ import annotations

import time
from pathlib import Path

import shunter
from shunter.agents.training.curves import read_curves
from shunter.report.comparison_figure import draw_comparison
from shunter.report.comparisons import print_comparison
from shunter.report.learning_figure import draw_learning
from shunter.report.schedule_figure import draw_schedule

WORKLOAD = "generate:lublin?seed=2026&jobs=100000&cores=256&load=0.9"
CLASSICS = ["fcfs", "sjf", "smallest", "saf", "f1", "f2", "f3", "f4", "wfp3", "unicef"]
DISPATCHES = ["strict", "easy", "conservative"]
UNSEEN = "0.7:1"
SHOWN = 8
FOLDER = Path("demo")
TUNED, LEARNED = FOLDER / "tuned.toml", FOLDER / "learned"
FIGURES = [FOLDER / name for name in ("compare.png", "learning.png", "schedule.png")]
SHORT = {"episodes": {"length": 512}, "validation": {"length": 512, "windows": 32}, "report": {"length": 1024}}


def main() -> None:
    """Tunes, trains, compares, prints and draws."""
    began = time.perf_counter()
    FOLDER.mkdir(exist_ok=True)
    workload, cluster = shunter.read_workload(WORKLOAD), shunter.read_cluster("256")

    print("Tuning a score on the first 60 % of the jobs ...", flush=True)
    shunter.tune(workload, cluster, out=TUNED, estimate="requested", windows=20, generations=10, population=16)
    print("Training a network that begins as this score, by PPO, for about a minute ...", flush=True)
    shunter.train(WORKLOAD, preset="quick", init=TUNED, out=LEARNED, force=True, config=SHORT)
    ours = [str(TUNED), str(LEARNED)]
    comparison = shunter.compare(
        workload, cluster, policy=[*CLASSICS, *ours], dispatch=DISPATCHES, baseline="fcfs/easy", part=UNSEEN
    )
    added = shunter.compare(workload, cluster, policy=ours, dispatch="easy", part=UNSEEN).rows()

    best = comparison.scored[0].combination.settings
    window = workload.window(int(comparison.windows.first[0]), comparison.windows.length)
    schedule = shunter.simulate(window, cluster, policy=best.policy, dispatch=best.dispatch)
    figures = (draw_comparison(comparison), draw_learning([read_curves(LEARNED)]), draw_schedule(schedule))
    for path, figure in zip(FIGURES, figures, strict=True):
        figure.savefig(path)
    print_comparison(comparison, SHOWN, FIGURES)
    print("What training added to the tuned score (1.00 where it kept the score, for lack of anything surely better):")
    for row in added:
        print(f"  {row['label']}: ratio {row['ratio']:.2f} (95 %: {row['ratio_low']:.2f} to {row['ratio_high']:.2f})")
    print(f"All of it took {time.perf_counter() - began:.0f} s. Next, your own log:")
    print("  .venv/bin/shunter compare --workload LOG.swf.gz --dispatch easy,conservative --plot compare.png")
    print("  .venv/bin/shunter tune --workload LOG.swf.gz --out tuned.toml")
    print("  .venv/bin/shunter train --workload LOG.swf.gz --init tuned.toml --out runs/first")


if __name__ == "__main__":
    main()
