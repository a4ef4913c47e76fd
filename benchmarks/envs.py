"""How fast environments step: decisions a second with a 128-row observation and mask, on one thread and on all.

    PYTHONPATH=. python benchmarks/envs.py [--envs 512] [--threads 2] [--sizes 256,512,1024] [--rounds 12]

Every environment and mode with 512 environments, then the mode reserve with 256, 512 and 1,024, on 256-job windows of
lublin_256 (if SHUNTER_TRACES, or ../shared/traces, has it; otherwise the generator's like), then PickJobAndType with 64
jobs and four types of GPUs, under a load that leaves jobs waiting. Actions are drawn anew for each step, evenly from
those that the mask allows; drawing them is not timed. Rates are of the fastest of several rounds, taken in turn with
the other cases; one thread's are also given by the thread's own clock, which does not count what other processes took.
Compare the ratios, for machines are noisy.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks.simulate import lublin_256, verdict
from shunter import Cluster, read_workload
from shunter.comparison.bench import available_threads
from shunter.envs import (
    PickHostOptions,
    PickJobAndTypeOptions,
    PickJobOptions,
    RewardOptions,
    pick_host_vector,
    pick_job_vector,
)
from shunter.envs.log_source import log_vector
from shunter.envs.vector import NativeVectorEnv
from shunter.model.cluster import Node
from shunter.model.log import Log
from shunter.model.windows import choose_windows

STEPS = 100
GOAL_RATE = 500_000
GOAL_SPEEDUP = 1.8
GOAL_CASE = "PickJob reserve"
GOAL_PAIR_RATE = 200_000
TYPES = {"V100": 1.0, "P100": 0.6, "T4": 0.4, "K80": 0.2}
"""Four types of GPUs and their speeds."""
PAIR_ENVS = 64
PAIR_LOAD = 1.5
"""Of their GPUs, at the speeds of their types."""
MODES = ("reserve", "feasible", "committed", "committed-backfill")


class Case:
    """Environments that are played at random."""

    def __init__(self, env: NativeVectorEnv) -> None:
        self.env = env
        self.arrays = env.step_arrays()
        self.random = np.random.default_rng(0)
        env.reset_into(self.arrays.observations, self.arrays.masks)
        self.rates: list[float] = []
        self.own_rates: list[float] = []
        self.filled: list[float] = []

    def play(self) -> None:
        """Plays one round and notes how fast it was."""
        elapsed_s = own_s = 0.0
        for _ in range(STEPS):
            actions = drawn(self.arrays.masks, self.random)
            began, own_began = time.perf_counter(), time.thread_time()
            self.env.step_into(actions, self.arrays)
            elapsed_s += time.perf_counter() - began
            own_s += time.thread_time() - own_began
        self.rates.append(self.env.num_envs * STEPS / elapsed_s)
        self.own_rates.append(self.env.num_envs * STEPS / own_s)
        if self.env.layout.window:
            self.filled.append(float(self.env.layout.split(self.arrays.observations)["jobs"][..., 0].sum(1).mean()))


def drawn(masks: NDArray[np.bool_], random: np.random.Generator) -> NDArray[np.int32]:
    """Returns for each row an action that its mask allows, each as likely as another."""
    return np.asarray(np.where(masks, random.random(masks.shape), -1.0).argmax(axis=1), dtype=np.int32)


@dataclass(frozen=True)
class Cases:
    """The same environments on one thread and on all."""

    name: str
    one: Case
    all: Case


class Maker:
    """Makes cases, all on the same windows."""

    def __init__(self, threads: int) -> None:
        workload = lublin_256()
        self._threads = threads
        self._log = Log(workload, Cluster.pool(256))
        self._windows = choose_windows(len(workload), count=200, length=256)

    def jobs(self, mode: str, num_envs: int) -> Cases:
        """Returns environments that choose jobs."""

        def case(threads: int) -> Case:
            options = PickJobOptions(mode=mode, order="sjf")
            return Case(
                pick_job_vector(
                    [self._log], [self._windows], options, RewardOptions(), num_envs=num_envs, threads=threads
                )
            )

        return Cases(f"PickJob {mode}", case(1), case(self._threads))

    def pairs(self, num_envs: int) -> Cases:
        """Returns environments that choose jobs and types: 36 GPUs of each type."""
        nodes = [
            Node(f"{name}-{place}", 64, None, 4, gpu_type=name, speed=TYPES[name])
            for name in TYPES
            for place in range(9)
        ]
        cluster = Cluster.from_nodes(tuple(nodes), "four types")
        drawn = read_workload("generate:helios-like?jobs=20000&nodes=18&seed=3")
        jobs = drawn.jobs
        work_s = float((jobs["run_s"] * jobs["tasks"] * jobs["gpus_per_task"]).sum())
        span_s = work_s / (36 * sum(TYPES.values()) * PAIR_LOAD)
        stretched = jobs.with_columns(submit_s=jobs["submit_s"] * (span_s / float(jobs["submit_s"].to_numpy().max())))
        log = Log(replace(drawn, jobs=stretched), cluster)
        windows = choose_windows(len(jobs), count=100, length=1024)
        options = PickJobAndTypeOptions(order="sjf", window=64, lookahead="off")

        def case(threads: int) -> Case:
            return Case(log_vector([log], [windows], options, RewardOptions(), num_envs=num_envs, threads=threads))

        return Cases("PickJobAndType, 64 jobs x 4 types", case(1), case(self._threads))

    def hosts(self, num_envs: int) -> Cases:
        """Returns environments that choose hosts."""

        def case(threads: int) -> Case:
            return Case(pick_host_vector(PickHostOptions(), RewardOptions(), num_envs=num_envs, threads=threads))

        return Cases("PickHost, 20 hosts", case(1), case(self._threads))


def measure(cases: list[Cases], rounds: int) -> None:
    """Plays all cases in turn."""
    for _ in range(rounds):
        for case in cases:
            case.one.play()
            case.all.play()


def table_of(title: str, first: str, threads: int) -> Table:
    """Returns an empty table."""
    table = Table(title=title)
    for column in (first, "rows filled", "one thread", "by its own clock", f"{threads} threads", "ratio", ""):
        table.add_column(column, justify="left" if column in (first, "") else "right")
    return table


def cells(case: Cases) -> list[str]:
    """Returns what was measured."""
    rate, own, together = max(case.one.rates), max(case.one.own_rates), max(case.all.rates)
    filled = f"{np.mean(case.one.filled):.1f}" if case.one.filled else ""
    return [filled, f"{rate:,.0f}", f"{own:,.0f}", f"{together:,.0f}", f"{together / rate:.2f}"]


def is_reached(case: Cases, threads: int) -> bool:
    """Returns whether both goals are."""
    rate = max(case.one.rates)
    return rate >= GOAL_RATE and (threads < 2 or max(case.all.rates) / rate >= GOAL_SPEEDUP)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--envs", type=int, default=512, help="how many environments, in the first table")
    parser.add_argument("--sizes", default="256,512,1024", help="how many environments, in the second table")
    parser.add_argument("--threads", type=int, default=available_threads(), help="compared with one")
    parser.add_argument("--rounds", type=int, default=12, help="of which the fastest counts")
    given = parser.parse_args()
    console, threads, make = Console(), given.threads, Maker(given.threads)
    measured = [*(make.jobs(mode, given.envs) for mode in MODES), make.hosts(given.envs)]
    measure(measured, given.rounds)
    table = table_of(f"Decisions a second, {given.envs} environments, window 128", "environment", threads)
    for case in measured:
        table.add_row(case.name, *cells(case), verdict(is_reached(case, threads)) if case.name == GOAL_CASE else "")
    console.print(table)
    sizes = {int(size): make.jobs("reserve", int(size)) for size in given.sizes.split(",")}
    measure(list(sizes.values()), given.rounds)
    table = table_of(f"Decisions a second, {GOAL_CASE}, window 128", "environments", threads)
    for size, case in sizes.items():
        table.add_row(f"{size:,}", *cells(case), verdict(is_reached(case, threads)))
    console.print(table)
    pairs = make.pairs(PAIR_ENVS)
    measure([pairs], given.rounds)
    table = table_of(f"Decisions a second, {PAIR_ENVS} environments", "environment", threads)
    table.add_row(pairs.name, *cells(pairs), verdict(max(pairs.one.rates) >= GOAL_PAIR_RATE))
    console.print(table)
    console.print(f"Goal, for PickJobAndType: {GOAL_PAIR_RATE:,} on one thread.")
    console.print(f"Goals, for the mode reserve: {GOAL_RATE:,} on one thread, {GOAL_SPEEDUP} times that on two.")


if __name__ == "__main__":
    main()
