"""One run: a log simulated in one way, with its metrics, and turnarounds by the size and priority of jobs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shunter.errors import InputError
from shunter.metrics.sizes import gpu_class, gpu_label
from shunter.metrics.table import compute_metrics
from shunter.simulation.run import simulate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.model.log import Log
    from shunter.model.schedule import Schedule
    from shunter.policies.scheduler import Scheduler

MOST_PRIORITIES = 12
"""Up to this number of different priorities, each has a row of its own."""
PRIORITY_GROUPS = 4
"""More priorities share this number of rows, with about the same number of jobs in each."""


@dataclass(frozen=True)
class Run:
    """What a run gave."""

    log: Log
    """The whole log, whatever part of it was simulated."""
    scheduler: Scheduler
    schedule: Schedule
    metrics: dict[str, float | None]
    seconds: float
    """How long the simulation itself took."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """What the run was asked for, as a plain object; empty if it was not written down."""

    def resolved(self) -> dict[str, Any]:
        """Returns all arguments as a plain object, with what stood in for those not given."""
        # What sizes are counted in follows from the log, and a part of it would not tell.
        return {**self.arguments, **self.scheduler.settings.words(), "size_by": self.schedule.size_by}

    def result(self) -> dict[str, Any]:
        """Returns what ``--json`` prints."""
        extra = {"cluster_from": self.log.cluster_from, "load": self.log.load}
        return result_object(self.schedule, self.metrics, self.seconds) | extra


def run_log(
    log: Log,
    scheduler: Scheduler,
    *,
    start: int = 0,
    length: int | None = None,
    strict: bool = False,
    arguments: Mapping[str, Any] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Run:
    """Simulates a log, or a part of it, and measures what happened.

    Args:
        log: The log and its cluster.
        scheduler: The way to schedule.
        start: The place of the first job that is simulated.
        length: How many jobs are; None: all to the end of the log.
        strict: Whether a job that can never fit is an error.
        arguments: What was asked for, to be written down.
        progress: Called now and then with the number of jobs that have ended, and of all jobs.

    Raises:
        InputError: There is no such part of the log, or no job of it can ever fit.
    """
    window = log.workload.window(start, length)
    # What is told is the time of the simulation alone, without reading and measuring.
    began = time.perf_counter()
    schedule = simulate(window, log.cluster, scheduler, progress=progress)
    seconds = time.perf_counter() - began
    if strict:
        from shunter.model.fitting import refuse_rejected

        refuse_rejected(schedule)
    if schedule.rejected.all():
        from shunter.model.fitting import first_rejection

        first = first_rejection(schedule)
        none = f"none of the {len(schedule)} jobs can ever fit" if len(schedule) > 1 else "the only job can never fit"
        raise InputError(f"{schedule.workload.name}: {none}: {first.text}; check --cluster")
    return Run(log, scheduler, schedule, compute_metrics(schedule), seconds, arguments or {})


def result_object(schedule: Schedule, metrics: dict[str, float | None], seconds: float) -> dict[str, Any]:
    """Returns what ``--json`` prints and ``metrics.json`` holds.

    Args:
        schedule: what happened.
        metrics: by name, None for those without meaning.
        seconds: how long the simulation took.
    """
    from shunter import __version__
    from shunter.model.fitting import rejected_jobs

    settings, outcomes = schedule.settings, schedule.outcomes()
    return {
        "policy": settings.policy,
        "dispatch": settings.dispatch,
        "placement": settings.placement,
        "estimate": settings.estimate,
        "jobs": len(schedule),
        "rejected": outcomes["rejected"],
        "ledger": schedule.ledger.to_json(),
        "metrics": metrics,
        "rejections": [group.to_json() for group in rejected_jobs(schedule)] if outcomes["rejected"] else [],
        "turnaround_by_gpus": turnaround_by_gpus(schedule),
        "turnaround_by_priority": turnaround_by_priority(schedule),
        **{name: outcomes[name] for name in ("killed", "failed", "unfinished")},
        "estimated_from": schedule.bases(),
        "workload": schedule.workload.name,
        "cluster": schedule.cluster.name,
        "size_by": schedule.size_by,
        "pairs": settings.pairs,
        "wait_for_locality": settings.wait_for_locality,
        "seed": settings.seed,
        "version": __version__,
        "seconds": round(seconds, 6),
    }


def turnaround_by_gpus(schedule: Schedule) -> list[dict[str, Any]] | None:
    """Returns a row for each class of GPUs a job has: none, less than 1, 1, 2, 3 to 4, 5 to 8, and so on.

    Each row is ``{"gpus", "jobs", "mean_s", "median_s", "p95_s", "mean_wait_s"}``, over the jobs that ended. None if no
    job has GPUs.
    """
    gpus = schedule.gpus
    if not gpus.any():
        return None
    number = gpu_class(gpus)
    labels = {each: gpu_label(each) for each in np.unique(number).tolist()}
    return _rows(schedule, "gpus", number, labels)


def turnaround_by_priority(schedule: Schedule) -> list[dict[str, Any]] | None:
    """Returns a row for each priority, or for quarters of the jobs where there are more than twelve.

    Each row is ``{"priority", "jobs", "mean_s", "median_s", "p95_s", "mean_wait_s"}``, over the jobs that ended, the
    lowest priority first. None if no job has a priority.
    """
    priority = schedule.workload.jobs["priority"].to_numpy()
    values = np.unique(priority[np.isfinite(priority)])
    if not len(values):
        return None
    number = np.searchsorted(values, np.nan_to_num(priority, nan=values[0]))
    if len(values) > MOST_PRIORITIES:
        # Priorities that many jobs share may make two cuts the same, and then there are fewer groups.
        cuts = np.unique(np.quantile(priority[np.isfinite(priority)], np.linspace(0, 1, PRIORITY_GROUPS + 1)[1:-1]))
        number = np.searchsorted(cuts, np.nan_to_num(priority, nan=values[0]))
    number = np.where(np.isfinite(priority), number, -1)
    labels = {each: _priority_label(priority[number == each]) for each in np.unique(number).tolist()}
    return _rows(schedule, "priority", number, labels)


def _rows(schedule: Schedule, name: str, number: NDArray[np.int64], labels: dict[int, str]) -> list[dict[str, Any]]:
    turnaround = pl.col("turnaround_s")
    # Whenever a job held no nodes, it waited: a job that was stopped waits again.
    waited_s = schedule.turnaround_s - schedule.held_ms / 1000.0
    columns = {"number": number, "turnaround_s": schedule.turnaround_s, "waited_s": waited_s}
    frame = pl.DataFrame(columns).filter(pl.Series(schedule.ended))
    grouped = frame.group_by("number").agg(
        pl.len().alias("jobs"),
        turnaround.mean().alias("mean_s"),
        turnaround.median().alias("median_s"),
        turnaround.quantile(0.95, "linear").alias("p95_s"),
        pl.col("waited_s").mean().alias("mean_wait_s"),
    )
    return [{name: labels[row.pop("number")], **row} for row in grouped.sort("number").iter_rows(named=True)]


def _priority_label(values: NDArray[np.float64]) -> str:
    if np.isnan(values[0]):
        return "unknown"
    low, high = f"{values.min():.15g}", f"{values.max():.15g}"
    return low if low == high else f"{low} to {high}"
