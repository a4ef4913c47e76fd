"""The table of metrics: every one with its unit, which way is better, its formula, and how it is computed.

A new metric is one `Metric` here, or one that `register` adds. Schedules, windows, comparisons, tables and
``docs/metrics.md``, where the reasons for the formulas are, follow from it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from shunter.checks import check_name
from shunter.metrics import usage
from shunter.metrics.measures import Measures, ScheduleMeasures, Values, WindowMeasures

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.metrics.measures import WindowColumns
    from shunter.model.schedule import Schedule
    from shunter.simulation.windows import WindowResults

SECONDS: Final = "s"
SHARE: Final = "0 – 1"
COUNT: Final = "count"
NODES: Final = "nodes"
NO_UNIT: Final = "–"
"""Units by which tables choose how to print a metric; others may be any text."""
HIGHER, LOWER = "higher", "lower"


@dataclass(frozen=True)
class Metric:
    """One metric."""

    name: str
    unit: str
    better: str
    """`HIGHER` or `LOWER`."""
    formula: str
    """As ``docs/metrics.md`` has it, whose words it uses."""
    of_jobs: Callable[[Measures], Values] | None = None
    """Computes it for a schedule and for windows alike."""
    of_schedule: Callable[[ScheduleMeasures], float | None] | None = None
    """Computes it for a schedule alone, if it needs placements or stops, which windows do not keep."""
    short: tuple[str, ...] = ()
    """What a command line may call it instead."""

    def __post_init__(self) -> None:
        if (self.of_jobs is None) == (self.of_schedule is None):
            raise ValueError(f"metric {self.name}: give either of_jobs or of_schedule")

    @property
    def higher_is_better(self) -> bool:
        """Whether more of it is better."""
        return self.better == HIGHER


METRICS: Final[dict[str, Metric]] = {}
"""All metrics by name, in the order in which they are printed."""


def register(metric: Metric) -> Metric:
    """Adds a metric, which every schedule, comparison and table then has.

    Raises:
        ValueError: There is one of this name.
    """
    if metric.name in METRICS:
        raise ValueError(f"there is a metric {metric.name!r} already; give it another name")
    METRICS[metric.name] = metric
    return metric


def compute_metrics(schedule: Schedule) -> dict[str, float | None]:
    """Returns every metric by name; null (None) where a metric has no meaning, never NaN."""
    measures = ScheduleMeasures(schedule)
    return {metric.name: _known(_measure(metric, measures)) for metric in METRICS.values()}


def compute_window_metrics(
    columns: WindowColumns, results: WindowResults, names: Iterable[str]
) -> dict[str, NDArray[np.float64]]:
    """Returns the metrics asked for, each of shape (windows,); NaN where one has no meaning.

    Raises:
        InputError: A metric is unknown, or cannot be computed for windows.
    """
    measures, known = WindowMeasures(columns, results), window_metrics()
    return {name: np.asarray(known[check_name("metric", name, known)](measures)) for name in names}


def window_metrics() -> Mapping[str, Callable[[Measures], Values]]:
    """Returns the formulas of all metrics that can be computed for windows, by name, in the order of `METRICS`."""
    return {name: metric.of_jobs for name, metric in METRICS.items() if metric.of_jobs is not None}


def higher_is_better(name: str) -> bool:
    """Returns whether more of a metric is better; of all others less is."""
    return METRICS[name].higher_is_better


def find_window_metric(what: str, name: str) -> str:
    """Returns the full name of a metric that is given by its full or by a short name.

    Args:
        what: What the user gave it as, for the error message: ``objective``.
        name: What the user gave.

    Raises:
        InputError: There is no such metric, or it cannot be computed for windows.
    """
    known = window_metrics()
    short = {alias: full for full in known for alias in METRICS[full].short}
    return short.get(name) or check_name(what, name, [*short, *known])


def _measure(metric: Metric, measures: ScheduleMeasures) -> float | None:
    if metric.of_jobs is not None:
        return float(metric.of_jobs(measures))
    assert metric.of_schedule is not None, "a metric has one of the two"
    return metric.of_schedule(measures)


def _known(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else value


def _mean_slowdown(jobs: Measures) -> Values:
    # A job that ran for 0 s has no slowdown: the ratio has no value.
    ran = jobs.ended & (jobs.run_s > 0)
    return jobs.mean(np.divide(jobs.turnaround_s, jobs.run_s, out=np.zeros(ran.shape), where=ran), ran)


def _memory_utilization(jobs: Measures) -> Values:
    return np.where(jobs.tells_memory, jobs.used(jobs.memory_mb, jobs.cluster.total_memory_mb), np.nan)


def _completion_rate(jobs: Measures) -> Values:
    return jobs.mean(jobs.completed, np.ones_like(jobs.completed))


def _wait_quantile(name: str, quantile: float, short: tuple[str, ...] = ()) -> Metric:
    formula = f"quantile {quantile:g} of *wᵢ*"
    return Metric(name, SECONDS, LOWER, formula, lambda jobs: jobs.quantile(jobs.wait_s, quantile), short=short)


for _metric in (
    Metric(
        "mean_wait_s", SECONDS, LOWER, "mean of *wᵢ*", lambda jobs: jobs.mean(jobs.wait_s, jobs.ended),
        short=("wait", "mean-wait"),
    ),
    _wait_quantile("median_wait_s", 0.5),
    _wait_quantile("p95_wait_s", 0.95, ("p95-wait",)),
    _wait_quantile("p99_wait_s", 0.99, ("p99-wait",)),
    _wait_quantile("max_wait_s", 1.0, ("max-wait",)),
    Metric(
        "mean_turnaround_s", SECONDS, LOWER, "mean of *Tᵢ*", lambda jobs: jobs.mean(jobs.turnaround_s, jobs.ended),
        short=("turnaround",),
    ),
    Metric(
        "mean_slowdown", NO_UNIT, LOWER, "mean of *Tᵢ / rᵢ* over jobs with *rᵢ* > 0", _mean_slowdown,
        short=("slowdown",),
    ),
    Metric(
        "mean_bounded_slowdown", NO_UNIT, LOWER, "mean of max(1, *Tᵢ* / max(*rᵢ*, 10 s))",
        lambda jobs: jobs.mean(jobs.bounded_slowdown, jobs.ended),
        short=("bounded-slowdown",),
    ),
    Metric("makespan_s", SECONDS, LOWER, "*M*", lambda jobs: jobs.makespan_s),
    Metric(
        "core_utilization", SHARE, HIGHER, "Σ *cᵢ hᵢ* / (cores of the cluster · *M*)",
        lambda jobs: jobs.used(jobs.cores, jobs.cluster.total_cores),
        short=("utilization",),
    ),
    Metric(
        "memory_utilization", SHARE, HIGHER, "Σ *mᵢ hᵢ* / (memory of the cluster · *M*)", _memory_utilization
    ),
    Metric(
        "gpu_utilization", SHARE, HIGHER, "Σ *gᵢ hᵢ* / (GPUs of the cluster · *M*); null without GPUs",
        lambda jobs: jobs.used(jobs.gpus, jobs.cluster.total_gpus),
    ),
    Metric(
        "flops_weighted_utilization", SHARE, HIGHER,
        "the same with each GPU, used or there, counted by its node's `tflops`; null if a node with GPUs has none",
        of_schedule=lambda jobs: usage.weighted_gpu_utilization(jobs.schedule),
    ),
    Metric(
        "mean_fragmentation", SHARE, LOWER,
        "(1/*M*) ∫ *F(t)* dt, *F* the part of the free whole GPUs that stand on partly used nodes; null without GPUs",
        of_schedule=lambda jobs: jobs.scattered_gpus[0],
    ),
    Metric(
        "mean_partly_used_nodes", NODES, LOWER, "(1/*M*) ∫ nodes partly used at *t* dt; null without GPUs",
        of_schedule=lambda jobs: jobs.scattered_gpus[1],
    ),
    Metric(
        "nodes_per_job", NODES, LOWER,
        "mean number of nodes of the last segment, over jobs with GPUs; null without any",
        of_schedule=lambda jobs: usage.nodes_per_job(jobs.schedule),
    ),
    Metric(
        "load_imbalance", "0 – 0.25", LOWER, "(1/*M*) ∫ Var_h *u_h(t)* dt",
        of_schedule=lambda jobs: usage.load_imbalance(jobs.schedule),
    ),
    Metric(
        "completion_rate", SHARE, HIGHER, "jobs completed / all jobs, rejected and killed ones included",
        _completion_rate,
    ),
    Metric(
        "mean_queue_length", "jobs", LOWER, "(1/*M*) ∫ jobs waiting at *t* dt",
        # By Little's law.
        lambda jobs: jobs.ratio(jobs.waited_in_all_s, jobs.makespan_s),
    ),
    Metric(
        "throughput_jobs_per_hour", "1/h", HIGHER, "jobs completed / (*M* / 3600 s)",
        lambda jobs: jobs.ratio(jobs.completed_in_all * 3600.0, jobs.makespan_s),
    ),
    Metric(
        "jain_fairness_users", "1/*n* – 1", HIGHER,
        "(Σ *x_u*)² / (*n* Σ *x_u*²), *x_u* the mean bounded slowdown of user *u*",
        lambda jobs: jobs.fairness(jobs.bounded_slowdown),
        short=("fairness",),
    ),
    Metric(
        "preemptions", COUNT, LOWER, "how often a job was preempted",
        of_schedule=lambda jobs: usage.preemptions(jobs.schedule),
    ),
    Metric(
        "failures", COUNT, LOWER, "how often a node failed under a job",
        of_schedule=lambda jobs: usage.failures(jobs.schedule),
    ),
    Metric(
        "migrations", COUNT, LOWER, "starts after a stop on another set of nodes than before",
        of_schedule=lambda jobs: usage.migrations(jobs.schedule),
    ),
    Metric(
        "lost_gpu_hours", "GPU·h", LOWER, "Σ *gᵢ lᵢ* / 3600 s; null without GPUs",
        of_schedule=lambda jobs: usage.lost_gpu_hours(jobs.schedule),
    ),
):  # fmt: skip
    register(_metric)
