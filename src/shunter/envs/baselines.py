"""What a policy, run natively, gets on the windows that are episodes: scales, and what rewards are relative to."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shunter.envs.options import ORDER, reference_policy
from shunter.envs.rewards import OBJECTIVES
from shunter.metrics.window_metrics import MILLISECONDS
from shunter.model.schedule import bounded_slowdown
from shunter.simulation.simulation import Simulation
from shunter.simulation.windows import WindowRunner

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.model.log import Log
    from shunter.model.windows import Windows
    from shunter.policies.scheduler import Scheduler
    from shunter.simulation.windows import WindowResults

NEVER_MS = np.iinfo(np.int64).min
"""Stands for the start of a job that never starts."""
SHORTEST_S = 1.0
"""Jobs shorter than this count as this long in the slowdown."""
LEAST_SLOWDOWN = 1e-3
"""A job that ran for less than a second may have a slowdown below 1, whose logarithm must stay finite."""


@dataclass(frozen=True)
class WindowJobs:
    """The jobs of windows of equal length; the arrays have the shape (windows, simulated length)."""

    submit_ms: NDArray[np.int64]
    cores: NDArray[np.float64]
    priority: NDArray[np.float64]
    """From 0 to 1."""
    warmup: int
    total_cores: float


def baseline_scheduler(policy: str, scheduler: Scheduler) -> Scheduler:
    """Returns how a policy such as ``fcfs/easy`` schedules: all but policy and dispatch rule as they are.

    The scheduler is the environment's, so its own order is what `ORDER` means.
    """
    if policy == ORDER:
        return scheduler
    found, dispatch = reference_policy(policy)
    return scheduler.changed(policy=found, dispatch=dispatch)


def run_baseline(
    log: Log, windows: Windows, jobs: WindowJobs, scheduler: Scheduler, *, balance: bool, threads: int
) -> Outcome:
    """Returns what happens in each window under one way to schedule.

    Args:
        log: The log and its cluster.
        windows: Which parts of it.
        jobs: Their jobs.
        scheduler: From `baseline_scheduler`.
        balance: Whether the balance of hosts is asked for, which takes a simulation of its own for each window.
        threads: How many threads share the windows.
    """
    first, length = windows.simulated_first.tolist(), windows.simulated_length
    results = WindowRunner(log.workload, log.cluster).run(scheduler, first, length, threads)
    balances = np.zeros(len(windows))
    if balance:
        for place, begin in enumerate(first):
            simulation = Simulation(log.workload.window(begin, length), log.cluster, scheduler)
            simulation.run()
            balances[place] = _mean_variance(simulation, log, begin, jobs.submit_ms[place, 0])
            simulation.close()
    return Outcome(jobs, results, balances)


class Outcome:
    """What happened in windows, as the objectives of rewards see it."""

    def __init__(self, jobs: WindowJobs, results: WindowResults, balance: NDArray[np.float64]) -> None:
        self._jobs = jobs
        self._ran = results.ended
        self.start_ms = np.where(self._ran, results.start_ms, NEVER_MS)
        """(windows, simulated length): when each job starts, `NEVER_MS` if it does not."""
        self._measured = self._ran & (np.arange(self._ran.shape[1]) >= jobs.warmup)
        self._wait_s = np.where(self._ran, results.start_ms - jobs.submit_ms, 0) / MILLISECONDS
        self._run_s = np.where(self._ran, results.end_ms - results.start_ms, 0) / MILLISECONDS
        last_ms = np.where(self._ran, results.end_ms, jobs.submit_ms[:, :1]).max(axis=1)
        self._elapsed_s = (last_ms - jobs.submit_ms[:, 0]) / MILLISECONDS
        self._balance = balance

    def objectives(self, logarithms: Collection[str] = ()) -> NDArray[np.float64]:
        """Returns (windows, objectives), with each job's logarithm in some of them; 0 where one has no meaning."""
        turnaround_s = self._wait_s + self._run_s
        bounded = bounded_slowdown(turnaround_s, self._run_s)
        slowdown = turnaround_s / np.maximum(self._run_s, SHORTEST_S)
        weighted_s = self._jobs.priority * self._wait_s
        used_s = (self._jobs.cores * self._run_s).sum(axis=1) / self._jobs.total_cores
        values = {
            "bounded_slowdown": self._mean(bounded),
            "wait": self._mean(self._wait_s),
            "turnaround": self._mean(turnaround_s),
            "slowdown": self._mean(slowdown),
            "utilization": self._per_second(used_s),
            "makespan": self._elapsed_s,
            "completion": self._measured.any(axis=1).astype(np.float64),
            "queue": self._per_second(self._wait_s.sum(axis=1)),
            "balance": self._balance,
            "priority": self._mean(weighted_s),
        }
        logs = {
            "bounded_slowdown": np.log(bounded),
            "wait": np.log1p(self._wait_s),
            "turnaround": np.log1p(turnaround_s),
            "slowdown": np.log(np.maximum(slowdown, LEAST_SLOWDOWN)),
            "priority": np.log1p(weighted_s),
        }
        values |= {name: self._mean(logs[name]) for name in logarithms}
        return np.stack([values[name] for name in OBJECTIVES], axis=1)

    def _mean(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        total = np.where(self._measured, values, 0.0).sum(axis=1)
        return np.asarray(total / np.maximum(self._measured.sum(axis=1), 1))

    def _per_second(self, total: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.divide(total, self._elapsed_s, out=np.zeros(len(total)), where=self._elapsed_s > 0))


def _mean_variance(simulation: Simulation, log: Log, first: int, begin_ms: int) -> float:
    """Returns the time-mean of the variance over hosts of the part of their cores in use."""
    placed = simulation.snapshot()
    job = np.repeat(np.arange(len(placed.phase)), np.diff(placed.node_offsets))
    cores_per_task = log.workload.jobs["cores_per_task"].to_numpy()[first + job]
    node_cores = np.array([node.cores for node in log.cluster.nodes])
    part = placed.tasks * cores_per_task / node_cores[placed.nodes]
    times = np.concatenate([placed.start_ms[job], placed.end_ms[job]])
    order = np.argsort(times, kind="stable")
    changes = zip(times[order], np.tile(placed.nodes, 2)[order], np.concatenate([part, -part])[order], strict=True)
    use, area, now = np.zeros(len(node_cores)), 0.0, begin_ms
    for time, node, change in changes:
        if time > now:
            area += float(use.var()) * (time - now)
            now = time
        use[node] += change
    return area / max(now - begin_ms, 1)
