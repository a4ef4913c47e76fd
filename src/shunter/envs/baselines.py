"""What policies get on the windows that are episodes: what rewards are divided by, relative to, or bounded by."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from shunter.comparison.bench import Bench
from shunter.envs.rewards import OBJECTIVES, ORDER, reference_policy
from shunter.metrics.table import MILLISECONDS
from shunter.model.schedule import bounded_slowdown
from shunter.model.size import GPUS, resolved_size_by
from shunter.simulation.core_inputs import numbers
from shunter.simulation.simulation import Simulation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.metrics.window_metrics import WindowColumns
    from shunter.model.log import Log
    from shunter.model.windows import Windows
    from shunter.model.workload import Workload
    from shunter.policies.scheduler import Scheduler
    from shunter.simulation.windows import WindowResults

NEVER_MS: Final = np.iinfo(np.int64).min
"""Stands for the start of a job that never starts. Logs may have negative times, so that −1 would be one of them."""
SHORTEST_S: Final = 1.0
"""Jobs shorter than this count as this long in the slowdown."""
LEAST_SLOWDOWN: Final = 1e-3
"""A job that ran for less than a second may have a slowdown below 1, whose logarithm must stay finite."""


@dataclass
class Baselines:
    """Policies on the windows of one log; each is run once, however often it is asked for."""

    log: Log
    windows: Windows
    scheduler: Scheduler
    """The environment's, whose own order is what `ORDER` means."""
    balance: bool
    """Whether the balance of hosts is asked for, which takes a simulation of its own for each window."""
    threads: int

    def __post_init__(self) -> None:
        # Scale, reference and bounds often name the same policy.
        self._runs: dict[Scheduler, BaselineRun] = {}

    @cached_property
    def _bench(self) -> Bench:
        return Bench.on(self.log, self.windows, self.threads)

    def scheduler_of(self, policy: str) -> Scheduler:
        """Returns how a policy such as ``fcfs/easy`` schedules: all but policy and dispatch rule as they are."""
        if policy == ORDER:
            return self.scheduler
        found, dispatch = reference_policy(policy)
        return self.scheduler.changed(policy=found, dispatch=dispatch)

    def run(self, scheduler: Scheduler) -> BaselineRun:
        """Returns what happens in each window under one way to schedule."""
        if scheduler not in self._runs:
            (part,) = self._bench.parts
            (results,) = self._bench.run(scheduler)
            # The log may be a window itself: priorities are scaled over the whole of it, as the core has them.
            whole = scaled_priority(self.log.workload.whole())
            priority = whole[-len(self.log.workload) :][part.columns.index]
            balances = self._balances(scheduler, part.columns) if self.balance else np.zeros(len(self.windows))
            by_gpus = resolved_size_by(scheduler.size_by, self.log.workload, self.log.cluster) == GPUS
            self._runs[scheduler] = BaselineRun(part.columns, priority, results, balances, by_gpus)
        return self._runs[scheduler]

    def _balances(self, scheduler: Scheduler, columns: WindowColumns) -> NDArray[np.float64]:
        """Returns the balance of hosts in each window, which takes placements: many windows at once tell none."""
        found = np.zeros(len(self.windows))
        for place, first in enumerate(self.windows.simulated_first.tolist()):
            workload = self.log.workload.window(first, self.windows.simulated_length)
            simulation = Simulation(workload, self.log.cluster, scheduler)
            simulation.run()
            found[place] = _mean_variance(simulation, self.log, first, columns.submit_ms[place, 0])
            simulation.close()
        return found


def scaled_priority(workload: Workload) -> NDArray[np.float64]:
    """Returns each job's priority, scaled over the workload to 0 to 1; 0 where the log has none."""
    priority = numbers(workload.jobs["priority"])
    known = np.isfinite(priority)
    if not known.any():
        return np.zeros(len(priority))
    low, high = priority[known].min(), priority[known].max()
    return np.where(known, (priority - low) / max(high - low, np.finfo(np.float64).tiny), 0.0)


class BaselineRun:
    """What happened in windows under one policy, as the objectives of rewards see it."""

    def __init__(
        self,
        columns: WindowColumns,
        priority: NDArray[np.float64],
        results: WindowResults,
        balance: NDArray[np.float64],
        by_gpus: bool,
    ) -> None:
        """Works out waits and run times.

        Args:
            columns: The jobs of the windows.
            priority: Of each job, from 0 to 1.
            results: What happened to them.
            balance: (windows,): the balance of hosts, or zeros.
            by_gpus: Whether GPUs are what sizes are counted in, and use is measured by.
        """
        self._columns = columns
        self._priority = priority
        self._ran = results.ended
        self.start_ms = np.where(self._ran, results.start_ms, NEVER_MS)
        """(windows, simulated length): when each job starts, `NEVER_MS` if it does not."""
        # Jobs of the warm-up are simulated and not measured; in used and elapsed time they count.
        self._measured = self._ran & (np.arange(self._ran.shape[1]) >= columns.warmup)
        # A job that was stopped waits whenever it holds no nodes, and holds them longer than it runs.
        self._held_s = np.where(self._ran, results.held_ms, 0) / MILLISECONDS
        self._lost_s = np.where(self._ran, results.lost_ms, 0) / MILLISECONDS
        waited_ms = results.end_ms - results.eligible_ms - results.held_ms
        self._wait_s = np.where(self._ran, waited_ms, 0) / MILLISECONDS
        self._run_s = self._held_s - self._lost_s
        # A window in which no job runs has an elapsed time of 0, not of minus something.
        last_ms = np.where(self._ran, results.end_ms, columns.submit_ms[:, :1]).max(axis=1)
        self._elapsed_s = (last_ms - columns.submit_ms[:, 0]) / MILLISECONDS
        self._balance = balance
        self._by_gpus = by_gpus

    def objectives(self, logarithms: Collection[str] = ()) -> NDArray[np.float64]:
        """Returns (windows, objectives), with each job's logarithm in some of them; 0 where one has no meaning.

        The formulas are those of the core's rewards: an episode played by the same policy has the same objectives.
        """
        turnaround_s = self._wait_s + self._held_s
        bounded = bounded_slowdown(turnaround_s, self._run_s)
        slowdown = turnaround_s / np.maximum(self._run_s, SHORTEST_S)
        weighted_s = self._priority * self._wait_s
        columns, cluster = self._columns, self._columns.cluster
        amount, capacity = (columns.gpus, cluster.total_gpus) if self._by_gpus else (columns.cores, cluster.total_cores)
        used_s = (amount * self._held_s).sum(axis=1) / capacity
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
        # The logarithm of a job, then the mean: not the logarithm of the mean.
        values |= {name: self._mean(logs[name]) for name in logarithms}
        return np.stack([values[name] for name in OBJECTIVES], axis=1)

    def _mean(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        total = np.where(self._measured, values, 0.0).sum(axis=1)
        return np.asarray(total / np.maximum(self._measured.sum(axis=1), 1))

    def _per_second(self, total: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.divide(total, self._elapsed_s, out=np.zeros(len(total)), where=self._elapsed_s > 0))


def _mean_variance(simulation: Simulation, log: Log, first: int, begin_ms: int) -> float:
    """Returns the time-mean of the variance over hosts of the part of their cores in use."""
    placed, stops = simulation.snapshot(), simulation.stops()
    last = np.repeat(np.arange(len(placed.phase)), np.diff(placed.node_offsets))
    stop = np.repeat(np.arange(len(stops.job)), np.diff(stops.node_offsets))
    nodes = np.concatenate([placed.nodes, stops.nodes])
    tasks = np.concatenate([placed.tasks, stops.tasks])
    job = np.concatenate([last, stops.job[stop].astype(np.int64)])
    cores_per_task = log.workload.jobs["cores_per_task"].to_numpy()[first + job]
    node_cores = np.array([node.cores for node in log.cluster.nodes])
    part = tasks * cores_per_task / node_cores[nodes]
    start_ms = np.concatenate([placed.start_ms[last], stops.start_ms[stop]])
    times = np.concatenate([start_ms, placed.end_ms[last], stops.end_ms[stop]])
    # Starts stand before ends in the array; among events of the same moment the order changes nothing, for no time
    # passes between them.
    order = np.argsort(times, kind="stable")
    changes = zip(times[order], np.tile(nodes, 2)[order], np.concatenate([part, -part])[order], strict=True)
    use, area, now = np.zeros(len(node_cores)), 0.0, begin_ms
    for time, node, change in changes:
        # Use changes at events alone, so that the area under the variance is a sum of rectangles.
        if time > now:
            area += float(use.var()) * (time - now)
            now = time
        use[node] += change
    return area / max(now - begin_ms, 1)
