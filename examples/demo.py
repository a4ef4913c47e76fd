"""Shunter's main job on an embedded workload: the classic policies on the same windows, a table, and two pictures.

python examples/demo.py
"""

from __future__ import annotations

import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from shunter import Cluster, read_workload
from shunter.evaluate.combinations import combine
from shunter.evaluate.compare import Comparison, compare
from shunter.evaluate.comparison_figures import draw_comparison
from shunter.evaluate.comparison_rows import combination_rows
from shunter.evaluate.figures import draw_schedule
from shunter.evaluate.window_runs import available_threads
from shunter.evaluate.windows import choose_windows
from shunter.simulate import simulate

WORKLOAD = "generate:lublin?seed=42&jobs=10000&cores=256&load=0.9&requests=factor"
POLICIES = ["fcfs", "sjf", "smallest", "saf", "f1", "f2", "f3", "f4", "wfp3", "unicef"]
DISPATCHES = ["strict", "easy", "conservative"]
SHOWN = 12
FOLDER = Path("demo")
NEXT = ".venv/bin/shunter compare --workload LOG.swf.gz --dispatch easy,conservative --plot compare.png"


def main() -> None:
    """Compares, prints, draws."""
    console = Console()
    workload = read_workload(WORKLOAD)
    cluster = Cluster.pool(256)
    windows = choose_windows(len(workload), count=20, length=1024)
    combinations = combine(POLICIES, DISPATCHES).possible
    begin = time.perf_counter()
    threads = available_threads()
    comparison = compare(workload, cluster, combinations, windows, baseline="fcfs/easy", threads=threads)
    seconds = time.perf_counter() - begin
    console.print(table(comparison))
    starts = len(combinations) * len(windows) * windows.length
    console.print(f"20 windows of 1,024 jobs: {starts:,} job starts decided and measured in {seconds:.1f} s.")
    FOLDER.mkdir(exist_ok=True)
    draw_comparison(comparison).savefig(FOLDER / "compare.png")
    best = comparison.scored[0].combination.settings
    first = int(windows.first[0])
    schedule = simulate(workload.window(first, windows.length), cluster, policy=best.policy, dispatch=best.dispatch)
    draw_schedule(schedule).savefig(FOLDER / "schedule.png")
    console.print(f"Drawn: {FOLDER}/compare.png, and {FOLDER}/schedule.png (a window under the best).")
    console.print("Next, your own log:")
    console.print(f"  {NEXT}", soft_wrap=True)


def table(comparison: Comparison) -> Table:
    """Returns what the best, and the baseline, did to the users."""
    baseline = comparison.baseline.label
    result = Table(title="Generated jobs (Lublin-Feitelson) on 256 cores, load 0.9")
    result.add_column("policy/dispatch")
    ratio = f"ratio to {baseline}\n(95 %)"
    for heading in ("bounded\nslowdown", ratio, "mean\nwait, h", "max\nwait, h", "cores\nused"):
        result.add_column(heading, justify="right")
    for row in combination_rows(comparison):
        if row["rank"] > SHOWN and row["label"] != baseline:
            continue
        result.add_row(
            row["label"],
            f"{row['geometric_mean']:,.1f}",
            f"{row['ratio']:.2f} ({row['ratio_low']:.2f} – {row['ratio_high']:.2f})",
            f"{row['mean_wait_s'] / 3600:,.1f}",
            f"{row['max_wait_s'] / 3600:,.0f}",
            f"{row['core_utilization']:.1%}",
        )
    return result


if __name__ == "__main__":
    main()
