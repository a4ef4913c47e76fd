"""A log in figures: number, sizes, run times, arrivals and owners of its jobs, and what the log does not tell."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from shunter.model.size import MILLI
from shunter.model.workload import UNIX_TIMES_FROM_S
from shunter.workloads.clock import Clock
from shunter.workloads.load import offered_load

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.model.cluster import Cluster
    from shunter.model.log import Ledger
    from shunter.model.workload import Workload

PERCENTILES: Final = (5, 25, 50, 75, 90, 95, 99)
COMMON_SIZES: Final = 10
"""How many of the most common sizes are told."""
HOUR_S: Final = 3600
DATES_UNTIL_S: Final = 4_102_444_800.0
"""The first second of 2100: what lies beyond is no date of a log."""
UNKNOWN: Final = "unknown"
"""What stands for the status of jobs that have none."""

COLUMN_WORDS: Final = {
    "requested_s": "requested times",
    "logged_wait_s": "waits",
    "memory_mb_per_task": "memory",
    "user": "users",
    "group": "groups",
    "queue": "queues",
    "partition": "partitions",
    "status": "statuses",
    "priority": "priorities",
}
"""What a log may or may not tell, in words."""
OWNERS: Final = {"users": "user", "groups": "group", "queues": "queue", "partitions": "partition"}
"""Kinds of owners of jobs, and the column that names the owner."""

Amounts = dict[str, float]
"""Figures by name, as they go into JSON."""


@dataclass(frozen=True)
class SizeShare:
    """Jobs of one size."""

    size: float
    share: float
    """The share of all jobs."""
    work_share: float | None
    """The share of all core-hours or GPU-hours; None where there are none."""


@dataclass(frozen=True)
class Description:
    """What a log is like."""

    name: str
    format: str | None
    sha256: str
    jobs: int
    cluster: Cluster | None
    first_submit_s: float
    last_submit_s: float
    dates: tuple[datetime, datetime] | None
    """The dates of the first and the last arrival; None where the log's seconds are no dates."""
    clock: Clock
    """What the log's seconds mean."""
    offered_load: float | None
    percentiles: dict[str, Amounts | None]
    """By the amount's name with unit: ``count``, ``mean``, ``p5`` and so on, ``max``; None where it is not told."""
    sizes_of: str
    """What sizes are counted in: ``gpus`` if any job has some, otherwise ``cores``."""
    sizes: tuple[SizeShare, ...]
    """The most common first."""
    serial_share: float
    """Jobs of at most one core, or GPU where sizes are counted in these."""
    owners: dict[str, dict[str, Any] | None]
    """For users, groups, queues, partitions: ``count``, and the ``largest`` with its ``largest_share`` of the jobs."""
    statuses: dict[str, float]
    """The share of each, the most common first; empty where the log tells none."""
    arrivals: dict[str, float | None]
    """How evenly jobs come, see `describe_arrivals`."""
    beyond_request_jobs: int
    """Jobs that run longer than requested."""
    median_run_to_request: float | None
    told: dict[str, float]
    """For how much of the jobs the log tells what, by words such as ``users``."""
    ledger: Ledger = field(repr=False)

    @property
    def span_s(self) -> float:
        """From the first arrival to the last."""
        return self.last_submit_s - self.first_submit_s

    @property
    def absent(self) -> list[str]:
        """What the log tells of no job, in words."""
        return [word for word, share in self.told.items() if not share]

    def to_json(self) -> dict[str, Any]:
        """Returns a plain object."""
        cluster = self.cluster
        first, last = (None, None) if self.dates is None else (date.isoformat(" ") for date in self.dates)
        return {
            "workload": self.name,
            "format": self.format,
            "workload_sha256": self.sha256,
            "jobs": self.jobs,
            "first_submit_s": self.first_submit_s,
            "last_submit_s": self.last_submit_s,
            "first_submit": first,
            "last_submit": last,
            "clock": self.clock.meaning,
            "span_s": self.span_s,
            "cluster": cluster and {"name": cluster.name, "cores": cluster.total_cores, "gpus": cluster.total_gpus},
            "offered_load": self.offered_load,
            "percentiles": self.percentiles,
            "sizes_of": self.sizes_of,
            "sizes": [vars(size) for size in self.sizes],
            "serial_share": self.serial_share,
            **self.owners,
            "statuses": self.statuses,
            "arrivals": self.arrivals,
            "beyond_request_jobs": self.beyond_request_jobs,
            "median_run_to_request": self.median_run_to_request,
            "told": self.told,
            "absent": self.absent,
            "ledger": self.ledger.to_json(),
        }


def describe(workload: Workload, cluster: Cluster | None, clock: Clock | None = None) -> Description:
    """Returns what a log is like.

    Args:
        workload: The jobs.
        cluster: Where they ran; None where it is not known, and then there is no offered load.
        clock: What the log's seconds mean; by default times from 1990 on are UTC, and earlier ones no dates.
    """
    jobs = with_sizes(workload.jobs)
    submit_s = jobs["submit_s"]
    clock = clock or Clock(0, "UTC" if submit_s[0] >= UNIX_TIMES_FROM_S else "counted from the log's time 0")
    # Of a GPU cluster GPUs are the size that matters, of any other machine cores.
    sizes_of = counted_in(jobs)
    ratio = (jobs["run_s"] / jobs["requested_s"]).drop_nulls()
    return Description(
        name=workload.name,
        format=workload.format,
        sha256=workload.content_sha256,
        jobs=len(workload),
        cluster=cluster,
        first_submit_s=submit_s[0],
        last_submit_s=submit_s[-1],
        dates=_dates((submit_s[0], submit_s[-1]), clock),
        clock=clock,
        offered_load=None if cluster is None else offered_load(workload, cluster),
        percentiles=_percentiles(jobs),
        sizes_of=sizes_of,
        sizes=_sizes(jobs, sizes_of),
        serial_share=int((jobs[sizes_of] <= 1).sum()) / len(workload),
        owners={name: _owner(jobs[column]) for name, column in OWNERS.items()},
        statuses=_statuses(jobs["status"]),
        arrivals=describe_arrivals(submit_s),
        beyond_request_jobs=int((jobs["run_s"] > jobs["requested_s"]).sum()),
        median_run_to_request=_ranked(ratio.sort(), 50) if len(ratio) else None,
        told=_told(jobs),
        ledger=workload.ledger,
    )


def with_sizes(jobs: pl.DataFrame) -> pl.DataFrame:
    """Returns jobs with what each asks for over all its tasks: ``cores``, ``gpus`` and ``memory_mb``."""
    tasks = pl.col("tasks")
    return jobs.with_columns(
        cores=tasks * pl.col("cores_per_task"),
        gpus=tasks * pl.col("gpus_per_task"),
        memory_mb=tasks * pl.col("memory_mb_per_task"),
    )


def counted_in(jobs: pl.DataFrame) -> str:
    """Returns what sizes of jobs are counted in: ``gpus`` if a tenth of the jobs has some, otherwise ``cores``."""
    return "gpus" if 10 * int((jobs["gpus_per_task"] > 0).sum()) >= jobs.height else "cores"


def _dates(times_s: Iterable[float], clock: Clock) -> tuple[datetime, datetime] | None:
    """Returns the first and the last time as dates, without a fraction of a second."""
    first_s, last_s = (math.floor(time_s + clock.offset_s) for time_s in times_s)
    if not UNIX_TIMES_FROM_S <= first_s <= last_s < DATES_UNTIL_S:
        return None
    first, last = (datetime.fromtimestamp(time_s, timezone.utc).replace(tzinfo=None) for time_s in (first_s, last_s))
    return first, last


def _percentiles(jobs: pl.DataFrame) -> dict[str, Amounts | None]:
    names = ("run_s", "requested_s", "logged_wait_s", "cores", "gpus", "memory_mb")
    gaps = jobs["submit_s"].diff().alias("gap_s")
    return {values.name: _distribution(values) for values in (*(jobs[name] for name in names), gaps)}


def _distribution(values: pl.Series) -> Amounts | None:
    # Sorted once for all percentiles.
    known = values.drop_nulls().sort()
    if not len(known):
        return None
    percentiles = {f"p{percent}": _ranked(known, percent) for percent in PERCENTILES}
    return {"count": len(known), "mean": float(np.mean(known.to_numpy())), **percentiles, "max": float(known[-1])}


def _ranked(known: pl.Series, percent: int) -> float:
    """Returns a percentile of sorted values by nearest rank: the least value that so many percent do not exceed."""
    return float(known[max(math.ceil(len(known) * percent / 100), 1) - 1])


def _sizes(jobs: pl.DataFrame, sizes_of: str) -> tuple[SizeShare, ...]:
    # Whole milliseconds add up exactly, in whatever order.
    run_ms = (pl.col("run_s") * MILLI).round().cast(pl.Int64).sum()
    sizes = jobs.group_by(sizes_of).agg(pl.len().alias("jobs"), run_ms.alias("run_ms"))
    sizes = sizes.with_columns(work=pl.col(sizes_of) * pl.col("run_ms"))
    work = math.fsum(sizes["work"].to_list())
    common = sizes.sort(["jobs", sizes_of], descending=[True, False]).head(COMMON_SIZES)
    return tuple(
        SizeShare(row[sizes_of], row["jobs"] / jobs.height, row["work"] / work if work else None)
        for row in common.iter_rows(named=True)
    )


def _owner(names: pl.Series) -> dict[str, Any] | None:
    known = names.drop_nulls()
    if not len(known):
        return None
    counts = _counted(known)
    name, count = counts.row(0)
    return {"count": counts.height, "largest": name, "largest_share": count / len(known)}


def _statuses(statuses: pl.Series) -> dict[str, float]:
    if statuses.null_count() == len(statuses):
        return {}
    counts = _counted(statuses.fill_null(UNKNOWN))
    return {name: count / len(statuses) for name, count in counts.iter_rows()}


def _counted(names: pl.Series) -> pl.DataFrame:
    """Returns each name with its count, the most common first, and those of one count by their names."""
    return names.alias("name").value_counts().sort(["count", "name"], descending=[True, False])


def describe_arrivals(submit_s: pl.Series) -> dict[str, float | None]:
    """Returns how evenly jobs come.

    ``gap_cv`` is the standard deviation of the gaps over their mean, ``hourly_dispersion`` the variance of the jobs an
    hour over their mean; both are 1 if jobs come independently of each other.
    """
    gaps_s = submit_s.diff().slice(1).to_numpy()
    mean_gap_s = float(gaps_s.mean()) if len(gaps_s) else 0.0
    # Runs of equal hours, for a span of centuries has too many empty ones to hold.
    in_hours = _run_lengths((submit_s - submit_s[0]) / HOUR_S)
    hours = math.floor((submit_s[-1] - submit_s[0]) / HOUR_S) + 1
    mean = len(submit_s) / hours
    # Hours without an arrival are in the mean, but need not be listed: their squares are 0.
    variance = float((in_hours**2).sum()) / hours - mean**2
    return {
        "gap_cv": float(gaps_s.std()) / mean_gap_s if mean_gap_s else None,
        "hourly_dispersion": variance / mean,
        "peak_to_mean_hour": float(in_hours.max()) / mean,
        "most_in_one_second": int(_run_lengths(submit_s).max()),
    }


def _run_lengths(times: pl.Series) -> NDArray[np.int64]:
    """Returns how many of the sorted times have the same whole part, for each whole part that there is."""
    return times.floor().rle().struct.field("len").cast(pl.Int64).to_numpy()


def _told(jobs: pl.DataFrame) -> dict[str, float]:
    told = {word: 1 - jobs[column].null_count() / jobs.height for column, word in COLUMN_WORDS.items()}
    # Logs of GPUs that say nothing of cores ask for none.
    return told | {"cores": float((jobs["cores_per_task"] > 0).any())}
