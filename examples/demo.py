"""Shunter's main job on an embedded workload: tune a score, train a network, and hold both against the classics.

Both learn from the first 60 % of the jobs and are shown on the last 30 %, which nothing has looked at before.

python examples/demo.py
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

import shunter
from shunter import Cluster, read_workload
from shunter.comparison.bench import available_threads
from shunter.comparison.classics import choose_classic
from shunter.comparison.combinations import combine
from shunter.comparison.comparison import Comparison, compare_combinations
from shunter.comparison.objective import mean_ratio, parse_objective
from shunter.comparison.rows import combination_rows
from shunter.comparison.statistics import contrast
from shunter.model.log import Log
from shunter.model.windows import choose_windows
from shunter.policies.scheduler import resolve_scheduler
from shunter.report.comparison_figure import draw_comparison
from shunter.report.learning_figure import draw_learning, read_curves
from shunter.report.schedule_figure import draw_schedule
from shunter.simulation import simulate
from shunter.tuning.space import SPACES
from shunter.tuning.tuned_file import estimate_section, tuned_text, write_tuned
from shunter.tuning.weights import Plan, find_weights, training_benches

if TYPE_CHECKING:
    from shunter.agents.training.train import Training
    from shunter.model.windows import Windows

WORKLOAD = "generate:lublin?seed=2026&jobs=100000&cores=256&load=0.9"
POLICIES = ["fcfs", "sjf", "smallest", "saf", "f1", "f2", "f3", "f4", "wfp3", "unicef"]
DISPATCHES = ["strict", "easy", "conservative"]
UNSEEN = (0.7, 1.0)
PLAN = Plan(windows=20, generations=10, population=16, threads=available_threads())
SHOWN = 8
FOLDER = Path("demo")
TUNED, LEARNED = FOLDER / "tuned.toml", FOLDER / "learned"
BEGUN = f"{TUNED.name}/easy"
"""What the network decides like before it has learned anything."""
OURS = (f"{TUNED.name}/", f"{LEARNED.name}/")
"""What the labels of the tuned score and of the learned policy begin with."""
NEXT = (
    "shunter compare --workload LOG.swf.gz --dispatch easy,conservative --plot compare.png",
    "shunter tune --workload LOG.swf.gz --out tuned.toml",
    "shunter train --workload LOG.swf.gz --init tuned.toml --out runs/first",
)


def main() -> None:
    """Tunes, trains, compares, prints, draws."""
    console = Console()
    began = time.perf_counter()
    FOLDER.mkdir(exist_ok=True)
    log = Log(read_workload(WORKLOAD), Cluster.pool(256))
    tune_score(log)
    console.print(f"A score was tuned on the first 60 % of the jobs: {time.perf_counter() - began:.0f} s.")
    training = train()
    outcome = training.outcome
    console.print(f"PPO took {outcome.steps:,} decisions there, and began as that score: {outcome.elapsed_s:.0f} s.")
    windows = choose_windows(len(log.workload), count=20, length=1024, part=UNSEEN)
    comparison = compare_all(log, windows)
    console.print(table(comparison))
    console.print(against_beginning(comparison), soft_wrap=True)
    draw(log, windows, comparison)
    console.print(f"Drawn in {FOLDER}/: compare.png, learning.png, schedule.png (a window under the best).")
    console.print(f"All of it took {time.perf_counter() - began:.0f} s. Next, your own log:")
    for command in NEXT:
        console.print(f"  .venv/bin/{command}", soft_wrap=True)


def tune_score(log: Log) -> None:
    """Searches the weights of a score on training days, and writes them to a file."""
    objective = parse_objective("bounded-slowdown", [])
    settings = resolve_scheduler(dispatch="easy")
    (bench,) = training_benches([log], PLAN)
    found = find_weights(
        [bench], [choose_classic(bench, settings, objective)], settings, SPACES["linear"], objective, PLAN
    )
    write_tuned(TUNED, tuned_text(found, estimate_section("requested", [log], PLAN.train), {}, [], ["The demo's."]))


def train() -> Training:
    """Learns where to depart from the tuned score."""
    return shunter.train(
        WORKLOAD,
        preset="quick",
        init=TUNED,
        out=LEARNED,
        force=True,
        config={
            "episodes": {"length": 512},
            "validation": {"length": 512, "windows": 32},
            "report": {"length": 1024},
        },
    )


def compare_all(log: Log, windows: Windows) -> Comparison:
    """Returns what classics, the tuned score and the learned policy do in windows that nobody has looked at."""
    classics = combine(POLICIES, DISPATCHES).possible
    ours = (*combine([str(TUNED)], ["easy"]).possible, *combine([str(LEARNED)]).possible)
    threads = available_threads()
    return compare_combinations(
        Log(log.workload, log.cluster), [*classics, *ours], windows, baseline="fcfs/easy", threads=threads
    )


def table(comparison: Comparison) -> Table:
    """Returns what the best, and the baseline, did to the users."""
    baseline = comparison.baseline.label
    windows = comparison.windows
    title = f"{len(windows)} unseen windows of {windows.length:,} generated jobs (Lublin-Feitelson) on 256 cores"
    result = Table(title=title)
    result.add_column("policy/dispatch")
    ratio = f"ratio to {baseline}\n(95 %)"
    for heading in ("bounded\nslowdown", ratio, "mean\nwait, h", "max\nwait, h", "cores\nused"):
        result.add_column(heading, justify="right")
    for row in combination_rows(comparison):
        if row["rank"] > SHOWN and row["label"] != baseline and not row["label"].startswith(OURS):
            continue
        result.add_row(
            row["label"],
            f"{row['geometric_mean']:,.1f}",
            f"{row['ratio']:.2f} ({row['ratio_low']:.2f} – {row['ratio_high']:.2f})",
            f"{row['mean_wait_s'] / 3600:,.1f}",
            f"{row['max_wait_s'] / 3600:,.0f}",
            f"{row['core_utilization']:.1%}",
            style="bold" if row["label"].startswith(OURS) else None,
        )
    return result


def against_beginning(comparison: Comparison) -> str:
    """Returns what training added to where it began."""
    begun, learned = (
        next(one.metrics for one in comparison.scored if one.combination.label.startswith(name))
        for name in (BEGUN, OURS[1])
    )
    found = contrast(learned[comparison.metric], begun[comparison.metric], comparison.windows.block)
    assert found.ratio is not None, "a bounded slowdown is never 0"
    assert found.ratio_interval is not None, "the windows lie in enough blocks"
    low, high = found.ratio_interval
    sure = "which these windows cannot tell from 1" if low <= 1 <= high else "beyond chance in these windows"
    waits = mean_ratio(learned["mean_wait_s"], begun["mean_wait_s"])
    ratio = f"{found.ratio:.2f} (95 %: {low:.2f} – {high:.2f})"
    return f"learned to {BEGUN}: {ratio}, {sure}; mean wait {waits:.2f} times."


def draw(log: Log, windows: Windows, comparison: Comparison) -> None:
    """Draws the comparison, the training, and a window under the best policy."""
    draw_comparison(comparison).savefig(FOLDER / "compare.png")
    draw_learning([read_curves(LEARNED)]).savefig(FOLDER / "learning.png")
    best = comparison.scored[0].combination.settings
    window = log.workload.window(int(windows.first[0]), windows.length)
    schedule = simulate(window, log.cluster, policy=best.policy, dispatch=best.dispatch)
    draw_schedule(schedule).savefig(FOLDER / "schedule.png")


if __name__ == "__main__":
    main()
