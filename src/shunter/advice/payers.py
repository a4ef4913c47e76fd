"""Who pays: what becomes of the waits of users and of jobs by size, on the later days as one stretch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from shunter.metrics.run import run_log
from shunter.metrics.run_folder import build_manifest, write_run
from shunter.metrics.sizes import used_resources
from shunter.workloads.statistics import with_sizes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from shunter.advice.kept import Kept, Object
    from shunter.advice.request import AdviseRequest
    from shunter.advice.site import Site
    from shunter.comparison.combinations import Combination
    from shunter.metrics.run import Run
    from shunter.model.windows import Windows

RUNS: Final = "runs"
MOST_JOBS: Final = 20_000
"""So many of the later jobs are simulated as one stretch: enough for a Gantt chart, and to see who pays."""
SHOWN: Final = 10
"""How many users are told by name."""
HOUR_S, WEEK_S = 3600.0, 604_800.0


@dataclass(frozen=True)
class Ran:
    """One way to schedule on the later days as one stretch."""

    run: Run
    warmup: int
    """So many jobs at its beginning fill the cluster, and do not count."""

    @property
    def told(self) -> Object:
        """The run as a plain object."""
        result = self.run.result()
        return {"metrics": result["metrics"], "jobs": result["jobs"], "warmup": self.warmup}

    def waits(self) -> pl.DataFrame:
        """Returns one row a job that counts: its wait, its size, its user."""
        schedule = self.run.schedule
        jobs = with_sizes(schedule.workload.jobs)
        resource = used_resources(self.run.log.workload, self.run.log.cluster)[0].name
        waited_s = schedule.turnaround_s - schedule.held_ms / 1000.0
        frame = jobs.select("user", size=pl.col(resource)).with_columns(
            wait_s=pl.Series(waited_s), counts=pl.Series(schedule.ended)
        )
        return frame.slice(self.warmup).filter(pl.col("counts"))


def run_object(request: AdviseRequest, site: Site, kept: Kept, windows: Windows, name: str, one: Combination) -> Ran:
    """Simulates the later days as one stretch, as they are judged, and writes the folder of the run."""
    first, judged = int(windows.first[0]), len(windows) * windows.length
    warmup = min(site.days.warmup, first)
    start, length = first - warmup, warmup + min(judged, MOST_JOBS)
    given = {"workload": " ".join(request.files), "cluster": request.cluster, "start": start, "length": length}
    run = run_log(site.log, one.scheduler, start=start, length=length, arguments=given)
    manifest = build_manifest(run.schedule, given, run.resolved(), one.scheduler.files)
    write_run(kept.path(RUNS) / name, run.schedule, run.result(), manifest)
    return Ran(run, warmup)


def who_pays(ran: Mapping[str, Ran]) -> Object | None:
    """Returns what becomes of waits, under what the site runs and what is advised; None: these are the same."""
    if "advised" not in ran:
        return None
    before, after = ran["today"].waits(), ran["advised"].waits()
    users = _by(before, after, "user")
    known = users.filter(pl.col("name").is_not_null() & (pl.col("jobs") > 0)).sort("lost_hours", descending=True)
    worse = known.filter(pl.col("after_s") > pl.col("before_s"))
    classes = [frame.with_columns(user=_size_class(frame["size"].to_numpy())) for frame in (before, after)]
    sizes = _by(classes[0], classes[1], "user").sort("order")
    return {
        "jobs": before.height,
        "longest_s": {"today": _most(before), "advised": _most(after)},
        "longer_share": int((after["wait_s"] > before["wait_s"]).sum()) / max(before.height, 1)
        if before.height == after.height
        else None,
        "size_of": used_resources(ran["today"].run.log.workload, ran["today"].run.log.cluster)[0].name,
        "sizes": sizes.drop("order").to_dicts(),
        "users": known.height,
        "users_worse": worse.height,
        "most_lost": worse.head(SHOWN).drop("order").to_dicts(),
        "most_gained": known.tail(SHOWN).reverse().filter(pl.col("lost_hours") < 0).drop("order").to_dicts(),
    }


def _by(before: pl.DataFrame, after: pl.DataFrame, column: str) -> pl.DataFrame:
    """Returns for each name its jobs, its mean waits before and after, and the hours that it loses in all."""
    first, second = (
        frame.group_by(column).agg(
            jobs=pl.len(), order=pl.col("size").min(), mean_s=pl.col("wait_s").mean(), sum_s=pl.col("wait_s").sum()
        )
        for frame in (before, after)
    )
    both = first.join(second, on=column, how="inner", suffix="_after", nulls_equal=True)
    return both.select(
        name=pl.col(column),
        jobs="jobs",
        order="order",
        before_s="mean_s",
        after_s="mean_s_after",
        lost_hours=(pl.col("sum_s_after") - pl.col("sum_s")) / HOUR_S,
    ).sort("name")


def _size_class(sizes: NDArray[np.float64]) -> pl.Series:
    """Returns classes of sizes in words: ``1``, ``2 to 3``, ``4 to 7`` and so on."""
    power = np.floor(np.log2(np.maximum(sizes, 1.0))).astype(np.int64)
    words = ["1 or less" if p == 0 else f"{2**p} to {2 ** (p + 1) - 1}" for p in power.tolist()]
    return pl.Series(words, dtype=pl.String)


def _most(frame: pl.DataFrame) -> float:
    return float(frame["wait_s"].max() or 0.0)  # type: ignore[arg-type]
