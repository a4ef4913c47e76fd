"""The table of metrics: every one with its unit, which way is better, its formula, and how it is computed.

A new metric is one `Metric` at the end of this file, or one that `register` adds. Schedules, windows, comparisons,
tables and ``docs/metrics.md``, where the reasons for the formulas are, follow from it.

A formula is written once, on `Measures`: it works on one value a job (a schedule) or on one row a window (windows).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from shunter.checks import check_name
from shunter.metrics.usage import Usage
from shunter.model.schedule import Outcome, bounded_slowdown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.model.cluster import Cluster
    from shunter.model.schedule import Schedule

SECONDS: Final = "s"
SHARE: Final = "0 – 1"
COUNT: Final = "count"
NODES: Final = "nodes"
NO_UNIT: Final = "–"
"""Units by which tables choose how to print a metric; others may be any text."""
HIGHER, LOWER = "higher", "lower"
MILLISECONDS: Final = 1000.0
"""In a second."""

Values = Any
"""A value a schedule (a float), or a value a window (an array of shape (windows,)); NaN where it has no meaning."""
Columns = Any
"""A value a job: an array of shape (jobs,) of a schedule, (windows, jobs) of windows; any class may hold or make it."""


class Measures(ABC):
    """Jobs that were simulated, as metrics see them.

    Arrays have the shape (jobs,) for a schedule, and (windows, jobs) for windows. What is told of jobs (waits,
    slowdowns, fairness) is over the measured jobs of a window. What is told of the cluster over time (makespan,
    utilization, queue length, throughput) is over all jobs simulated, the warm-up included.
    """

    cluster: Cluster
    total_cores: float
    """Of the cluster."""
    total_memory_mb: float | None
    """Of the cluster; None if any node's is not tracked."""
    total_gpus: int
    """Of the cluster."""
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
    cancelled: NDArray[np.bool_]
    """Which of the measured jobs left the queue before they had started."""
    may_leave: bool
    """Whether any job can."""
    makespan_s: Values
    """From the first submit of a job that was not rejected to the last end."""
    completed_in_all: Values
    """How many of the simulated jobs completed."""
    waited_in_all_s: Values
    """For how long the simulated jobs waited, added up."""
    tells_memory: Values
    """Whether any simulated job says how much memory it needs."""
    lost_s: Columns
    """For how long each simulated job held nodes without getting ahead."""
    ran_any: Values
    """Whether any simulated job ever held nodes."""
    wait_s: Columns
    """For how long each measured job held no nodes from when it was eligible to its end."""
    first_wait_s: Columns
    """From being eligible to the first start, of each measured job."""
    run_s: Columns
    """For how long each measured job held nodes and got ahead."""
    turnaround_s: Columns
    """From being eligible to the end, of each measured job."""
    bounded_slowdown: Columns
    """Turnaround over run time, bounded, of each measured job."""

    def _take_cluster(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.total_cores, self.total_gpus = cluster.total_cores, cluster.total_gpus
        self.total_memory_mb = cluster.total_memory_mb

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
    """The jobs of one schedule."""

    def __init__(self, schedule: Schedule) -> None:
        """Makes every column: nearly all metrics need them."""
        jobs = schedule.workload.jobs
        self.schedule = schedule
        self.usage = Usage(schedule)
        self._take_cluster(schedule.cluster)
        self.cores = schedule.cores
        self.gpus = schedule.gpus
        self.memory_mb = (jobs["tasks"] * jobs["memory_mb_per_task"].fill_null(0.0)).to_numpy()
        self.tells_memory = jobs["memory_mb_per_task"].null_count() < len(jobs)
        # Rejected and unfinished jobs have no end, and are part of no mean.
        self.ended = schedule.ended
        self.completed = np.asarray(schedule.outcome == Outcome.COMPLETED)
        self.cancelled = schedule.cancelled
        self.may_leave = schedule.eligible_s is not None
        self.wait_s = schedule.wait_s
        self.first_wait_s = schedule.queue_wait_s
        self.run_s = schedule.run_time_s
        self.turnaround_s = schedule.turnaround_s
        self.bounded_slowdown = bounded_slowdown(self.turnaround_s, self.run_s)
        self.makespan_s = self.usage.makespan_s
        self.completed_in_all = int(np.count_nonzero(self.completed))
        self.waited_in_all_s = self.usage.waited_s()
        self.lost_s = schedule.lost_ms / MILLISECONDS
        self.ran_any = len(self.usage.segments) > 0

    def mean(self, values: NDArray[Any], kept: NDArray[np.bool_]) -> Values:
        """Returns the mean over the jobs that are kept."""
        return float(np.mean(values[kept])) if kept.any() else np.nan

    def quantile(self, values: NDArray[np.float64], quantile: float) -> Values:
        """Returns a quantile over the jobs that ended."""
        return float(np.quantile(values[self.ended], quantile)) if self.ended.any() else np.nan

    def used(self, amount: NDArray[np.float64], total: float | None) -> Values:
        """Returns which part of a resource was in use over the makespan."""
        return self.ratio(float(np.sum(amount * self.usage.held_s)), self.makespan_s * (total or 0.0))

    def ratio(self, part: Values, whole: Values) -> Values:
        """Returns the ratio; NaN where the whole is 0 or has no meaning."""
        return part / whole if whole > 0 else np.nan

    def fairness(self, values: NDArray[np.float64]) -> Values:
        """Returns Jain's index of the users' means over their jobs that ended."""
        frame = pl.DataFrame({"user": self.schedule.workload.jobs["user"], "value": values})
        # Jobs without a user are left out: together they would count as one user with many jobs.
        by_user = frame.filter(pl.Series(self.ended) & pl.col("user").is_not_null())
        means = by_user.group_by("user", maintain_order=True).agg(pl.col("value").mean())["value"].to_numpy()
        return self.ratio(float(np.sum(means)) ** 2, len(means) * float(np.sum(means**2)))


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
    of_schedule: Callable[[Usage], float | None] | None = None
    """Computes it for a schedule alone, if it needs placements or stops, which windows do not keep: to compare it,
    each window is simulated as a schedule of its own."""
    short: tuple[str, ...] = ()
    """What a command line may call it instead."""

    def __post_init__(self) -> None:
        if (self.of_jobs is None) == (self.of_schedule is None):
            raise ValueError(f"metric {self.name}: give either of_jobs or of_schedule")

    @property
    def higher_is_better(self) -> bool:
        """Whether more of it is better."""
        return self.better == HIGHER


def register(metric: Metric) -> Metric:
    """Adds a metric, which every schedule, comparison and table then has.

    Raises:
        ValueError: There is one of this name.
    """
    if metric.name in METRICS:
        raise ValueError(f"there is a metric {metric.name!r} already; give it another name")
    METRICS[metric.name] = metric
    return metric


def compute_metrics(schedule: Schedule, names: Iterable[str] | None = None) -> dict[str, float | None]:
    """Returns metrics by name; null (None) where a metric has no meaning, never NaN.

    Args:
        schedule: What happened.
        names: Which metrics; None: every one.
    """
    measures = ScheduleMeasures(schedule)
    found: dict[str, float | None] = {}
    for name in METRICS if names is None else names:
        metric = METRICS[name]
        value = metric.of_jobs(measures) if metric.of_jobs is not None else None
        if metric.of_schedule is not None:
            value = metric.of_schedule(measures.usage)
        # JSON has no NaN, and to compare with one is a trap.
        found[name] = None if value is None or np.isnan(value) else float(value)
    return found


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


def _mean_slowdown(jobs: Measures) -> Values:
    # A job that ran for 0 s has no slowdown: the ratio has no value.
    ran = jobs.ended & (jobs.run_s > 0)
    return jobs.mean(np.divide(jobs.turnaround_s, jobs.run_s, out=np.zeros(ran.shape), where=ran), ran)


def _memory_utilization(jobs: Measures) -> Values:
    # Where no job tells its memory, 0 would look like an idle machine.
    return np.where(jobs.tells_memory, jobs.used(jobs.memory_mb, jobs.total_memory_mb), np.nan)


def _completion_rate(jobs: Measures) -> Values:
    # Over all jobs, so that rejecting many of them does not look good.
    return jobs.mean(jobs.completed, np.ones_like(jobs.completed))


def _lost_gpu_hours(jobs: Measures) -> Values:
    # Where no job has GPUs, or none ever held a node, there was nothing to lose.
    known = jobs.ran_any & np.any(jobs.gpus > 0, axis=-1)
    return np.where(known, np.sum(jobs.gpus * jobs.lost_s, axis=-1) / 3600.0, np.nan)


def _wait_quantile(name: str, quantile: float, short: tuple[str, ...] = ()) -> Metric:
    formula = f"quantile {quantile:g} of *wᵢ*"
    return Metric(name, SECONDS, LOWER, formula, lambda jobs: jobs.quantile(jobs.wait_s, quantile), short=short)


_TABLE: Final = (
    Metric(
        "mean_wait_s", SECONDS, LOWER, "mean of *wᵢ*", lambda jobs: jobs.mean(jobs.wait_s, jobs.ended),
        short=("wait", "mean-wait"),
    ),
    Metric(
        "mean_first_wait_s", SECONDS, LOWER, "mean of *bᵢ − sᵢ*",
        lambda jobs: jobs.mean(jobs.first_wait_s, jobs.ended),
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
        lambda jobs: jobs.used(jobs.cores, jobs.total_cores),
        short=("utilization",),
    ),
    Metric(
        "memory_utilization", SHARE, HIGHER, "Σ *mᵢ hᵢ* / (memory of the cluster · *M*)", _memory_utilization
    ),
    Metric(
        "gpu_utilization", SHARE, HIGHER, "Σ *gᵢ hᵢ* / (GPUs of the cluster · *M*); null without GPUs",
        lambda jobs: jobs.used(jobs.gpus, jobs.total_gpus),
    ),
    Metric(
        "flops_weighted_utilization", SHARE, HIGHER,
        "the same with each GPU, used or there, counted by its node's `tflops`; null if a node with GPUs has none",
        of_schedule=Usage.weighted_gpu_utilization,
    ),
    Metric(
        "mean_fragmentation", SHARE, LOWER,
        "(1/*M*) ∫ *F(t)* dt, *F* the part of the free whole GPUs that stand on partly used nodes; null without GPUs",
        of_schedule=Usage.fragmentation,
    ),
    Metric(
        "mean_partly_used_nodes", NODES, LOWER, "(1/*M*) ∫ nodes partly used at *t* dt; null without GPUs",
        of_schedule=Usage.partly_used_nodes,
    ),
    Metric(
        "nodes_per_job", NODES, LOWER,
        "mean number of nodes of the last segment, over jobs with GPUs; null without any",
        of_schedule=Usage.nodes_per_job,
    ),
    Metric(
        "load_imbalance", "0 – 0.25", LOWER, "(1/*M*) ∫ Var_h *u_h(t)* dt",
        of_schedule=Usage.load_imbalance,
    ),
    Metric(
        "completion_rate", SHARE, HIGHER, "jobs completed / all jobs, rejected and killed ones included",
        _completion_rate,
    ),
    Metric(
        "cancelled_jobs", COUNT, LOWER, "jobs that left the queue before they had started; null where none can",
        lambda jobs: np.where(jobs.may_leave, np.sum(jobs.cancelled, axis=-1), np.nan),
    ),
    Metric(
        "mean_queue_length", "jobs", LOWER, "(1/*M*) ∫ jobs waiting at *t* dt",
        # The integral of the queue's length is the time that all jobs waited, added up.
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
        of_schedule=Usage.preemptions,
    ),
    Metric(
        "failures", COUNT, LOWER, "how often a node failed under a job",
        of_schedule=Usage.failures,
    ),
    Metric(
        "migrations", COUNT, LOWER, "starts after a stop on another set of nodes than before",
        of_schedule=Usage.migrations,
    ),
    Metric("lost_gpu_hours", "GPU·h", LOWER, "Σ *gᵢ lᵢ* / 3600 s; null without GPUs", _lost_gpu_hours),
    Metric(
        "milp_fallbacks", COUNT, LOWER,
        "how often the solver of `milp` gave no placement, so that `tiered-defrag` stood in; null under others",
        of_schedule=Usage.milp_fallbacks,
    ),
)  # fmt: skip

METRICS: Final = {metric.name: metric for metric in _TABLE}
"""All metrics by name, in the order in which they are printed."""
