"""How fast clusters of thousands of nodes are simulated, and how the time grows with the number of jobs.

    python benchmarks/nodes.py                      everything; takes long where a goal is missed
    python benchmarks/nodes.py --quick              a tenth of the jobs, without goals
    python benchmarks/nodes.py --only easy          the cases whose names hold this
    python benchmarks/nodes.py --against FOLDER     beside another checkout, and whether the schedules are equal

The jobs of a site: run times are lognormal(6.5, 2), cut at five days; requests are 1 to 3 times as long; 60 % of the
jobs have one task, the others 1 to 64; a task has 1 to 32 cores. There are 2,048 shapes of jobs then; with a memory
request drawn for each job nearly every job has its own. Arrivals are Poisson, at a rate that gives the load.

Each case runs in a process of its own, on one thread. Seconds are CPU time of the simulation alone, memory is the peak
of the whole process. FOLDER is the `src` of a checkout in which the core is built; both are run one after the other.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table

from shunter import Cluster, Workload, read_workload
from shunter.model.cluster import Node
from shunter.model.site import Limit, SiteRules
from shunter.policies.scheduler import resolve_scheduler
from shunter.simulation import WindowRunner

CORES = 32
MEMORY_MB = 131_072
LONGEST_S = 5 * 86_400.0
GROWTH_GOAL = 2.5
MOVING = ("fair-share", "multifactor", "qssf")


@dataclass(frozen=True)
class Case:
    """One simulation."""

    policy: str
    dispatch: str
    jobs: int
    nodes: int
    """0: a pool of 256 cores, with the generator `lublin`."""
    load: float
    memory: bool = False
    """Whether each job asks for memory of its own."""
    user_cores: int | None = None
    """The most cores that the running jobs of a user may have."""
    goal_s: float | None = None
    goal_mb: float | None = None
    half: bool = False
    """Whether half as many jobs are simulated too, for the growth."""

    @property
    def name(self) -> str:
        """What tables call it."""
        where = f"{self.nodes:,} nodes" if self.nodes else "pool of 256"
        memory = ", memory by job" if self.memory else ""
        limit = f", {self.user_cores:,} cores a user" if self.user_cores else ""
        return f"{self.policy} {self.dispatch}, {self.jobs:,} jobs, {where}, load {self.load}{memory}{limit}"


def cases(scale: float) -> list[Case]:
    """Returns all cases, with this part of their jobs."""

    def of(jobs: int) -> int:
        return int(jobs * scale)

    return [
        Case("fcfs", "easy", of(1_000_000), 5_000, 0.95, goal_s=30, goal_mb=2048),
        Case("fcfs", "easy", of(1_000_000), 5_000, 0.95, memory=True, goal_s=60),
        Case("wfp3", "easy", of(1_000_000), 5_000, 0.95, goal_s=120),
        Case("fcfs", "conservative", of(40_000), 0, 1.2, half=True, goal_s=2),
        Case("fcfs", "conservative", of(40_000), 100, 0.9, half=True, goal_s=2),
        Case("sjf", "conservative", of(20_000), 1_000, 0.95, goal_s=10),
        *(Case(policy, "easy", of(200_000), 1_000, 1.2, half=True) for policy in MOVING),
        Case("fcfs", "easy", of(30_000), 144, 0.9, user_cores=2048, half=True),
        # It stops jobs, and starts whatever fits.
        Case("las", "greedy", of(200_000), 1_000, 1.2, half=True),
        Case("fcfs", "easy", of(1_000_000), 0, 0.9),
        Case("wfp3", "easy", of(100_000), 0, 1.2),
    ]


def site(jobs: int, nodes: int, load: float, memory: bool, seed: int = 1) -> Workload:
    """Draws the jobs of a site."""
    draw = np.random.default_rng(seed)
    run_s = np.minimum(np.ceil(draw.lognormal(6.5, 2.0, jobs)), LONGEST_S)
    tasks = np.where(draw.random(jobs) < 0.6, 1, draw.integers(1, 65, jobs))
    cores = draw.integers(1, CORES + 1, jobs)
    # The load is that of the jobs which were drawn, however far they are from the mean.
    gap_s = float((run_s * tasks * cores).mean()) / (load * nodes * CORES)
    columns: dict[str, Any] = {
        "submit_s": np.cumsum(draw.exponential(gap_s, jobs)).round(3),
        "run_s": run_s,
        "requested_s": np.minimum(np.ceil(run_s * draw.uniform(1.0, 3.0, jobs)), LONGEST_S),
        "tasks": tasks,
        "cores_per_task": cores,
        "user": [f"u{user}" for user in draw.zipf(1.5, jobs) % 200],
    }
    if memory:
        # A quarter less, on average, than a core's share of the memory: it binds here and there.
        most = np.minimum(cores * MEMORY_MB * 3 // (2 * CORES), MEMORY_MB)
        columns["memory_mb_per_task"] = draw.integers(100, most)
    return Workload.from_frame(pl.DataFrame(columns), name=f"{jobs} jobs of a site", content_sha256="0" * 64)


def measure(case: Case) -> dict[str, Any]:
    """Simulates a case in this process."""
    if case.nodes:
        workload = site(case.jobs, case.nodes, case.load, case.memory)
        nodes = tuple(Node(f"n{number}", float(CORES), MEMORY_MB) for number in range(case.nodes))
        limits = (Limit(per=("user",), running_cores=case.user_cores),) if case.user_cores else ()
        cluster = Cluster.from_nodes(nodes, f"{case.nodes} nodes", rules=SiteRules(limits=limits))
    else:
        workload = read_workload(f"generate:lublin?seed=7&jobs={case.jobs}&cores=256&load={case.load}")
        cluster = Cluster.pool(256)
    runner = WindowRunner(workload, cluster)
    figures = {}
    for jobs in [case.jobs // 2] * case.half + [case.jobs]:
        begin = time.process_time()
        found = runner.run(resolve_scheduler(policy=case.policy, dispatch=case.dispatch), [0], jobs)
        figures[jobs] = time.process_time() - begin
    return {
        "seconds": figures[case.jobs],
        "half_s": figures.get(case.jobs // 2),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "hash": hashlib.sha256(found.start_ms.tobytes() + found.end_ms.tobytes()).hexdigest(),
        "mean_wait_s": float((found.start_ms[0] - workload.jobs["submit_s"].to_numpy() * 1000).mean() / 1000),
    }


def in_process_of_its_own(number: int, quick: bool, folder: Path | None) -> dict[str, Any]:
    """Measures a case with the package that is installed, or with that of a folder."""
    environment = os.environ | ({"PYTHONPATH": str(folder)} if folder else {})
    command = [sys.executable, __file__, "--case", str(number), *(["--quick"] if quick else [])]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    return dict(json.loads(done.stdout))


def row(case: Case, new: dict[str, Any], old: dict[str, Any] | None, barred: bool) -> list[str]:
    """Returns a case's line of the table."""
    # The goal of a case that is also run with half its jobs is for those.
    timed = new["half_s"] if case.half else new["seconds"]
    growth = new["seconds"] / new["half_s"] if case.half else None
    missed = [
        word
        for word, figure, goal in (
            ("time", timed, case.goal_s),
            ("memory", new["peak_mb"], case.goal_mb),
            ("growth", growth, GROWTH_GOAL),
        )
        if barred and figure is not None and goal is not None and figure > goal
    ]
    cells = [
        case.name,
        f"{new['half_s']:.2f}" if case.half else "",
        f"{new['seconds']:.2f}",
        f"{growth:.2f}" if growth else "",
        f"{new['peak_mb']:.0f}",
        f"{new['mean_wait_s']:.0f}",
        f"missed: {', '.join(missed)}" if missed else "",
    ]
    if old is not None:
        cells += [f"{old['seconds']:.2f}", "equal" if old["hash"] == new["hash"] else "DIFFERENT"]
    return cells


def main() -> None:
    """Prints all figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the jobs")
    parser.add_argument("--only", default="", help="cases whose names hold this")
    parser.add_argument("--against", type=Path, help="the src folder of another checkout")
    parser.add_argument("--case", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    listed = cases(0.1 if arguments.quick else 1.0)
    if arguments.case is not None:
        print(json.dumps(measure(listed[arguments.case])))
        return
    table = Table(title="CPU seconds of one simulation; a goal beside half the jobs is for those")
    titles = ["case", "half the jobs, s", "s", "growth", "peak MB", "mean wait, s", ""]
    for title in titles + (["before, s", "schedules"] if arguments.against else []):
        table.add_column(title, justify="left" if title in ("case", "", "schedules") else "right")
    for number, case in enumerate(listed):
        if arguments.only not in case.name:
            continue
        old = in_process_of_its_own(number, arguments.quick, arguments.against) if arguments.against else None
        new = in_process_of_its_own(number, arguments.quick, None)
        table.add_row(*row(case, new, old, barred=not arguments.quick))
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
