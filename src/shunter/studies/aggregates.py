"""What many trainings come to: means and interquartile means with intervals, and which of two is better.

A score is the natural logarithm of a ratio: a policy's metric to that of what it is held against. Lower is better, and
0 is as good. A stratum holds the scores of one log, one for each seed.

Interquartile means and probabilities of improvement follow Agarwal et al., "Deep reinforcement learning at the edge of
the statistical precipice" (2021), with their stratified bootstrap: seeds are drawn anew within each log. So intervals
tell what other seeds could have given on the same days of the same logs, and nothing of other days.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shunter.comparison.statistics import interval_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

RESAMPLES: Final = 5_000
LEAST_SEEDS: Final = 3
"""With fewer seeds on a log there is no interval: two seeds tell next to nothing of how much seeds differ."""
STUDENT: Final = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
"""The 97.5 % quantile of Student's t distribution for 1, 2, 3 ... degrees of freedom."""

Strata = Sequence[Sequence[float]]


@dataclass(frozen=True)
class Estimate:
    """A number, and how sure it is."""

    value: float
    interval: tuple[float, float] | None = None
    """95 %; None: there are too few seeds for one."""

    def exp(self) -> Estimate:
        """Returns the ratio whose logarithm this is."""
        bounds = self.interval
        return Estimate(math.exp(self.value), bounds and (math.exp(bounds[0]), math.exp(bounds[1])))

    def to_json(self) -> dict[str, Any]:
        """Returns the estimate as a plain object."""
        low, high = self.interval or (None, None)
        return {"value": self.value, "low": low, "high": high}


def mean(scores: Sequence[float]) -> Estimate:
    """Returns the mean over seeds with Student's interval, which is right for few seeds too.

    Args:
        scores: One for each seed; at least one.
    """
    count = len(scores)
    center = float(np.mean(scores))
    if count < LEAST_SEEDS:
        return Estimate(center)
    freedom = count - 1
    quantile = STUDENT[freedom - 1] if freedom <= len(STUDENT) else NormalDist().inv_cdf(0.975)
    half = quantile * float(np.std(scores, ddof=1)) / math.sqrt(count)
    return Estimate(center, (center - half, center + half))


def interquartile_mean(strata: Strata, seed: int = 0) -> Estimate:
    """Returns the mean of the middle half of all scores, with an interval by the stratified bootstrap.

    Args:
        strata: The scores of each log; each has at least one.
        seed: For what is drawn.
    """

    def draws() -> NDArray[np.float64]:
        return _middle_mean(np.hstack(_drawn(strata, np.random.default_rng(seed))))

    return _with_interval(float(_middle_mean(np.concatenate(strata))), strata, draws)


def probability_of_improvement(ours: Strata, theirs: Strata, seed: int = 0) -> Estimate:
    """Returns how likely a training of ours beats one of theirs on a log, the mean over logs; ties count half.

    Args:
        ours: The scores of each log.
        theirs: Those of the other, log by log.
        seed: For what is drawn.
    """
    pairs = list(zip(ours, theirs, strict=True))
    random = np.random.default_rng(seed)

    def draws() -> NDArray[np.float64]:
        sides = [_drawn(side, random) for side in (ours, theirs)]
        return np.asarray(np.mean([_better(a, b) for a, b in zip(*sides, strict=True)], axis=0))

    value = np.mean([_better(np.asarray([a]), np.asarray([b]))[0] for a, b in pairs])
    return _with_interval(float(value), [*ours, *theirs], draws)


def _with_interval(value: float, strata: Strata, draws: Callable[[], NDArray[np.float64]]) -> Estimate:
    if min(len(one) for one in strata) < LEAST_SEEDS:
        return Estimate(value)
    return Estimate(value, interval_of(draws()))


def _drawn(strata: Strata, random: np.random.Generator) -> list[NDArray[np.float64]]:
    """Returns for each stratum as many scores as it has, drawn with replacement: arrays of (draws, seeds)."""
    return [np.asarray(one, np.float64)[random.integers(len(one), size=(RESAMPLES, len(one)))] for one in strata]


def _middle_mean(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the mean over the last axis without a quarter of the scores, rounded down, at either end."""
    cut = scores.shape[-1] // 4
    kept = np.sort(scores, axis=-1)[..., cut : scores.shape[-1] - cut]
    return np.asarray(kept.mean(axis=-1))


def _better(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns for each draw the share of pairs in which ours is lower; ties count half."""
    difference = ours[:, :, None] - theirs[:, None, :]
    return np.asarray(((difference < 0) + 0.5 * (difference == 0)).mean(axis=(1, 2)))
