"""Think times: who submits a job some time after another has ended does so when that ends, in a simulation too."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from shunter.errors import InputError
from shunter.model.conditions import waits_from_s
from shunter.model.needs import FOLLOWS, Need, parse_needs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.model.workload import Workload

THINK_LIMIT_S: Final = 1200.0
"""Who comes back later than this, 20 minutes, has not waited for the job: so batches of one session are told apart."""
NOBODY: Final = -1
_MILLI: Final = 1000


@dataclass(frozen=True)
class ThinkTimes:
    """Which jobs follow which others, by their places in the table."""

    followed: NDArray[np.int64]
    """By job: the one after whose end it is submitted, or `NOBODY`."""
    think_ms: NDArray[np.int64]
    """By job: how long after it; 0 where it follows nobody."""
    limit_s: float

    def count(self, start: int, jobs: int) -> int:
        """Returns how many of so many jobs from a place on follow one of them."""
        return int(np.count_nonzero(self.followed[start : start + jobs] >= start))


def find_think_times(workload: Workload, limit_s: float = THINK_LIMIT_S) -> ThinkTimes:
    """Returns who follows whom in a log.

    A job follows the one that the log names (fields 17 and 18 of SWF). Otherwise it follows that job of its user which
    had ended last when it was submitted, if that was at most `limit_s` before. A job that may leave the queue at a
    time of its own (``cancel_s``) follows nobody.

    Raises:
        InputError: The limit is not a time, or the log does not tell users or when jobs ended.
    """
    if not limit_s >= 0:
        raise InputError(f"--think-limit (think_limit_s) is {limit_s:g}; expected a time of 0 s or more, such as 20m")
    jobs = workload.jobs
    end_ms = _whole(waits_from_s(jobs)) + _whole(jobs["logged_wait_s"]) + _whole(jobs["run_s"])
    by_log = _told(jobs, end_ms)
    what = None
    if jobs["logged_wait_s"].null_count() == len(workload):
        what = "does not say when jobs ended (no logged wait; a log whose arrivals were scaled with --load has none)"
    elif jobs["user"].null_count() == len(workload):
        what = "names no users"
    if what is not None and by_log.followed.max(initial=NOBODY) == NOBODY:
        raise InputError(f"{workload.name}: {what}, so that think times are not known; leave --think-times out")
    by_user = _last_of_user(jobs, end_ms, limit_s)
    is_told = by_log.followed != NOBODY
    followed = np.where(is_told, by_log.followed, by_user.followed)
    think_ms = np.where(is_told, by_log.think_ms, by_user.think_ms)
    stays = np.array([not _can_be_named(str(job)) for job in jobs["job_id"].to_list()])[followed]
    if "cancel_s" in jobs.columns:
        stays |= jobs["cancel_s"].is_not_null().to_numpy()
    # A job can follow only one that came before it.
    stays |= followed >= np.arange(len(workload))
    return ThinkTimes(np.where(stays, NOBODY, followed), np.where(stays | (followed == NOBODY), 0, think_ms), limit_s)


def with_think_times(workload: Workload, found: ThinkTimes) -> Workload:
    """Returns the log with jobs that are submitted their think times after the ends of those that they follow.

    Submit times stay what they were: the order of the table goes by them, and they hold for all other jobs.
    """
    jobs = workload.jobs
    ids = jobs["job_id"].cast(pl.String).to_list()
    cells = jobs["depends_on"].to_list() if "depends_on" in jobs.columns else [None] * len(workload)
    for row in np.flatnonzero(found.followed != NOBODY).tolist():
        need = f"{FOLLOWS}:{Need(FOLLOWS, ids[found.followed[row]], int(found.think_ms[row])).word}"
        cells[row] = need if cells[row] is None else f"{cells[row]},{need}"
    return replace(workload, jobs=jobs.with_columns(pl.Series("depends_on", cells, dtype=pl.String)))


def _whole(seconds: pl.Series) -> NDArray[np.float64]:
    """Returns times in whole milliseconds, as the core has them; NaN where they are unknown."""
    whole: NDArray[np.float64] = np.rint(seconds.cast(pl.Float64).fill_null(float("nan")).to_numpy() * _MILLI)
    return whole


def _told(jobs: pl.DataFrame, end_ms: NDArray[np.float64]) -> ThinkTimes:
    """Returns whom jobs follow as the log says it."""
    nobody = np.full(jobs.height, NOBODY, dtype=np.int64)
    if "preceding_job_id" not in jobs.columns or jobs["preceding_job_id"].null_count() == jobs.height:
        return ThinkTimes(nobody, np.zeros_like(nobody), np.inf)
    row_of = {str(job): row for row, job in enumerate(jobs["job_id"].to_list())}
    named = jobs["preceding_job_id"].to_list()
    followed = np.array([NOBODY if job is None else row_of.get(str(job), NOBODY) for job in named])
    think_ms = _whole(jobs["think_time_s"]) if "think_time_s" in jobs.columns else np.full(jobs.height, np.nan)
    # Where it names the job alone, its end tells the time.
    think_ms = np.where(np.isnan(think_ms), _whole(jobs["submit_s"]) - end_ms[followed], think_ms)
    is_known = (followed != NOBODY) & (think_ms >= 0)
    return ThinkTimes(np.where(is_known, followed, NOBODY), np.where(is_known, think_ms, 0).astype(np.int64), np.inf)


def _last_of_user(jobs: pl.DataFrame, end_ms: NDArray[np.float64], limit_s: float) -> ThinkTimes:
    """Returns which job of its user had ended last when each was submitted, if that was not long before."""
    rows = pl.Series("row", np.arange(jobs.height))
    ended = pl.DataFrame([rows.alias("followed"), jobs["user"], pl.Series("end_ms", end_ms).fill_nan(None)])
    came = pl.DataFrame([rows, jobs["user"], pl.Series("end_ms", _whole(jobs["submit_s"]))])
    last = ended.drop_nulls().sort("end_ms", maintain_order=True).with_columns(last_ms="end_ms")
    found = came.join_asof(last, on="end_ms", by="user", check_sortedness=False).sort("row")
    think_ms = found["end_ms"] - found["last_ms"]
    follows = (think_ms <= limit_s * _MILLI) & jobs["user"].is_not_null()
    followed = found["followed"].set(~follows, None).fill_null(NOBODY)
    return ThinkTimes(followed.to_numpy(), think_ms.fill_null(0).cast(pl.Int64).to_numpy(), limit_s)


def _can_be_named(job: str) -> bool:
    """Returns whether a dependency can name a job: ids with commas or colons cannot be told from several."""
    try:
        return list(parse_needs(f"{FOLLOWS}:{Need(FOLLOWS, job).word}")) == [Need(FOLLOWS, job)]
    except ValueError:
        return False
