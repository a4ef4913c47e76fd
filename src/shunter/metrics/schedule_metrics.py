"""Metrics of a schedule; every formula, its unit and the reason for it are in ``docs/metrics.md``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from shunter.metrics.gpu_metrics import gpu_metrics
from shunter.metrics.stop_metrics import stop_metrics
from shunter.metrics.usage import held_seconds, load_imbalance, makespan_seconds
from shunter.model.schedule import Outcome

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.model.schedule import Schedule

METRIC_NAMES: tuple[str, ...] = (
    "mean_wait_s",
    "median_wait_s",
    "p95_wait_s",
    "p99_wait_s",
    "max_wait_s",
    "mean_turnaround_s",
    "mean_slowdown",
    "mean_bounded_slowdown",
    "makespan_s",
    "core_utilization",
    "memory_utilization",
    "gpu_utilization",
    "flops_weighted_utilization",
    "mean_fragmentation",
    "mean_partly_used_nodes",
    "nodes_per_job",
    "load_imbalance",
    "completion_rate",
    "mean_queue_length",
    "throughput_jobs_per_hour",
    "jain_fairness_users",
    "preemptions",
    "failures",
    "migrations",
    "lost_gpu_hours",
)
"""All metrics, in the order in which they are printed."""

MILLISECONDS = 1000.0
"""In a second."""


def compute_metrics(schedule: Schedule) -> dict[str, float | None]:
    """Returns every metric by name; null (None) where a metric has no meaning, never NaN."""
    makespan_s = makespan_seconds(schedule)
    completed = int(np.count_nonzero(schedule.outcome == Outcome.COMPLETED))
    metrics: dict[str, float | None] = {
        **_wait_metrics(schedule),
        "makespan_s": makespan_s,
        "core_utilization": _core_utilization(schedule, makespan_s),
        "memory_utilization": _memory_utilization(schedule, makespan_s),
        **gpu_metrics(schedule, makespan_s),
        "load_imbalance": load_imbalance(schedule),
        "completion_rate": _ratio(completed, len(schedule)),
        "mean_queue_length": _mean_queue_length(schedule, makespan_s),
        "throughput_jobs_per_hour": _ratio(completed * 3600.0, makespan_s),
        "jain_fairness_users": _jain_fairness_users(schedule),
        **stop_metrics(schedule),
    }
    return {name: metrics[name] for name in METRIC_NAMES}


def _wait_metrics(schedule: Schedule) -> dict[str, float | None]:
    ended = schedule.ended
    wait_s = schedule.queue_wait_s[ended]
    run_s = schedule.run_time_s[ended]
    turnaround_s = schedule.turnaround_s[ended]
    # A job that ran for 0 s has no slowdown: the ratio has no value.
    ran = run_s > 0
    return {
        "mean_wait_s": _mean(wait_s),
        "median_wait_s": _quantile(wait_s, 0.5),
        "p95_wait_s": _quantile(wait_s, 0.95),
        "p99_wait_s": _quantile(wait_s, 0.99),
        "max_wait_s": _quantile(wait_s, 1.0),
        "mean_turnaround_s": _mean(turnaround_s),
        "mean_slowdown": _mean(turnaround_s[ran] / run_s[ran]),
        "mean_bounded_slowdown": _mean(schedule.bounded_slowdown[ended]),
    }


def _core_utilization(schedule: Schedule, makespan_s: float | None) -> float | None:
    used_core_s = float(np.sum(schedule.cores * held_seconds(schedule)))
    return _ratio(used_core_s, makespan_s, schedule.cluster.total_cores)


def _memory_utilization(schedule: Schedule, makespan_s: float | None) -> float | None:
    total_mb = schedule.cluster.total_memory_mb
    jobs = schedule.workload.jobs
    if total_mb is None or jobs["memory_mb_per_task"].null_count() == len(jobs):
        return None
    memory_mb = (jobs["tasks"] * jobs["memory_mb_per_task"].fill_null(0.0)).to_numpy()
    return _ratio(float(np.sum(memory_mb * held_seconds(schedule))), makespan_s, total_mb)


def _mean_queue_length(schedule: Schedule, makespan_s: float | None) -> float | None:
    if makespan_s is None:
        return None
    last_end_ms = np.nanmax(schedule.end_ms)
    # A job that never started waits until the end of the schedule.
    until_ms = np.where(np.isfinite(schedule.start_s), schedule.start_ms, last_end_ms)
    segments = schedule.segments
    again = segments.job[1:] == segments.job[:-1]
    first = np.flatnonzero(np.concatenate([[True], ~again]))
    until_ms[segments.job[first]] = segments.start_ms[first]
    waited_ms = np.maximum(until_ms - schedule.submit_ms, 0.0)[~schedule.rejected]
    # A job that was stopped waits again.
    next_start_ms = np.append(np.where(again, segments.start_ms[1:], last_end_ms), last_end_ms)
    waited_again_ms = np.maximum(next_start_ms - segments.end_ms, 0.0)[~segments.last]
    return _ratio(float(np.sum(waited_ms) + np.sum(waited_again_ms)) / MILLISECONDS, makespan_s)


def _jain_fairness_users(schedule: Schedule) -> float | None:
    frame = pl.DataFrame({"user": schedule.workload.jobs["user"], "slowdown": schedule.bounded_slowdown})
    by_user = frame.filter(pl.Series(schedule.ended) & pl.col("user").is_not_null())
    means = by_user.group_by("user", maintain_order=True).agg(pl.col("slowdown").mean())["slowdown"].to_numpy()
    return _ratio(float(np.sum(means)) ** 2, float(len(means)), float(np.sum(means**2)))


def _mean(values: NDArray[np.float64]) -> float | None:
    return float(np.mean(values)) if len(values) else None


def _quantile(values: NDArray[np.float64], q: float) -> float | None:
    return float(np.quantile(values, q)) if len(values) else None


def _ratio(part: float, *whole: float | None) -> float | None:
    """Returns the part divided by the product of the rest; None where one of them is 0 or unknown."""
    product = 1.0
    for factor in whole:
        product *= factor or 0.0
    return part / product if product else None
