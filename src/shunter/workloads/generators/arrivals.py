"""When jobs arrive: steadily, in batches, or in batches that follow the time of day and the day of the week."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shunter.workloads.generators.drawing import stretch_to_span

ARRIVALS: Final = ("steady", "bursty", "diurnal")
HOUR_S: Final = 3600.0
WEEK_HOURS: Final = 168


@dataclass(frozen=True)
class Batches:
    """Some jobs come alone, the others in batches, as when somebody tries many settings."""

    share: float
    """The share of the jobs that come in batches."""
    size: float
    """The mean number of jobs in a batch, which is geometric."""
    gap_s: float
    """The mean gap between the jobs of a batch, which is exponential."""

    def members(self, stream: np.random.Generator, jobs: int) -> NDArray[np.intp]:
        """Returns each job's batch, counted from 0; a job that comes alone is a batch of its own."""
        # The share counts jobs, but what is drawn are beginnings: a batch has one for all of its jobs.
        chance = self.share / (self.share + self.size * (1 - self.share))
        lengths = np.where(stream.random(jobs) < chance, stream.geometric(1 / self.size, jobs), 1)
        # More batches were drawn than needed; the last one is cut short.
        lengths = lengths[: np.searchsorted(lengths.cumsum(), jobs) + 1]
        return np.repeat(np.arange(lengths.size), lengths)[:jobs]

    @property
    def mean_size(self) -> float:
        """The mean number of jobs in a batch, where a job that comes alone counts as a batch."""
        return 1 / (1 - self.share + self.share / self.size)


STEADY: Final = Batches(share=0.0, size=1.0, gap_s=0.0)
"""Every job comes alone: a Poisson process."""


@dataclass(frozen=True)
class Rhythm:
    """How busy the hours of the day and the days of the week are; time 0 is the midnight before a Monday."""

    hours: tuple[float, ...]
    """24 weights."""
    days: tuple[float, ...]
    """7 weights, from Monday on."""

    @cached_property
    def _passed_s(self) -> NDArray[np.float64]:
        """How much even time has passed at each hour's end; a week has as much of it as of real time."""
        # An hour's weight is that of its day times that of its time of day.
        weights = np.outer(self.days, self.hours).ravel()
        return np.concatenate(([0.0], weights.cumsum() / weights.mean() * HOUR_S))

    def time_s(self, even_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Returns real times: even arrivals become dense in busy hours and sparse in others."""
        week_s = WEEK_HOURS * HOUR_S
        weeks, rest_s = np.divmod(even_s, week_s)
        in_week: NDArray[np.float64] = np.interp(rest_s, self._passed_s, np.arange(WEEK_HOURS + 1) * HOUR_S)
        return weeks * week_s + in_week


STILL: Final = Rhythm((1.0,) * 24, (1.0,) * 7)
"""No hour is busier than another."""


def draw_arrivals(
    streams: tuple[np.random.Generator, np.random.Generator],
    jobs: int,
    mean_gap_s: float,
    batches: Batches,
    rhythm: Rhythm,
    span_s: float | None = None,
) -> NDArray[np.float64]:
    """Returns submit times in order.

    Args:
        streams: For the batches, and for the gaps.
        jobs: How many.
        mean_gap_s: Between jobs, over a long time.
        batches: Which of them come together.
        rhythm: Which hours are busy.
        span_s: How long it is from the first to the last, in place of what the mean gap gives; hours stay hours.
    """
    of_batches, of_gaps = streams
    batch = batches.members(of_batches, jobs)
    is_first = np.diff(batch, prepend=-1) > 0
    begin_s = of_gaps.exponential(batches.mean_size * mean_gap_s, int(batch[-1]) + 1).cumsum()
    gaps_s = np.where(is_first, 0.0, of_gaps.exponential(batches.gap_s, jobs)).cumsum()
    # A long batch may still go on when the next one begins.
    even_s = np.sort(begin_s[batch] + gaps_s - gaps_s[is_first][batch])
    # Arrivals are stretched before the rhythm is applied, so that a day stays a day long at every load.
    if span_s is not None:
        even_s = even_s * stretch_to_span(even_s[[0, -1]], rhythm.time_s, span_s)
    return rhythm.time_s(even_s)
