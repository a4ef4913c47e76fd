"""How fast GPU clusters are simulated: 125,000 jobs of Helios Venus, tiered placements, and placements by a solver.

    python benchmarks/gpu.py            everything, about three minutes
    python benchmarks/gpu.py --quick    without Venus, and a tenth of the solver's decisions

1. Whole calls of `simulate()`, from the table of jobs to the schedule, on Venus with 1,064 GPUs. The list of its jobs
   is used if SHUNTER_TRACES, or ../shared/traces, has it, and otherwise as many jobs of the generator's like. As logged
   hardly anybody waits; with the gaps between arrivals halved, jobs queue and the preemptive policies stop others.
   Then the same at twice the load on three types of GPUs, among which jobs choose (`--pairs`, policy `pairs`).
2. Tiered placements a second on 36 nodes with 8 GPUs: the core's search over random states of these nodes, tier 1 and
   then, if that has no choice, tier 2, for the sizes that are usual on Venus. The arguments of all calls are made
   beforehand; what Python takes to loop and to call is counted. Then starts a second of whole simulations on these
   nodes, under each placement, the making of the tables not counted.
3. How long `milp` and `milp-full` take to decide on the same nodes, in a simulation: all that happens in `place()`.
   `tiered-defrag` stands in mostly where the job fits, but only on more nodes than either tier allows.

RLTune's authors quote about 500 placements a second for their own tiers, and 47 with the mixed-integer program; that
was another machine and another program, so that the orders of magnitude can be compared and no more.

All figures come from one run on one thread; compare the ratios, for machines are noisy. CPU time is less so than wall
time where others use the machine.
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table

from shunter import Cluster, read_cluster, read_workload
from shunter.model.log import Log
from shunter.native import ffi, lib, pointer
from shunter.policies.placements.milp import MilpPlacer
from shunter.policies.placements.tier_options import ORDER_CODES
from shunter.policies.prices import training_prices
from shunter.policies.scheduler import resolve_scheduler
from shunter.simulation import WindowRunner, simulate
from shunter.workloads.load import scale_arrivals

if TYPE_CHECKING:
    from shunter.model.workload import Workload
    from shunter.policies.own import Assignment, Scene

VENUS_JOBS = 125_303
CALL_GOALS_S = {("fcfs", "pack"): 2.0, ("srtf", "pack"): 10.0, ("gittins", "pack"): 10.0}
CALLS = [
    *CALL_GOALS_S,
    ("srsf", "pack"),
    ("las", "pack"),
    ("qssf", "pack"),
    ("fcfs", "tiered-defrag"),
    ("srtf", "tiered-defrag"),
    ("fcfs", "fgd"),
    ("srtf", "fgd"),
]
PAIR_GOAL_S = 10.0
NODES, GPUS = 36, 8
TIER_GOAL = 100_000
TIER_STATES = 2_000
TIER_ROUNDS = 20
SIZES = {1: 0.52, 2: 0.06, 4: 0.07, 8: 0.25, 16: 0.05, 32: 0.03, 64: 0.02}
"""How large jobs are, as on Venus; the few larger ones are counted with the largest."""
PLACEMENTS = ("first-fit", "pack", "tiered-lex", "tiered-defrag", "tiered-balance", "fgd")
START_JOBS = 100_000
START_ROUNDS = 5
MILP_GOAL_MS = 5.0
MILP_JOBS = {"milp": 10_000, "milp-full": 3_000}


def venus() -> Workload:
    """Returns the real list where it is at hand, and a generated one otherwise."""
    folder = Path(os.environ.get("SHUNTER_TRACES", Path(__file__).parents[2] / "shared" / "traces"))
    real = folder / "helios" / "venus_gpu_jobs_clip48h.csv.gz"
    return read_workload(real if real.exists() else f"generate:helios-like?seed=1&jobs={VENUS_JOBS}")


def whole_calls(console: Console) -> None:
    """Measures whole simulations of Venus, as logged and at twice the load."""
    logged, cluster = venus(), read_cluster("helios-venus")
    for factor in (1, 2):
        workload = scale_arrivals(logged, 1 / factor)
        table = Table(title=f"simulate(), {len(logged):,} jobs of {logged.name}, load x {factor}, {cluster.name}")
        for column in ("policy", "placement", "s", "CPU s", "goal, s", "starts", "preemptions", "starts/s", ""):
            table.add_column(column, justify="left" if column in ("policy", "placement", "") else "right")
        for rule in CALLS:
            begin, begin_cpu = time.perf_counter(), time.process_time()
            schedule = simulate(workload, cluster, policy=rule[0], placement=rule[1])
            wall_s, cpu_s = time.perf_counter() - begin, time.process_time() - begin_cpu
            stopped = int(schedule.preemptions.sum())
            starts = int(schedule.ended.sum()) + stopped
            goal_s = CALL_GOALS_S.get(rule)
            row = [f"{wall_s:.2f}", f"{cpu_s:.2f}", f"{goal_s:g}" if goal_s else "", f"{starts:,}", f"{stopped:,}"]
            table.add_row(*rule, *row, f"{starts / wall_s:,.0f}", verdict(goal_s is None or wall_s <= goal_s))
        console.print(table)


def pair_calls(console: Console) -> None:
    """Measures whole simulations of Venus at twice the load, on three types of GPUs that jobs choose among."""
    preset = read_cluster("gavel-like")
    nodes = tuple(
        replace(node, name=f"{node.name}-{copy}", gpus=8, cores=64.0) for node in preset.nodes for copy in range(5)
    )
    cluster = Cluster.from_nodes(nodes, "135 nodes of three types", kinds=preset.kinds)
    logged = venus()
    kinds = np.random.default_rng(1).choice(cluster.kinds.kinds if cluster.kinds else (), len(logged))
    workload = replace(logged, jobs=logged.jobs.with_columns(kind=pl.Series(kinds), cores_per_task=pl.lit(1.0)))
    prices = training_prices([Log(workload, cluster)], (0.0, 0.6)).text
    workload = scale_arrivals(workload, 1 / 2)
    table = Table(title=f"simulate(), {len(logged):,} jobs of {logged.name}, load x 2, {cluster.name}, greedy")
    for column in ("policy", "pairs", "s", "CPU s", "goal, s", "mean wait, h", ""):
        table.add_column(column, justify="left" if column in ("policy", "pairs", "") else "right")
    for policy, pairs in (("sjf", "any"), ("sjf", prices), ("sjf", "eft"), ("pairs", prices)):
        begin, begin_cpu = time.perf_counter(), time.process_time()
        schedule = simulate(workload, cluster, policy=policy, placement="fastest", dispatch="greedy", pairs=pairs)
        wall_s, cpu_s = time.perf_counter() - begin, time.process_time() - begin_cpu
        wait_h = float(schedule.wait_s[schedule.ended].mean()) / 3600
        row = (f"{wall_s:.2f}", f"{cpu_s:.2f}", f"{PAIR_GOAL_S:g}", f"{wait_h:.1f}", verdict(cpu_s <= PAIR_GOAL_S))
        table.add_row(policy, pairs.partition("?")[0], *row)
    console.print(table)


def verdict(reached: bool) -> str:
    """Says in a word whether a goal was reached."""
    return "" if reached else "missed"


class Questions:
    """Searches of the tiers, with all that the core's function wants made beforehand."""

    def __init__(self, order: str) -> None:
        generator = np.random.Generator(np.random.PCG64(1))
        self.count = ffi.new("uintptr_t *")
        self.answered = 0
        self._kept: list[Any] = []
        parts, score = np.zeros((2, NODES), dtype=np.uint32), np.zeros(3, dtype=np.int64)
        answer = (pointer(parts[0]), pointer(parts[1]), NODES, self.count, pointer(score))
        self.calls: list[tuple[tuple[Any, ...], ...]] = []
        for tasks in generator.choice(list(SIZES), TIER_STATES, p=list(SIZES.values())).tolist():
            # Between one and five sixths of the nodes are full, the others are in any state.
            full = generator.random(NODES) < generator.integers(2, 11) / 12
            free = np.where(full, 0, generator.integers(0, GPUS + 1, NODES)).astype(np.uint32)
            nodes = (pointer(free), pointer(free), NODES, ORDER_CODES[order])
            self.calls.append(tuple((GPUS, 1, tasks, *nodes, tier, *answer) for tier in (1, 2)))
            self._kept.append(free)
        self._kept += [parts, score]

    def ask(self) -> None:
        """Asks them all, and counts those that had an answer."""
        search, count, answered = lib.shunter_tiers, self.count, 0
        for first, second in self.calls:
            search(*first)
            if not count[0]:
                search(*second)
            answered += count[0] > 0
        self.answered = answered


def tier_searches(console: Console) -> None:
    """Measures the core's search for tiered placements."""
    table = Table(title=f"Tiered placements a second, {NODES} nodes with {GPUS} GPUs, {TIER_STATES:,} random states")
    for column in ("order", "found", "searches/s", "by CPU time", "goal", ""):
        table.add_column(column, justify="left" if column in ("order", "") else "right")
    for order in ORDER_CODES:
        questions = Questions(order)
        fastest_s = fastest_cpu_s = float("inf")
        for _ in range(TIER_ROUNDS):
            begin, begin_cpu = time.perf_counter(), time.process_time()
            questions.ask()
            fastest_cpu_s = min(fastest_cpu_s, time.process_time() - begin_cpu)
            fastest_s = min(fastest_s, time.perf_counter() - begin)
        rate, found = TIER_STATES / fastest_s, f"{100 * questions.answered / TIER_STATES:.0f} %"
        row = [found, f"{rate:,.0f}", f"{TIER_STATES / fastest_cpu_s:,.0f}", f"{TIER_GOAL:,}"]
        table.add_row(order, *row, verdict(rate >= TIER_GOAL))
    console.print(table)


def starts(console: Console) -> None:
    """Measures whole simulations on the same nodes, under each placement."""
    workload = read_workload(f"generate:helios-like?nodes={NODES}&seed=1&jobs={START_JOBS}&load=0.9")
    runner = WindowRunner(workload, read_cluster(f"generate:helios-like?nodes={NODES}"))
    table = Table(title=f"Job starts a second, {NODES} nodes with {GPUS} GPUs, {workload.name}, fcfs under greedy")
    for column in ("placement", "starts a CPU second", "us a start", "times pack"):
        table.add_column(column, justify="left" if column == "placement" else "right")
    fastest_s = dict.fromkeys(PLACEMENTS, float("inf"))
    # In turn, so that a busy moment of the machine meets all of them.
    for _ in range(START_ROUNDS):
        for placement in PLACEMENTS:
            chosen = resolve_scheduler(policy="fcfs", dispatch="greedy", placement=placement)
            begin = time.process_time()
            runner.run(chosen, [0], len(workload))
            fastest_s[placement] = min(fastest_s[placement], time.process_time() - begin)
    for placement, seconds in fastest_s.items():
        ratio = seconds / fastest_s["pack"]
        table.add_row(
            placement, f"{len(workload) / seconds:,.0f}", f"{seconds / len(workload) * 1e6:.2f}", f"{ratio:.2f}"
        )
    console.print(table)


class Timed(MilpPlacer):
    """A placement by the solver that remembers how long each decision took."""

    def __init__(self, *, full: bool) -> None:
        super().__init__(full=full)
        self.wall_ms: list[float] = []
        self.cpu_ms: list[float] = []

    def place(self, scene: Scene) -> Assignment | None:
        """Decides, and looks at the clock before and after."""
        begin, begin_cpu = time.perf_counter(), time.process_time()
        assignment = super().place(scene)
        self.cpu_ms.append((time.process_time() - begin_cpu) * 1e3)
        self.wall_ms.append((time.perf_counter() - begin) * 1e3)
        return assignment


def solver_decisions(console: Console, quick: bool) -> None:
    """Measures decisions of `milp` and `milp-full` in a simulation of the same nodes."""
    cluster = read_cluster(f"generate:helios-like?nodes={NODES}")
    table = Table(title=f"Decisions of the solver, {NODES} nodes with {GPUS} GPUs, helios-like jobs at load 0.9, fcfs")
    columns = (
        "placement",
        "decisions",
        "p50, ms",
        "goal",
        "p95",
        "most",
        "CPU p50",
        "CPU p95",
        "a second",
        "stood in",
        "",
    )
    for column in columns:
        table.add_column(column, justify="left" if column in ("placement", "") else "right")
    for name, jobs in MILP_JOBS.items():
        jobs = jobs // 10 if quick else jobs
        workload = read_workload(f"generate:helios-like?nodes={NODES}&seed=1&jobs={jobs}&load=0.9")
        placer = Timed(full=name == "milp-full")
        simulate(workload, cluster, policy="fcfs", dispatch="greedy", placement=placer)
        wall_ms, cpu_ms = np.array(placer.wall_ms), np.array(placer.cpu_ms)
        p50_ms = float(np.median(wall_ms))
        goal_ms = MILP_GOAL_MS if name == "milp" else None
        p95 = [f"{np.quantile(wall_ms, 0.95):.2f}", f"{wall_ms.max():.1f}"]
        cpu = [f"{np.median(cpu_ms):.2f}", f"{np.quantile(cpu_ms, 0.95):.2f}"]
        more = [f"{1e3 / wall_ms.mean():,.0f}", f"{sum(placer.fallbacks.values()):,}"]
        row = [name, f"{len(wall_ms):,}", f"{p50_ms:.2f}", f"{goal_ms:g}" if goal_ms else "", *p95, *cpu, *more]
        table.add_row(*row, verdict(goal_ms is None or p50_ms <= goal_ms))
    console.print(table)


def main() -> None:
    """Prints all figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--quick", action="store_true", help="leave out the simulations of Venus; a tenth for the solver"
    )
    quick = parser.parse_args().quick
    console = Console(width=120)
    if not quick:
        whole_calls(console)
        pair_calls(console)
    tier_searches(console)
    starts(console)
    solver_decisions(console, quick)


if __name__ == "__main__":
    main()
