"""Why jobs waited, as far as their schedule alone tells it: what was free and who was there when each could first run.

It costs next to nothing, also for a hundred thousand jobs. `explanation.py` finds out exactly, for one job at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.metrics.record import Record

AT_ONCE, HELD, NO_ROOM, IN_ORDER, NEVER_RAN = range(5)
"""It started as soon as it could; it might not run earlier; too little was free when it came; enough was free, but
others stood before it or room lay scattered; it never ran."""
NO_WAIT_MS: Final = 1000.0
"""Up to so long is no wait."""
CHUNK: Final = 512
"""So many starts are held against each other at once."""


@dataclass(frozen=True)
class Waiting:
    """What was so when each job could first run; arrays have one entry a job."""

    reason: NDArray[np.int64]
    """One of `AT_ONCE` to `NEVER_RAN`."""
    start_ms: NDArray[np.float64]
    """The first start; NaN where there is none."""
    free: NDArray[np.float64]
    """Cores or GPUs that were free in all."""
    ahead: NDArray[np.int64]
    """How many jobs were waiting already."""
    passed_by: NDArray[np.int64]
    """How many jobs that were submitted later started before it."""


def look_at_waits(record: Record, amount: NDArray[np.float64], total: float) -> Waiting:
    """Returns what was so when each job of a run could first run.

    Args:
        record: Of the run.
        amount: What each job holds of what counts: cores or GPUs.
        total: What the cluster has of it.
    """
    segments, jobs = record.segments, len(record)
    start_ms = np.full(jobs, np.nan)
    # The first segment of each job comes last here, and stays.
    start_ms[segments.job[::-1]] = segments.start_ms[::-1]
    ran = np.isfinite(start_ms)
    eligible_ms = np.where(np.isfinite(record.eligible_ms), record.eligible_ms, record.submit_ms)
    free = total - _level(segments.start_ms, segments.end_ms, amount[segments.job], eligible_ms)
    ahead = np.searchsorted(np.sort(eligible_ms), eligible_ms) - np.searchsorted(np.sort(start_ms[ran]), eligible_ms)
    waited_ms = start_ms - eligible_ms
    reason = np.where(free + 1e-9 < amount, NO_ROOM, IN_ORDER)
    at_once = waited_ms <= NO_WAIT_MS
    reason[at_once] = AT_ONCE
    reason[at_once & (eligible_ms - record.submit_ms > NO_WAIT_MS)] = HELD
    reason[~ran] = NEVER_RAN
    return Waiting(
        reason, start_ms, np.maximum(free, 0.0), np.maximum(ahead, 0), _passed_by(record.submit_ms, start_ms)
    )


def _level(
    start_ms: NDArray[np.float64], end_ms: NDArray[np.float64], amount: NDArray[np.float64], at_ms: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Returns what is in use at some instants, after what ends then and before what starts then."""

    def summed(time_ms: NDArray[np.float64], side: Literal["left", "right"]) -> NDArray[np.float64]:
        order = np.argsort(time_ms, kind="stable")
        sums = np.concatenate([[0.0], np.cumsum(amount[order])])
        return np.asarray(sums[np.searchsorted(time_ms[order], at_ms, side=side)], dtype=np.float64)

    return summed(start_ms, "left") - summed(end_ms, "right")


def _passed_by(submit_ms: NDArray[np.float64], start_ms: NDArray[np.float64]) -> NDArray[np.int64]:
    """Returns for each job how many that were submitted later started earlier."""
    found = np.zeros(len(submit_ms), dtype=np.int64)
    # Of those that start at the same time, who was submitted first comes first, and has passed nobody by.
    order = np.lexsort((submit_ms, start_ms))[: int(np.isfinite(start_ms).sum())]
    earlier = np.empty(0)
    for first in range(0, len(order), CHUNK):
        rows = order[first : first + CHUNK]
        own_ms, own_start_ms = submit_ms[rows], start_ms[rows]
        before = len(earlier) - np.searchsorted(earlier, own_ms, side="right")
        inside = (own_ms[None, :] > own_ms[:, None]) & (own_start_ms[None, :] < own_start_ms[:, None])
        found[rows] = before + inside.sum(axis=1)
        earlier = np.sort(np.concatenate([earlier, own_ms]), kind="stable")
    return found
