"""How good estimates of run times are: their error, what their order costs, and whether they mean what they say.

A run time or an estimate below 10 s counts as 10 s throughout, as in the bounded slowdown: what is shorter makes no
difference to anyone.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shunter.model.schedule import BOUNDED_SLOWDOWN_THRESHOLD_S

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]

NEAR_JOBS = 200
"""Jobs farther apart in the log than this hardly ever wait at the same time."""
MOST_PAIRS = 200_000
DECILES = 10


@dataclass(frozen=True)
class Decile:
    """About a tenth of the jobs, those whose estimates are alike."""

    jobs: int
    lowest_estimate_s: float
    median_estimate_s: float
    highest_estimate_s: float
    median_run_s: float
    """The true run time."""
    mean_run_s: float
    balanced_run_s: float
    """√(mean of r / mean of 1/r), which a posterior aims at: it lies between the harmonic and the arithmetic mean."""
    median_ratio: float
    """Of the median run time to the median estimate."""
    mean_ratio: float
    """Of the mean run time to the mean estimate."""
    balanced_ratio: float
    """Of the balanced run time to the estimates' own."""


@dataclass(frozen=True)
class Quality:
    """Estimates held against the true run times; an error is ln(estimate / run time)."""

    jobs: int
    mean_absolute_log_error: float
    root_mean_square_log_error: float
    log_bias: float
    """The mean error: above 0, run times are overestimated."""
    within_factor_two_share: float
    over_share: float
    under_share: float
    wrong_order_rate: float | None
    """Of pairs of jobs near each other, weighted with what the wrong order costs; None where none costs anything."""
    deciles: tuple[Decile, ...]

    def to_json(self) -> dict[str, Any]:
        """Returns the figures as a plain object."""
        return asdict(self)


def measure_quality(
    estimate_s: NDArray[np.float64], run_s: NDArray[np.float64], measured: NDArray[np.bool_], pairs: Pairs
) -> Quality | None:
    """Returns how good estimates are; None where there is nothing to measure.

    Args:
        estimate_s: The estimate of each job, in the order of the log.
        run_s: Its true run time.
        measured: Which jobs count.
        pairs: Pairs of jobs, from `near_pairs`; those of which both count are looked at.
    """
    if not measured.any():
        return None
    estimate_s, run_s = (np.maximum(seconds, BOUNDED_SLOWDOWN_THRESHOLD_S) for seconds in (estimate_s, run_s))
    first, second = pairs
    both = measured[first] & measured[second]
    wrong_order_rate = _wrong_order_rate(estimate_s, run_s, (first[both], second[both]))
    estimate_s, run_s = estimate_s[measured], run_s[measured]
    error = np.log(estimate_s / run_s)
    return Quality(
        jobs=len(error),
        mean_absolute_log_error=float(np.abs(error).mean()),
        root_mean_square_log_error=float(np.sqrt(np.square(error).mean())),
        log_bias=float(error.mean()),
        within_factor_two_share=float(np.mean((estimate_s <= 2 * run_s) & (run_s <= 2 * estimate_s))),
        over_share=float(np.mean(estimate_s > run_s)),
        under_share=float(np.mean(estimate_s < run_s)),
        wrong_order_rate=wrong_order_rate,
        deciles=_deciles(estimate_s, run_s),
    )


def near_pairs(jobs: int, seed: int) -> Pairs:
    """Returns pairs of jobs that are at most 200 apart in a log of `jobs` jobs: all pairs, or a sample of many."""
    widest = min(NEAR_JOBS, jobs - 1)
    gaps = np.arange(1, widest + 1)
    if (jobs - gaps).sum() <= MOST_PAIRS:
        gap = np.repeat(gaps, jobs - gaps)
        first = np.concatenate([np.arange(jobs - apart) for apart in range(1, widest + 1)] or [gap])
    else:
        random = np.random.default_rng(seed)
        gap = random.integers(1, widest, MOST_PAIRS, endpoint=True)
        first = random.integers(0, jobs - gap)
    return first, first + gap


def _wrong_order_rate(estimate_s: NDArray[np.float64], run_s: NDArray[np.float64], pairs: Pairs) -> float | None:
    """Returns the share of the weight of pairs that lies on wrongly ordered ones; equal estimates are half wrong."""
    first, second = pairs
    # A second of waiting adds the inverse of its run time to a job's bounded slowdown.
    gain = 1 / run_s[first] - 1 / run_s[second]
    weight = np.abs(gain)
    if not weight.sum():
        return None
    later = np.sign(estimate_s[first] - estimate_s[second])
    # 1 where the job that should go first has the larger estimate, 0 where it has the smaller, and a half for equal
    # ones.
    wrong = (1 + later * np.sign(gain)) / 2
    return float(np.average(wrong, weights=weight))


def _deciles(estimate_s: NDArray[np.float64], run_s: NDArray[np.float64]) -> tuple[Decile, ...]:
    """Returns the jobs by tenths of their estimates; equal ones stay together, so that there may be fewer than ten."""
    # Edges that are estimates themselves: many users ask for the same round time, and these jobs stay together.
    edges = np.quantile(estimate_s, np.arange(1, DECILES) / DECILES, method="inverted_cdf")
    place = np.searchsorted(edges, estimate_s, side="left")
    return tuple(_decile(estimate_s[place == number], run_s[place == number]) for number in np.unique(place))


def _decile(estimate_s: NDArray[np.float64], run_s: NDArray[np.float64]) -> Decile:
    median_run_s, mean_run_s, balanced_run_s = _middles(run_s)
    median_estimate_s, mean_estimate_s, balanced_estimate_s = _middles(estimate_s)
    return Decile(
        jobs=len(run_s),
        lowest_estimate_s=float(estimate_s.min()),
        median_estimate_s=median_estimate_s,
        highest_estimate_s=float(estimate_s.max()),
        median_run_s=median_run_s,
        mean_run_s=mean_run_s,
        balanced_run_s=balanced_run_s,
        median_ratio=median_run_s / median_estimate_s,
        mean_ratio=mean_run_s / mean_estimate_s,
        balanced_ratio=balanced_run_s / balanced_estimate_s,
    )


def _middles(seconds: NDArray[np.float64]) -> tuple[float, float, float]:
    """Returns the median, the mean, and the balanced mean."""
    return float(np.median(seconds)), float(seconds.mean()), float(np.sqrt(seconds.mean() / (1 / seconds).mean()))
