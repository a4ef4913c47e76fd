"""Turnarounds by the size and by the priority of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.model.schedule import Schedule

MOST_PRIORITIES = 12
"""Up to so many different priorities have a row each."""
PRIORITY_GROUPS = 4
"""More of them share so many rows, with about as many jobs in each."""


def turnaround_by_gpus(schedule: Schedule) -> list[dict[str, Any]] | None:
    """Returns a row for each class of GPUs a job has: none, less than 1, 1, 2, 3 to 4, 5 to 8, and so on.

    Each row is ``{"gpus", "jobs", "mean_s", "median_s", "p95_s"}``, over the jobs that ended. None if no job has GPUs.
    """
    gpus = schedule.gpus
    if not gpus.any():
        return None
    # Fractions add up in whole thousandths, so that five tasks of 0.2 have 1 GPU.
    number = np.where(gpus > 0, np.ceil(np.log2(np.maximum(np.round(gpus, 3), 0.5))) + 1, -1).astype(np.int64)
    labels = {each: _gpus_label(each) for each in np.unique(number).tolist()}
    return _rows(schedule, "gpus", number, labels)


def turnaround_by_priority(schedule: Schedule) -> list[dict[str, Any]] | None:
    """Returns a row for each priority, or for quarters of the jobs where there are more than twelve.

    Each row is ``{"priority", "jobs", "mean_s", "median_s", "p95_s"}``, over the jobs that ended, the lowest priority
    first. None if no job has a priority.
    """
    priority = schedule.workload.jobs["priority"].to_numpy()
    values = np.unique(priority[np.isfinite(priority)])
    if not len(values):
        return None
    number = np.searchsorted(values, np.nan_to_num(priority, nan=values[0]))
    if len(values) > MOST_PRIORITIES:
        cuts = np.unique(np.quantile(priority[np.isfinite(priority)], np.linspace(0, 1, PRIORITY_GROUPS + 1)[1:-1]))
        number = np.searchsorted(cuts, np.nan_to_num(priority, nan=values[0]))
    number = np.where(np.isfinite(priority), number, -1)
    labels = {each: _priority_label(priority[number == each]) for each in np.unique(number).tolist()}
    return _rows(schedule, "priority", number, labels)


def _rows(schedule: Schedule, name: str, number: NDArray[np.int64], labels: dict[int, str]) -> list[dict[str, Any]]:
    turnaround = pl.col("turnaround_s")
    frame = pl.DataFrame({"number": number, "turnaround_s": schedule.turnaround_s}).filter(pl.Series(schedule.ended))
    grouped = frame.group_by("number").agg(
        pl.len().alias("jobs"),
        turnaround.mean().alias("mean_s"),
        turnaround.median().alias("median_s"),
        turnaround.quantile(0.95, "linear").alias("p95_s"),
    )
    return [{name: labels[row.pop("number")], **row} for row in grouped.sort("number").iter_rows(named=True)]


def _gpus_label(number: int) -> str:
    """Returns what a class of GPUs is called: -1 is none, 0 less than one, 1 one, 2 two, then doubling."""
    if number <= 0:
        return "none" if number < 0 else "< 1"
    most = 2 ** (number - 1)
    return f"{most}" if most <= 2 else f"{most // 2 + 1}–{most}"


def _priority_label(values: NDArray[np.float64]) -> str:
    if np.isnan(values[0]):
        return "unknown"
    low, high = f"{values.min():.15g}", f"{values.max():.15g}"
    return low if low == high else f"{low} to {high}"
