"""Shunter's main job on an embedded workload: the same jobs under eight rules, a table, and a picture of the best.

python examples/demo.py
"""

from __future__ import annotations

import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from shunter import Cluster, Schedule, compute_metrics, read_workload
from shunter.evaluate.figures import draw_schedule
from shunter.simulate import simulate

WORKLOAD = "generate:lublin?seed=42&jobs=5000&cores=256&load=0.9&requests=factor"
RULES = [
    ("fcfs", "strict"),
    ("fcfs", "easy"),
    ("fcfs", "conservative"),
    ("sjf", "committed"),
    ("sjf", "easy"),
    ("smallest", "easy"),
    ("f1", "easy"),
    ("f2", "easy"),
]
FIGURE = Path("demo") / "schedule.png"


def main() -> None:
    """Simulates, prints, draws."""
    console = Console()
    workload = read_workload(WORKLOAD)
    cluster = Cluster.pool(256)
    begin = time.perf_counter()
    schedules = [simulate(workload, cluster, policy=policy, dispatch=dispatch) for policy, dispatch in RULES]
    seconds = time.perf_counter() - begin
    console.print(table(schedules))
    starts = len(RULES) * len(workload)
    console.print(f"{starts:,} job starts decided, and their schedules read back, in {seconds:.2f} s.")
    best = min(schedules, key=lambda schedule: compute_metrics(schedule)["mean_bounded_slowdown"] or 0.0)
    FIGURE.parent.mkdir(exist_ok=True)
    draw_schedule(best).savefig(FIGURE, dpi=120)
    console.print(f"Drawn: {FIGURE} ({best.settings.policy} under {best.settings.dispatch}).")
    console.print("Next, your own log:")
    console.print("  .venv/bin/shunter simulate --workload LOG.swf.gz --policy sjf --plot my.png", soft_wrap=True)


def table(schedules: list[Schedule]) -> Table:
    """Returns what each rule did to the users, the best last."""
    result = Table(title="5,000 generated jobs (Lublin-Feitelson) on 256 cores, load 0.9")
    result.add_column("policy")
    result.add_column("dispatch")
    for heading in ("mean\nwait, h", "p95\nwait, h", "max\nwait, h", "bounded\nslowdown", "cores\nused"):
        result.add_column(heading, justify="right")
    rows = [(schedule.settings, compute_metrics(schedule)) for schedule in schedules]
    for settings, metrics in sorted(rows, key=lambda row: -(row[1]["mean_bounded_slowdown"] or 0.0)):
        hours = [f"{(metrics[name] or 0.0) / 3600:,.1f}" for name in ("mean_wait_s", "p95_wait_s", "max_wait_s")]
        slowdown = f"{metrics['mean_bounded_slowdown']:,.1f}"
        used = f"{metrics['core_utilization']:.1%}"
        result.add_row(settings.policy, settings.dispatch, *hours, slowdown, used)
    return result


if __name__ == "__main__":
    main()
