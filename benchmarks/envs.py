"""How fast environments step: decisions a second with a 128-row observation and mask, on one thread and on all.

    PYTHONPATH=. python benchmarks/envs.py

512 environments on 256-job windows of lublin_256 (if SHUNTER_TRACES, or ../shared/traces, has it; otherwise the
generator's like). Actions are drawn anew for each step, evenly from those that the mask allows; drawing them is not
timed. Rates are of the fastest of several rounds, taken in turn with the other cases; one thread's are also given by
the thread's own clock, which does not count what other processes took. Compare the ratios, for machines are noisy.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks.simulate import lublin_256, verdict
from shunter import Cluster
from shunter.envs import PickHostOptions, PickJobOptions, RewardOptions, pick_host_vector, pick_job_vector
from shunter.envs.vector import NativeVectorEnv
from shunter.evaluate.window_runs import available_threads
from shunter.evaluate.windows import choose_windows
from shunter.tune.cases import Log

NUM_ENVS = 512
STEPS = 100
ROUNDS = 12
GOAL_RATE = 500_000
GOAL_SPEEDUP = 1.8
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
        self.rates.append(NUM_ENVS * STEPS / elapsed_s)
        self.own_rates.append(NUM_ENVS * STEPS / own_s)
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


def cases(threads: int) -> list[Cases]:
    """Returns what is measured."""
    workload = lublin_256()
    log = Log(workload, Cluster.pool(256))
    windows = choose_windows(len(workload), count=200, length=256)

    def job(mode: str, count: int) -> Case:
        options = PickJobOptions(mode=mode, order="sjf")
        return Case(pick_job_vector([log], [windows], options, RewardOptions(), num_envs=NUM_ENVS, threads=count))

    def host(count: int) -> Case:
        return Case(pick_host_vector(PickHostOptions(), RewardOptions(), num_envs=NUM_ENVS, threads=count))

    jobs = [Cases(f"PickJob {mode}", job(mode, 1), job(mode, threads)) for mode in MODES]
    return [*jobs, Cases("PickHost, 20 hosts", host(1), host(threads))]


def main() -> None:
    """Measures and prints."""
    console = Console()
    threads = available_threads()
    measured = cases(threads)
    for _ in range(ROUNDS):
        for case in measured:
            case.one.play()
            case.all.play()
    table = Table(title=f"Decisions a second, {NUM_ENVS} environments, window 128")
    for column in ("environment", "rows filled", "one thread", "by its own clock", f"{threads} threads", "ratio", ""):
        table.add_column(column, justify="left" if column in ("environment", "") else "right")
    for case in measured:
        rate, own, together = max(case.one.rates), max(case.one.own_rates), max(case.all.rates)
        main_mode = case.name == "PickJob reserve"
        reached = rate >= GOAL_RATE and (threads < 2 or together / rate >= GOAL_SPEEDUP)
        table.add_row(
            case.name,
            f"{np.mean(case.one.filled):.1f}" if case.one.filled else "",
            f"{rate:,.0f}",
            f"{own:,.0f}",
            f"{together:,.0f}",
            f"{together / rate:.2f}",
            verdict(reached) if main_mode else "",
        )
    console.print(table)
    console.print(f"Goals, for the mode reserve: {GOAL_RATE:,} on one thread, {GOAL_SPEEDUP} times that on two.")


if __name__ == "__main__":
    main()
