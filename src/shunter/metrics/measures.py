"""What the formulas of metrics are made of, for the jobs of one schedule and for those of many windows at once.

A formula is written once, on `Measures`; it works on one value a job (a schedule) or on one row a window (windows).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shunter.metrics.usage import held_seconds, makespan_seconds, scattered_gpus
from shunter.model.schedule import Outcome, Phase, bounded_slowdown, whole_milliseconds
from shunter.simulation.core_tables import numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.model.cluster import Cluster
    from shunter.model.schedule import Schedule
    from shunter.model.windows import Windows
    from shunter.model.workload import Workload
    from shunter.simulation.windows import WindowResults

MILLISECONDS = 1000.0
"""In a second."""

Values = Any
"""A value a schedule (a float), or a value a window (an array of shape (windows,)); NaN where it has no meaning."""


class Measures(ABC):
    """Jobs that were simulated, as metrics see them.

    Arrays have the shape (jobs,) for a schedule, and (windows, jobs) for windows. What is told of jobs (waits,
    slowdowns, fairness) is over the measured jobs of a window. What is told of the cluster over time (makespan,
    utilization, queue length, throughput) is over all jobs simulated, the warm-up included.
    """

    cluster: Cluster
    cores: NDArray[np.float64]
    """Over all tasks of each simulated job."""
    memory_mb: NDArray[np.float64]
    """Over all tasks of each simulated job; 0 where the log does not say it."""
    gpus: NDArray[np.float64]
    """Over all tasks of each simulated job."""
    ended: NDArray[np.bool_]
    """Which of the measured jobs started and ended."""
    completed: NDArray[np.bool_]
    """Which of the measured jobs completed."""
    makespan_s: Values
    """From the first submit of a job that was not rejected to the last end."""
    completed_in_all: Values
    """How many of the simulated jobs completed."""
    waited_in_all_s: Values
    """For how long the simulated jobs waited, added up."""
    tells_memory: Values
    """Whether any simulated job says how much memory it needs."""

    @property
    @abstractmethod
    def wait_s(self) -> NDArray[np.float64]:
        """From submit to the first start, of each measured job."""

    @property
    @abstractmethod
    def run_s(self) -> NDArray[np.float64]:
        """For how long each measured job held nodes and got ahead."""

    @property
    @abstractmethod
    def turnaround_s(self) -> NDArray[np.float64]:
        """From submit to the end, of each measured job."""

    @cached_property
    def bounded_slowdown(self) -> NDArray[np.float64]:
        """Turnaround over run time, bounded, of each measured job."""
        return bounded_slowdown(self.turnaround_s, self.run_s)

    @abstractmethod
    def mean(self, values: NDArray[Any], kept: NDArray[np.bool_]) -> Values:
        """Returns the mean over the measured jobs that are kept."""

    @abstractmethod
    def quantile(self, values: NDArray[np.float64], quantile: float) -> Values:
        """Returns a quantile over the measured jobs that ended, linearly interpolated."""

    @abstractmethod
    def used(self, amount: NDArray[np.float64], total: float | None) -> Values:
        """Returns which part of a resource was in use over the makespan.

        Args:
            amount: What each simulated job holds of it.
            total: What the cluster has of it; None if that is unknown.
        """

    @abstractmethod
    def ratio(self, part: Values, whole: Values) -> Values:
        """Returns the ratio; NaN where the whole is 0 or has no meaning."""

    @abstractmethod
    def fairness(self, values: NDArray[np.float64]) -> Values:
        """Returns Jain's index of the users' means over their jobs that ended; NaN where no user is known."""


class ScheduleMeasures(Measures):
    """The jobs of one schedule; each column is made when the first metric asks for it."""

    def __init__(self, schedule: Schedule) -> None:
        """Takes the schedule."""
        jobs = schedule.workload.jobs
        self.schedule = schedule
        self.cluster = schedule.cluster
        self.cores = schedule.cores
        self.gpus = schedule.gpus
        self.memory_mb = (jobs["tasks"] * jobs["memory_mb_per_task"].fill_null(0.0)).to_numpy()
        self.tells_memory = jobs["memory_mb_per_task"].null_count() < len(jobs)
        self.ended = schedule.ended
        self.completed = np.asarray(schedule.outcome == Outcome.COMPLETED)
        self.completed_in_all = int(np.count_nonzero(self.completed))
        makespan_s = makespan_seconds(schedule)
        self.makespan_s = np.nan if makespan_s is None else makespan_s

    @cached_property
    def wait_s(self) -> NDArray[np.float64]:
        """From submit to the first start."""
        return self.schedule.queue_wait_s

    @cached_property
    def run_s(self) -> NDArray[np.float64]:
        """For how long each job held nodes and got ahead."""
        return self.schedule.run_time_s

    @cached_property
    def turnaround_s(self) -> NDArray[np.float64]:
        """From submit to the end."""
        return self.schedule.turnaround_s

    @cached_property
    def scattered_gpus(self) -> tuple[float | None, float | None]:
        """The time means of the fragmentation and of the number of partly used nodes; None without GPUs."""
        return scattered_gpus(self.schedule)

    @cached_property
    def waited_in_all_s(self) -> Values:
        """For how long jobs waited, added up; NaN if no job ended."""
        schedule, segments = self.schedule, self.schedule.segments
        if not self.ended.any():
            return np.nan
        last_end_ms = np.nanmax(schedule.end_ms)
        # A job that never started waits until the end of the schedule.
        until_ms = np.where(np.isfinite(schedule.start_s), schedule.start_ms, last_end_ms)
        again = segments.job[1:] == segments.job[:-1]
        first = np.flatnonzero(np.concatenate([[True], ~again]))
        until_ms[segments.job[first]] = segments.start_ms[first]
        waited_ms = np.maximum(until_ms - schedule.submit_ms, 0.0)[~schedule.rejected]
        # A job that was stopped waits again.
        next_start_ms = np.append(np.where(again, segments.start_ms[1:], last_end_ms), last_end_ms)
        waited_again_ms = np.maximum(next_start_ms - segments.end_ms, 0.0)[~segments.last]
        return float(np.sum(waited_ms) + np.sum(waited_again_ms)) / MILLISECONDS

    def mean(self, values: NDArray[Any], kept: NDArray[np.bool_]) -> Values:
        """Returns the mean over the jobs that are kept."""
        return float(np.mean(values[kept])) if kept.any() else np.nan

    def quantile(self, values: NDArray[np.float64], quantile: float) -> Values:
        """Returns a quantile over the jobs that ended."""
        return float(np.quantile(values[self.ended], quantile)) if self.ended.any() else np.nan

    def used(self, amount: NDArray[np.float64], total: float | None) -> Values:
        """Returns which part of a resource was in use over the makespan."""
        return self.ratio(float(np.sum(amount * held_seconds(self.schedule))), self.makespan_s * (total or 0.0))

    def ratio(self, part: Values, whole: Values) -> Values:
        """Returns the ratio; NaN where the whole is 0 or has no meaning."""
        return part / whole if whole > 0 else np.nan

    def fairness(self, values: NDArray[np.float64]) -> Values:
        """Returns Jain's index of the users' means over their jobs that ended."""
        frame = pl.DataFrame({"user": self.schedule.workload.jobs["user"], "value": values})
        by_user = frame.filter(pl.Series(self.ended) & pl.col("user").is_not_null())
        means = by_user.group_by("user", maintain_order=True).agg(pl.col("value").mean())["value"].to_numpy()
        return self.ratio(float(np.sum(means)) ** 2, len(means) * float(np.sum(means**2)))


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


def ended(phase: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Returns which jobs ran to an end."""
    return np.asarray((phase == Phase.COMPLETED) | (phase == Phase.KILLED) | (phase == Phase.FAILED))


class WindowMeasures(Measures):
    """The jobs of many windows; each column is made when the first metric asks for it."""

    def __init__(self, columns: WindowColumns, results: WindowResults) -> None:
        """Takes the windows' jobs, and what happened to them."""
        self._columns = columns
        self._results = results
        self._measured = slice(columns.warmup, None)
        self._ended_in_all = ended(results.phase)
        self.cluster = columns.cluster
        self.cores = columns.cores
        self.gpus = columns.gpus
        self.memory_mb = columns.memory_mb
        self.tells_memory = columns.tells_memory
        self.ended = self._ended_in_all[:, self._measured]
        self.completed = results.phase[:, self._measured] == Phase.COMPLETED

    @cached_property
    def completed_in_all(self) -> Values:
        """How many of the simulated jobs completed."""
        return (self._results.phase == Phase.COMPLETED).sum(axis=1)

    @cached_property
    def wait_s(self) -> NDArray[np.float64]:
        """From submit to the first start."""
        return self._seconds(self._results.start_ms - self._columns.submit_ms)

    @cached_property
    def run_s(self) -> NDArray[np.float64]:
        """For how long each job held nodes and got ahead."""
        return self._seconds(self._results.held_ms - self._results.lost_ms)

    @cached_property
    def turnaround_s(self) -> NDArray[np.float64]:
        """From submit to the end."""
        return self._seconds(self._results.end_ms - self._columns.submit_ms)

    def _seconds(self, time_ms: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.asarray(time_ms[:, self._measured] / MILLISECONDS)

    @cached_property
    def makespan_s(self) -> Values:
        """From the first submit to the last end; NaN where no job ran."""
        results, never = self._results, np.iinfo(np.int64)
        first = np.where(results.phase == Phase.REJECTED, never.max, self._columns.submit_ms).min(axis=1)
        last = np.where(self._ended_in_all, results.end_ms, never.min).max(axis=1)
        ran = self._ended_in_all.any(axis=1)
        return np.where(ran, np.where(ran, last - first, 0) / MILLISECONDS, np.nan)

    @cached_property
    def waited_in_all_s(self) -> Values:
        """For how long jobs waited, added up."""
        # A job that was stopped has waited whenever it held no nodes.
        waited_ms = self._results.end_ms - self._columns.submit_ms - self._results.held_ms
        return np.where(self._ended_in_all, waited_ms, 0).sum(axis=1) / MILLISECONDS

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
        cell = (np.arange(windows)[:, None] * users + user)[kept]
        jobs = np.bincount(cell, minlength=windows * users).reshape(windows, users)
        total = np.bincount(cell, weights=values[kept], minlength=windows * users)
        mean = total.reshape(windows, users) / np.maximum(jobs, 1)
        return self.ratio(mean.sum(axis=1) ** 2, (jobs > 0).sum(axis=1) * (mean**2).sum(axis=1))
