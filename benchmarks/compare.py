"""How long a broad comparison takes, and how fast orders that move are.

python benchmarks/compare.py [--workload LOG.swf.gz] [--threads 2]

Thirty policies under four dispatch rules on twenty windows of 1,024 jobs, as `shunter compare` runs them, with every
metric and its statistics; then the starts a second of the policies whose order is made anew at every pass, each as the
best of a few rounds, one thread.
"""

from __future__ import annotations

import argparse
import time

from shunter import Cluster, Workload, read_cluster, read_workload
from shunter.comparison.combinations import CLASSICS, combine
from shunter.comparison.comparison import compare_combinations
from shunter.model.log import Log
from shunter.model.windows import Windows, choose_windows
from shunter.policies.scheduler import resolve_scheduler
from shunter.simulation import WindowRunner

LUBLIN = "generate:lublin?seed=1&jobs=10000&cores=256&load=1.06"
"""As crowded as the published lublin_256."""
MORE = ("hybrid?aging=0.1", "hybrid?aging=10", "fair-share?half_life_s=86400", "multifactor?size=0",
        "multifactor?fair_share=0", "linear", "linear?cores=1&wait=0.1")  # fmt: skip
POLICIES = (*(name for name in CLASSICS if name != "random-feasible"), *MORE)
DISPATCHES = ("strict", "easy", "conservative", "committed")
MOVING = ("wfp3", "unicef", "lexp", "fair-share", "multifactor", "linear?cores=1&wait=0.1")
ROUNDS = 3


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workload", default=LUBLIN)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    workload = read_workload(arguments.workload)
    cluster = read_cluster(workload.cluster_spec or "256")
    windows = choose_windows(len(workload), count=20, length=1024)
    measure_comparison(workload, cluster, windows, arguments.threads)
    measure_moving(workload, cluster, windows)


def measure_comparison(workload: Workload, cluster: Cluster, windows: Windows, threads: int) -> None:
    """Times one comparison from combinations to statistics."""
    combinations = combine(POLICIES, DISPATCHES).possible
    by_dispatch: dict[str, float] = {}
    last = time.perf_counter()

    def clock(done: int, _: int) -> None:
        nonlocal last
        now = time.perf_counter()
        rule = combinations[done - 1].settings.dispatch
        by_dispatch[rule] = by_dispatch.get(rule, 0.0) + now - last
        last = now

    begin = time.perf_counter()
    comparison = compare_combinations(Log(workload, cluster), combinations, windows, threads=threads, progress=clock)
    seconds = time.perf_counter() - begin
    starts = len(combinations) * len(windows) * windows.length
    print(
        f"{len(POLICIES)} policies x {len(DISPATCHES)} dispatch rules x {len(windows)} windows of {windows.length} jobs"
    )
    print(f"  {len(combinations)} combinations, {starts:,} job starts, {threads} threads: {seconds:.1f} s")
    for rule, spent in by_dispatch.items():
        print(f"  {rule:13} {spent:5.1f} s")
    print(f"  best: {comparison.scored[0].combination.label}")


def measure_moving(workload: Workload, cluster: Cluster, windows: Windows) -> None:
    """Prints starts a second of orders that move, and of two that stand still beside them."""
    runner = WindowRunner(workload, cluster)
    first = windows.first.tolist()
    print("million job starts a second, one thread")
    for policy in ("fcfs", "sjf", *MOVING):
        figures = []
        for dispatch in ("committed", "strict", "easy"):
            settings = resolve_scheduler(policy=policy, dispatch=dispatch)
            seconds = []
            for _ in range(ROUNDS):
                begin = time.perf_counter()
                runner.run(settings, first, windows.length)
                seconds.append(time.perf_counter() - begin)
            figures.append(f"{dispatch} {len(first) * windows.length / min(seconds) / 1e6:5.2f}")
        print(f"  {policy:24} {'  '.join(figures)}")


if __name__ == "__main__":
    main()
