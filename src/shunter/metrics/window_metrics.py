"""Metrics of many windows at once, by the names and formulas of ``docs/metrics.md``.

What is told of jobs (waits, slowdowns, fairness) is over the measured jobs of a window. What is told of the cluster
over time (makespan, utilization, queue length, throughput) is over all jobs simulated, the warm-up included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shunter.checks import check_name
from shunter.model.schedule import BOUNDED_SLOWDOWN_THRESHOLD_S, whole_milliseconds
from shunter.simulation.core_tables import numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.model.cluster import Cluster
    from shunter.model.windows import Windows
    from shunter.model.workload import Workload
    from shunter.simulation.windows import WindowResults

COMPLETED, KILLED, REJECTED, FAILED = 3, 4, 5, 6
"""The core's numbers for how a job ended."""

MILLISECONDS = 1000.0
"""In a second."""


class WindowColumns:
    """What the metrics need of the jobs in each window, cut once, and then used for any number of results."""

    def __init__(self, workload: Workload, windows: Windows, cluster: Cluster) -> None:
        """Cuts the columns; all have the shape (windows, simulated length)."""
        jobs = workload.jobs
        self.index = windows.simulated_first.astype(np.int64)[:, None] + np.arange(windows.simulated_length)
        self.warmup = windows.warmup
        self.cluster = cluster
        self.submit_ms = whole_milliseconds(numbers(jobs["submit_s"])).astype(np.int64)[self.index]
        tasks = jobs["tasks"].to_numpy()
        self.cores = (tasks * numbers(jobs["cores_per_task"]))[self.index]
        memory_mb = jobs["memory_mb_per_task"]
        self.memory_mb = (tasks * numbers(memory_mb.fill_null(0.0)))[self.index]
        self.tells_memory = memory_mb.is_not_null().to_numpy()[self.index].any(axis=1)
        self.gpus = (tasks * numbers(jobs["gpus_per_task"]))[self.index]
        self.user = jobs["user"].rank("dense").cast(pl.Int64).fill_null(0).to_numpy()[self.index]

    def take(self, rows: NDArray[np.int64]) -> WindowColumns:
        """Returns the columns of some of the windows."""
        some = copy(self)
        for name in ("index", "submit_ms", "cores", "memory_mb", "tells_memory", "gpus", "user"):
            setattr(some, name, getattr(self, name)[rows])
        return some

    def metrics(self, results: WindowResults, names: Sequence[str]) -> dict[str, NDArray[np.float64]]:
        """Returns the metrics asked for, each of shape (windows,); NaN where one has no meaning.

        Raises:
            InputError: A metric is unknown.
        """
        outcome = _Outcome(self, results)
        return {name: FORMULAS[check_name("metric", name, FORMULAS)](outcome) for name in names}


def ended(phase: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Returns which jobs ran to an end."""
    return np.asarray((phase == COMPLETED) | (phase == KILLED) | (phase == FAILED))


class _Outcome:
    """What happened in the windows; each column is made when the first metric asks for it."""

    def __init__(self, columns: WindowColumns, results: WindowResults) -> None:
        self.columns = columns
        self.results = results
        self._measured = slice(columns.warmup, None)

    @cached_property
    def ended_at_all(self) -> NDArray[np.bool_]:
        """Which of the simulated jobs ran."""
        return ended(self.results.phase)

    @cached_property
    def ended(self) -> NDArray[np.bool_]:
        """Which of the measured jobs ran, as are the next four: of measured jobs."""
        return self.ended_at_all[:, self._measured]

    @cached_property
    def wait_s(self) -> NDArray[np.float64]:
        waited_ms = self.results.start_ms - self.columns.submit_ms
        return np.asarray(waited_ms[:, self._measured] / MILLISECONDS)

    @cached_property
    def run_s(self) -> NDArray[np.float64]:
        run_ms = self.results.held_ms - self.results.lost_ms
        return np.asarray(run_ms[:, self._measured] / MILLISECONDS)

    @cached_property
    def turnaround_s(self) -> NDArray[np.float64]:
        turnaround_ms = self.results.end_ms - self.columns.submit_ms
        return np.asarray(turnaround_ms[:, self._measured] / MILLISECONDS)

    @cached_property
    def bounded_slowdown(self) -> NDArray[np.float64]:
        ratio = self.turnaround_s / np.maximum(self.run_s, BOUNDED_SLOWDOWN_THRESHOLD_S)
        return np.maximum(ratio, 1.0)

    @cached_property
    def makespan_s(self) -> NDArray[np.float64]:
        """(windows,): NaN where no job ran."""
        never = np.iinfo(np.int64)
        first = np.where(self.results.phase == REJECTED, never.max, self.columns.submit_ms).min(axis=1)
        last = np.where(self.ended_at_all, self.results.end_ms, never.min).max(axis=1)
        ran = self.ended_at_all.any(axis=1)
        return np.where(ran, np.where(ran, last - first, 0) / MILLISECONDS, np.nan)

    def mean(self, values: NDArray[np.float64], kept: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Returns the mean over the jobs of each window that are kept."""
        return _ratio(np.where(kept, values, 0.0).sum(axis=1), kept.sum(axis=1))

    def used(self, amount: NDArray[np.float64], total: float | None) -> NDArray[np.float64]:
        """Returns which part of a resource was in use over the makespan."""
        held_s = self.results.held_ms / MILLISECONDS
        used_s = np.where(self.ended_at_all, amount * held_s, 0.0).sum(axis=1)
        return _ratio(used_s, self.makespan_s * (total or 0.0))


def _ratio(part: NDArray[Any], whole: NDArray[Any]) -> NDArray[np.float64]:
    """Returns the ratio; NaN where the whole is 0 or NaN."""
    return np.asarray(np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0), dtype=np.float64)


def _wait_quantile(quantile: float) -> Callable[[_Outcome], NDArray[np.float64]]:
    def of(outcome: _Outcome) -> NDArray[np.float64]:
        rows = zip(outcome.wait_s, outcome.ended, strict=True)
        return np.array([np.quantile(wait_s[ended], quantile) if ended.any() else np.nan for wait_s, ended in rows])

    return of


def _mean_slowdown(outcome: _Outcome) -> NDArray[np.float64]:
    ran = outcome.ended & (outcome.run_s > 0)
    slowdown = np.divide(outcome.turnaround_s, outcome.run_s, out=np.zeros(ran.shape), where=ran)
    return outcome.mean(slowdown, ran)


def _memory_utilization(outcome: _Outcome) -> NDArray[np.float64]:
    columns = outcome.columns
    share = outcome.used(columns.memory_mb, columns.cluster.total_memory_mb)
    return np.where(columns.tells_memory, share, np.nan)


def _completion_rate(outcome: _Outcome) -> NDArray[np.float64]:
    completed = outcome.results.phase[:, outcome.columns.warmup :] == COMPLETED
    return np.asarray(completed.mean(axis=1))


def _mean_queue_length(outcome: _Outcome) -> NDArray[np.float64]:
    # By Little's law. A job that was stopped has waited whenever it held no nodes.
    waited_ms = outcome.results.end_ms - outcome.columns.submit_ms - outcome.results.held_ms
    return _ratio(np.where(outcome.ended_at_all, waited_ms, 0).sum(axis=1) / MILLISECONDS, outcome.makespan_s)


def _throughput(outcome: _Outcome) -> NDArray[np.float64]:
    return _ratio((outcome.results.phase == COMPLETED).sum(axis=1) * 3600.0, outcome.makespan_s)


def _jain_fairness_users(outcome: _Outcome) -> NDArray[np.float64]:
    user = outcome.columns.user[:, outcome.columns.warmup :]
    kept = outcome.ended & (user > 0)
    windows, users = len(user), int(user.max()) + 1
    cell = (np.arange(windows)[:, None] * users + user)[kept]
    jobs = np.bincount(cell, minlength=windows * users).reshape(windows, users)
    total = np.bincount(cell, weights=outcome.bounded_slowdown[kept], minlength=windows * users)
    mean = total.reshape(windows, users) / np.maximum(jobs, 1)
    return _ratio(mean.sum(axis=1) ** 2, (jobs > 0).sum(axis=1) * (mean**2).sum(axis=1))


FORMULAS: dict[str, Callable[[_Outcome], NDArray[np.float64]]] = {
    "mean_wait_s": lambda outcome: outcome.mean(outcome.wait_s, outcome.ended),
    "median_wait_s": _wait_quantile(0.5),
    "p95_wait_s": _wait_quantile(0.95),
    "p99_wait_s": _wait_quantile(0.99),
    "max_wait_s": _wait_quantile(1.0),
    "mean_turnaround_s": lambda outcome: outcome.mean(outcome.turnaround_s, outcome.ended),
    "mean_slowdown": _mean_slowdown,
    "mean_bounded_slowdown": lambda outcome: outcome.mean(outcome.bounded_slowdown, outcome.ended),
    "makespan_s": lambda outcome: outcome.makespan_s,
    "core_utilization": lambda outcome: outcome.used(outcome.columns.cores, outcome.columns.cluster.total_cores),
    "memory_utilization": _memory_utilization,
    "gpu_utilization": lambda outcome: outcome.used(outcome.columns.gpus, outcome.columns.cluster.total_gpus),
    "completion_rate": _completion_rate,
    "mean_queue_length": _mean_queue_length,
    "throughput_jobs_per_hour": _throughput,
    "jain_fairness_users": _jain_fairness_users,
}
"""By name, in the order in which metrics are printed; all of them but those that need placements or stops."""

HIGHER_IS_BETTER = frozenset(
    {
        "core_utilization",
        "memory_utilization",
        "gpu_utilization",
        "completion_rate",
        "throughput_jobs_per_hour",
        "jain_fairness_users",
    }
)
"""Of these metrics more is better, of all others less."""
