"""How long a broad comparison takes, and how fast orders that move are.

    python benchmarks/compare.py [--workload LOG.swf.gz] [--threads 2]
    python benchmarks/compare.py --whole

Thirty policies under four dispatch rules on twenty windows of 1,024 jobs, as `shunter compare` runs them, with every
metric and its statistics; then the starts a second of the policies whose order is made anew at every pass, each as the
best of a few rounds, one thread.

`--whole` compares ten policies under EASY on one whole log of the size of CEA-Curie's instead, from reading the SWF
file to the verdict, on one thread: 312,000 jobs in 20 months on 93,312 cores. The log is drawn, and has Curie's size,
not its jobs: arrivals are uniform over the time; run times lognormal with a sigma of 2.2, cut at three days; requests
are 1 to 8 times as long, in whole quarters of an hour up to three days; a third of the jobs have one core, the others a
power of two up to 8,192; 700 users submit by Zipf's law. All run times are stretched by one factor to an offered load
of 0.85, at which jobs wait; that of the real log is lower.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from shunter import Cluster, Workload, read_cluster, read_workload
from shunter.comparison.combinations import CLASSICS, combine
from shunter.comparison.comparison import compare_combinations
from shunter.model.log import Log
from shunter.model.windows import Windows, choose_windows
from shunter.policies.scheduler import resolve_scheduler
from shunter.simulation import WindowRunner
from shunter.workloads.write import write_table

LUBLIN = "generate:lublin?seed=1&jobs=10000&cores=256&load=1.06"
"""As crowded as the published lublin_256."""
MORE = ("hybrid?aging=0.1", "hybrid?aging=10", "fair-share?half_life_s=86400", "multifactor?size=0",
        "multifactor?fair_share=0", "linear", "linear?cores=1&wait=0.1")  # fmt: skip
POLICIES = (*(name for name in CLASSICS if name != "random-feasible"), *MORE)
DISPATCHES = ("strict", "easy", "conservative", "committed")
MOVING = ("wfp3", "unicef", "lexp", "fair-share", "multifactor", "linear?cores=1&wait=0.1")
ROUNDS = 3
TEN = ("fcfs", "sjf", "saf", "laf", "smallest", "f1", "f2", "wfp3", "unicef", "multifactor")
CURIE_JOBS, CURIE_CORES, CURIE_S = 312_000, 93_312, 20 * 30 * 86_400
LONGEST_S = 3 * 86_400.0
WHOLE_LOAD = 0.85
GOAL_S = 120


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workload", default=LUBLIN)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--whole", action="store_true", help="ten policies on a whole log of CEA-Curie's size")
    arguments = parser.parse_args()
    if arguments.whole:
        with tempfile.TemporaryDirectory() as folder:
            return measure_whole(write_whole(Path(folder) / "log.swf.gz"))
    workload = read_workload(arguments.workload)
    cluster = read_cluster(workload.cluster_spec or "256")
    windows = choose_windows(len(workload), count=20, length=1024)
    measure_comparison(workload, cluster, windows, arguments.threads)
    measure_moving(workload, cluster, windows)


def write_whole(path: Path, seed: int = 1) -> Path:
    """Draws a log of the size of CEA-Curie's and writes it as SWF."""
    draw = np.random.default_rng(seed)
    cores = np.where(draw.random(CURIE_JOBS) < 1 / 3, 1, 2 ** draw.integers(0, 14, CURIE_JOBS))
    drawn_s, stretch = draw.lognormal(5.5, 2.2, CURIE_JOBS), 1.0
    # What is cut does not stretch: a few rounds come as near as whole seconds.
    for _ in range(30):
        run_s = np.ceil(np.minimum(drawn_s * stretch, LONGEST_S))
        stretch *= WHOLE_LOAD * CURIE_CORES * CURIE_S / float((run_s * cores).sum())
    asked_s = np.ceil(run_s * draw.uniform(1, 8, CURIE_JOBS) / 900) * 900
    columns = {
        "submit_s": np.sort(draw.integers(0, CURIE_S, CURIE_JOBS)),
        "run_s": run_s,
        "requested_s": np.minimum(asked_s, LONGEST_S),
        "tasks": cores,
        "user": [f"{user}" for user in draw.zipf(1.5, CURIE_JOBS) % 700],
    }
    jobs = Workload.from_frame(pl.DataFrame(columns), name="drawn", content_sha256="0" * 64)
    write_table(jobs, path)
    return path


def measure_whole(path: Path) -> None:
    """Times the comparison of ten policies on all jobs of a log, in CPU seconds."""
    begin = time.process_time()
    workload = read_workload(str(path))
    read = time.process_time()
    combinations = combine(TEN, ("easy",)).possible
    windows = choose_windows(len(workload), count=1, length=len(workload))
    log = Log(workload, Cluster.pool(CURIE_CORES))
    comparison = compare_combinations(log, combinations, windows, threads=1)
    compared = time.process_time()
    busy = float((workload.jobs["run_s"] * workload.jobs["tasks"]).sum()) / (CURIE_CORES * CURIE_S)
    print(f"{len(workload):,} jobs on {CURIE_CORES:,} cores, offered load {busy:.2f}, CPU seconds on one thread")
    print(f"  reading the log: {read - begin:.1f} s, {len(combinations)} policies: {compared - read:.1f} s")
    print(f"  best: {comparison.scored[0].combination.label}; goal {GOAL_S} s: ", end="")
    print("met" if compared - begin <= GOAL_S else "missed")


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
