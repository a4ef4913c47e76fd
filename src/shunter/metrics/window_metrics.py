"""Metrics of many windows at once, by the formulas of the table of metrics."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shunter.checks import check_name
from shunter.metrics.table import MILLISECONDS, Measures, Values, window_metrics
from shunter.model.conditions import has_conditions
from shunter.model.schedule import Phase, bounded_slowdown, whole_milliseconds
from shunter.simulation.core_inputs import numbers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from shunter.model.cluster import Cluster
    from shunter.model.windows import Windows
    from shunter.model.workload import Workload
    from shunter.simulation.windows import WindowResults


class WindowColumns:
    """What the metrics need of the jobs in each window, cut once, and then used for any number of results."""

    def __init__(self, workload: Workload, windows: Windows, cluster: Cluster) -> None:
        """Cuts the columns; all have the shape (windows, simulated length)."""
        jobs = workload.jobs
        # Windows are rows of one matrix, so that a metric of all of them is one NumPy call.
        self.index = windows.simulated_first.astype(np.int64)[:, None] + np.arange(windows.simulated_length)
        self.warmup = windows.warmup
        self.cluster = cluster
        self.may_leave = has_conditions(jobs) or cluster.rules.hold_jobs
        self.submit_ms = whole_milliseconds(numbers(jobs["submit_s"])).astype(np.int64)[self.index]
        tasks = jobs["tasks"].to_numpy()
        self.cores = (tasks * numbers(jobs["cores_per_task"]))[self.index]
        memory_mb = jobs["memory_mb_per_task"]
        self.memory_mb = (tasks * numbers(memory_mb.fill_null(0.0)))[self.index]
        self.tells_memory = memory_mb.is_not_null().to_numpy()[self.index].any(axis=1)
        self.gpus = (tasks * numbers(jobs["gpus_per_task"]))[self.index]
        # 0 stands for no user.
        self.user = jobs["user"].rank("dense").cast(pl.Int64).fill_null(0).to_numpy()[self.index]

    def take(self, rows: NDArray[np.int64]) -> WindowColumns:
        """Returns the columns of some of the windows."""
        some = copy(self)
        for name in ("index", "submit_ms", "cores", "memory_mb", "tells_memory", "gpus", "user"):
            setattr(some, name, getattr(self, name)[rows])
        return some


def compute_window_metrics(
    columns: WindowColumns, results: WindowResults, names: Iterable[str]
) -> dict[str, NDArray[np.float64]]:
    """Returns the metrics asked for, each of shape (windows,); NaN where one has no meaning.

    Raises:
        InputError: A metric is unknown, or cannot be computed for windows.
    """
    measures, known = WindowMeasures(columns, results), window_metrics()
    return {name: np.asarray(known[check_name("metric", name, known)](measures)) for name in names}


class WindowMeasures(Measures):
    """The jobs of many windows; each column is made when the first metric asks for it."""

    def __init__(self, columns: WindowColumns, results: WindowResults) -> None:
        """Takes the windows' jobs, and what happened to them."""
        self._columns = columns
        self._results = results
        self._measured = slice(columns.warmup, None)
        self._ended_in_all = results.ended
        self._take_cluster(columns.cluster)
        self.cores = columns.cores
        self.gpus = columns.gpus
        self.memory_mb = columns.memory_mb
        self.tells_memory = columns.tells_memory
        self.ended = self._ended_in_all[:, self._measured]
        self.completed = results.phase[:, self._measured] == Phase.COMPLETED
        self.may_leave = columns.may_leave
        self.cancelled = results.phase[:, self._measured] == Phase.CANCELLED

    @cached_property
    def completed_in_all(self) -> Values:
        """How many of the simulated jobs completed."""
        return (self._results.phase == Phase.COMPLETED).sum(axis=1)

    @cached_property
    def wait_s(self) -> NDArray[np.float64]:
        """For how long each job held no nodes from when it was eligible to its end."""
        return self._seconds(self._results.end_ms - self._results.eligible_ms - self._results.held_ms)

    @cached_property
    def first_wait_s(self) -> NDArray[np.float64]:
        """From being eligible to the first start."""
        return self._seconds(self._results.start_ms - self._results.eligible_ms)

    @cached_property
    def run_s(self) -> NDArray[np.float64]:
        """For how long each job held nodes and got ahead."""
        return self._seconds(self._results.held_ms - self._results.lost_ms)

    @cached_property
    def turnaround_s(self) -> NDArray[np.float64]:
        """From being eligible to the end."""
        return self._seconds(self._results.end_ms - self._results.eligible_ms)

    @cached_property
    def bounded_slowdown(self) -> NDArray[np.float64]:
        """Turnaround over run time, bounded."""
        return bounded_slowdown(self.turnaround_s, self.run_s)

    def _seconds(self, time_ms: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.asarray(time_ms[:, self._measured] / MILLISECONDS)

    @cached_property
    def lost_s(self) -> NDArray[np.float64]:
        """For how long each simulated job held nodes without getting ahead."""
        results = self._results
        # Of a job that failed for good nothing is left: the core counts what it held as its run.
        lost_ms = np.where(results.phase == Phase.FAILED, results.held_ms, results.lost_ms)
        return np.asarray(lost_ms / MILLISECONDS)

    @cached_property
    def ran_any(self) -> NDArray[np.bool_]:
        """Whether any job ever held nodes."""
        return np.asarray((self._results.start_ms >= 0).any(axis=1))

    @cached_property
    def makespan_s(self) -> Values:
        """From the first submit to the last end; NaN where no job ran."""
        results, never = self._results, np.iinfo(np.int64)
        # A rejected job neither begins nor ends a makespan.
        first = np.where(results.phase == Phase.REJECTED, never.max, self._columns.submit_ms).min(axis=1)
        last = np.where(self._ended_in_all, results.end_ms, never.min).max(axis=1)
        ran = self._ended_in_all.any(axis=1)
        return np.where(ran, np.where(ran, last - first, 0) / MILLISECONDS, np.nan)

    @cached_property
    def waited_in_all_s(self) -> Values:
        """For how long jobs waited, added up."""
        # A job that was stopped has waited whenever it held no nodes.
        waited_ms = self._results.end_ms - self._results.eligible_ms - self._results.held_ms
        waited = self._ended_in_all | (self._results.phase == Phase.CANCELLED)
        return np.where(waited, waited_ms, 0).sum(axis=1) / MILLISECONDS

    def mean(self, values: NDArray[Any], kept: NDArray[np.bool_]) -> Values:
        """Returns the mean over the measured jobs of each window that are kept."""
        return self.ratio(np.where(kept, values, 0.0).sum(axis=1), kept.sum(axis=1))

    def quantile(self, values: NDArray[np.float64], quantile: float) -> Values:
        """Returns a quantile over the measured jobs of each window that ended."""
        rows = zip(values, self.ended, strict=True)
        return np.array([np.quantile(row[ran], quantile) if ran.any() else np.nan for row, ran in rows])

    def used(self, amount: NDArray[np.float64], total: float | None) -> Values:
        """Returns which part of a resource was in use over each makespan."""
        held_s = self._results.held_ms / MILLISECONDS
        used_s = np.where(self._ended_in_all, amount * held_s, 0.0).sum(axis=1)
        return self.ratio(used_s, self.makespan_s * (total or 0.0))

    def ratio(self, part: Values, whole: Values) -> Values:
        """Returns the ratio in each window; NaN where the whole is 0 or NaN."""
        return np.asarray(np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0), dtype=np.float64)

    def fairness(self, values: NDArray[np.float64]) -> Values:
        """Returns Jain's index of the users' means over their measured jobs that ended."""
        user = self._columns.user[:, self._measured]
        kept = self.ended & (user > 0)
        windows, users = len(user), int(user.max()) + 1
        # One number for each user in each window: then one pass adds up all windows.
        cell = (np.arange(windows)[:, None] * users + user)[kept]
        jobs = np.bincount(cell, minlength=windows * users).reshape(windows, users)
        total = np.bincount(cell, weights=values[kept], minlength=windows * users)
        mean = total.reshape(windows, users) / np.maximum(jobs, 1)
        return self.ratio(mean.sum(axis=1) ** 2, (jobs > 0).sum(axis=1) * (mean**2).sum(axis=1))
