"""What a log is like over time and by size, as plain numbers: what figures and pages draw of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from shunter.metrics.sizes import core_class
from shunter.model.fitting import can_ever_fit
from shunter.workloads.statistics import HOUR_S, UNKNOWN, with_sizes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.model.cluster import Cluster
    from shunter.model.workload import Workload
    from shunter.workloads.statistics import Description

DAY_S: Final = 86_400
BIN_WIDTHS: Final = (("hour", HOUR_S), ("day", DAY_S), ("week", 7 * DAY_S), ("year", 365 * DAY_S))
COUNT_BINS, LOAD_BINS = 400, 100
"""The first width is taken with which there are no more bins than this."""
EPOCH_WEEKDAY: Final = 3
"""The first of January 1970 was a Thursday."""
WEEK_HOURS: Final = 168
TOP: Final = 10
"""How many users are named."""
TIME_COLUMNS: Final = ("requested_s", "logged_wait_s", "run_s")
REQUEST_CELLS: Final = 40
"""Of the table of requested and used times, along each axis."""
PARTS: Final = (5, 25, 50, 75, 95)
"""The percentiles of run times by size."""


def log_profile(workload: Workload, cluster: Cluster | None, description: Description) -> dict[str, Any]:
    """Returns what a log is like, as a plain object: beside what `describe` tells, over time and by size.

    Args:
        workload: The jobs.
        cluster: Where they ran; None where it is not known, and then there is no load.
        description: What `describe` says of the workload.
    """
    jobs = sized_jobs(workload, description)
    column = owner_column(jobs)
    return {
        "description": description.to_json(),
        "arrivals": _arrivals(jobs, description),
        "load": None if cluster is None else _load(jobs, cluster, description),
        "week": [None if np.isnan(mean) else float(mean) for mean in week_means(jobs, description)],
        "times": {
            name: time_quantiles(jobs, name, 201).tolist()
            for name in TIME_COLUMNS
            if jobs[name].null_count() < jobs.height
        },
        "sizes": _sizes(jobs),
        "requests": _requests(jobs) if description.told["requested times"] else None,
        "run_s_by_size": run_times_by_size(jobs, size_classes(jobs)[1]).to_dict(as_series=False),
        "owners": None if column is None else {"column": column, **owner_shares(jobs, column).to_dict(as_series=False)},
    }


def _is_told(jobs: pl.DataFrame, column: str) -> bool:
    return jobs[column].null_count() < jobs.height


def sized_jobs(workload: Workload, description: Description) -> pl.DataFrame:
    """Returns the jobs with their ``size``, in what the description counts, and their ``work``: size times seconds."""
    jobs = with_sizes(workload.jobs).with_columns(size=pl.col(description.sizes_of))
    return jobs.with_columns(work=pl.col("size") * pl.col("run_s"))


def size_unit(description: Description) -> str:
    """Returns what sizes are counted in, as people have it."""
    return "GPU" if description.sizes_of == "gpus" else "core"


def arrival_bins(
    jobs: pl.DataFrame, description: Description, most: int
) -> tuple[str, float, NDArray[np.int64], NDArray[np.float64]]:
    """Returns the name and the width of bins, in which each job comes, and their edges in seconds of the log."""
    begin_s, span_s, offset_s = description.first_submit_s, description.span_s, description.clock.offset_s
    # The narrowest that people have a word for and that leaves no more bins than can be seen.
    name, width_s = next((one for one in BIN_WIDTHS if span_s <= most * one[1]), ("part", span_s / most))
    if description.dates is not None:
        # Days begin at midnight, and hours on the hour.
        begin_s -= (begin_s + offset_s) % width_s
    place = ((jobs["submit_s"].to_numpy() - begin_s) // width_s).astype(np.int64)
    return name, width_s, place, begin_s + width_s * np.arange(place[-1] + 2, dtype=np.float64)


def _arrivals(jobs: pl.DataFrame, description: Description) -> dict[str, Any]:
    name, width_s, place, edges_s = arrival_bins(jobs, description, COUNT_BINS)
    return {"bin": name, "width_s": width_s, "edges_s": edges_s.tolist(), "jobs": np.bincount(place).tolist()}


def _load(jobs: pl.DataFrame, cluster: Cluster, description: Description) -> dict[str, Any]:
    name, width_s, place, edges_s = arrival_bins(jobs, description, LOAD_BINS)
    load = np.bincount(place, weights=full_cluster_s(jobs, cluster)) / width_s
    return {"bin": name, "width_s": width_s, "edges_s": edges_s.tolist(), "load": load.tolist()}


def full_cluster_s(jobs: pl.DataFrame, cluster: Cluster) -> NDArray[np.float64]:
    """Returns for how long each job would hold all of the cluster; what can never fit holds nothing."""
    fits = can_ever_fit(jobs, cluster)
    loads_s = [
        (jobs[amount] * jobs["run_s"]).to_numpy() * fits / total
        for amount, total in (("cores", cluster.total_cores), ("gpus", cluster.total_gpus))
        if total
    ]
    # The resource that binds is the load of the cluster.
    return max(loads_s, key=np.sum)


def week_means(jobs: pl.DataFrame, description: Description) -> NDArray[np.float64]:
    """Returns how many jobs come in each hour of a week, from Monday on; NaN for an hour that the log has not.

    Where the log's seconds are no dates, the week begins with the first day.
    """
    known = description.dates is not None
    times_s = jobs["submit_s"].to_numpy() + description.clock.offset_s
    hours = (times_s // HOUR_S).astype(np.int64) + (24 * EPOCH_WEEKDAY if known else 0)
    # How often each hour of the week lies in the span.
    whole, rest = divmod(int(hours[-1] - hours[0]) + 1, WEEK_HOURS)
    often = np.full(WEEK_HOURS, whole) + ((np.arange(WEEK_HOURS) - hours[0]) % WEEK_HOURS < rest)
    return np.asarray(np.bincount(hours % WEEK_HOURS, minlength=WEEK_HOURS) / np.where(often, often, np.nan))


def time_quantiles(jobs: pl.DataFrame, column: str, count: int) -> NDArray[np.float64]:
    """Returns so many quantiles of a column of times, from the least to the largest; what is below 1 s is 1 s."""
    known_s = jobs[column].drop_nulls().to_numpy()
    # Quantiles that occur in the log: between two common run times there is nothing to interpolate.
    return np.asarray(np.maximum(np.quantile(known_s, np.linspace(0, 1, count), method="inverted_cdf"), 1.0))


def size_classes(jobs: pl.DataFrame) -> tuple[list[str], NDArray[np.int64]]:
    """Returns the names of the size classes, which are powers of two, and the class of each job."""
    size = jobs["size"].to_numpy()
    classes = core_class(size) + 1
    classes[size == 0] = 0
    names = ["0", "≤ 1", *(_power_of_two(power) for power in range(1, int(classes.max())))]
    # Where all jobs have some, there is no class of those that have none.
    least = int(size.min() > 0)
    return names[least : int(classes.max()) + 1], classes - least


def _power_of_two(power: int) -> str:
    return f"{2**power}" if power < 10 else f"{2 ** (power - 10)}k" if power < 20 else f"{2 ** (power - 20)}M"


def size_shares(jobs: pl.DataFrame) -> tuple[list[str], NDArray[np.float64], NDArray[np.float64]]:
    """Returns the names of the size classes, the share of each of the jobs, and of the work."""
    names, classes = size_classes(jobs)
    of_jobs, of_work = (
        np.bincount(classes, weights=weights, minlength=len(names)) / (weights.sum() or 1.0)
        for weights in (np.ones(jobs.height), jobs["work"].to_numpy())
    )
    return names, of_jobs, of_work


def _sizes(jobs: pl.DataFrame) -> dict[str, Any]:
    names, of_jobs, of_work = size_shares(jobs)
    return {"names": names, "jobs": of_jobs.tolist(), "work": of_work.tolist()}


def run_times_by_size(jobs: pl.DataFrame, classes: NDArray[np.int64]) -> pl.DataFrame:
    """Returns percentiles of the run times of each size class, with the number of the class as ``size``."""
    return (
        jobs.select("run_s", size=pl.Series(classes))
        .group_by("size")
        .agg(pl.col("run_s").quantile(part / 100, "nearest").alias(f"p{part}") for part in PARTS)
        .sort("size")
    )


def _requests(jobs: pl.DataFrame) -> dict[str, Any]:
    """Returns how many jobs have which requested and which used time, in cells of even width on logarithmic axes."""
    known = jobs.drop_nulls("requested_s")
    requested_s, run_s = (np.maximum(known[column].to_numpy(), 1.0) for column in ("requested_s", "run_s"))
    high = float(np.log10(1.5 * max(requested_s.max(), run_s.max(), 60.0)))
    edges = np.linspace(0.0, high, REQUEST_CELLS + 1)
    counts, _, _ = np.histogram2d(np.log10(run_s), np.log10(requested_s), bins=(edges, edges))
    return {"edges_s": (10**edges).tolist(), "jobs": counts.astype(np.int64).tolist()}


def owner_column(jobs: pl.DataFrame) -> str | None:
    """Returns the column that tells most of whose jobs these are; None where the log tells nothing."""
    # Some published logs have no users; what became of the jobs is the next best thing to know.
    return next((name for name in ("user", "status") if _is_told(jobs, name)), None)


def owner_shares(jobs: pl.DataFrame, column: str) -> pl.DataFrame:
    """Returns the shares of those with the most work, and of all others together: ``who``, ``jobs``, ``work``."""
    total = jobs["work"].sum() or 1.0
    every = (
        jobs.group_by(pl.col(column).fill_null(UNKNOWN).alias("who"))
        .agg(jobs=pl.len() / jobs.height, work=pl.col("work").sum() / total)
        .sort(["work", "jobs", "who"], descending=[True, True, False])
    )
    # One more user is named before "1 others" would be.
    if every.height <= TOP + 1:
        return every
    others = every.slice(TOP).select(
        pl.lit(f"{every.height - TOP:,} others").alias("who"), pl.col("jobs").sum(), pl.col("work").sum()
    )
    return pl.concat([every.head(TOP), others])
