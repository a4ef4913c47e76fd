"""Statistics over windows, and how sure a difference between two policies is.

Windows of one log are not independent: a busy week lies in several of them. So the interval is found by drawing whole
blocks of the log again and again, all windows of a block together (a paired block bootstrap). How narrow it is with few
blocks is in ``docs/comparing.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from shunter.metrics.labels import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

RESAMPLES = 10_000
INTERVAL = (0.025, 0.975)
"""The quantiles that bound a 95 % interval."""
LEAST_BLOCKS = 5
"""With fewer there is no interval: chance alone would too often look like a difference."""
FEW_BLOCKS = 10
"""With fewer a reader is told that intervals are too narrow."""


@dataclass(frozen=True)
class Summary:
    """One metric over windows; None where a figure has no meaning."""

    mean: float | None
    geometric_mean: float | None
    """None if any value is 0 or less, for then there is none."""
    median: float | None
    p95: float | None
    """The value that one window in twenty is worse than, linearly interpolated."""
    worst_block: int | None
    """The block whose windows have the worst mean."""
    worst_block_mean: float | None


@dataclass(frozen=True)
class Contrast:
    """One metric of a policy against that of a baseline, window by window."""

    win_rate: float | None
    """The share of windows in which the policy is better; ties count half."""
    ratio: float | None
    """Of the geometric means, policy to baseline; None if a value of either is 0 or less."""
    ratio_interval: tuple[float, float] | None
    """95 %; None where the windows lie in fewer than `LEAST_BLOCKS` blocks."""
    difference: float | None
    """Of the means, policy less baseline."""
    difference_interval: tuple[float, float] | None
    identical: bool = False
    """Whether both did the very same in every window, by every metric that is known of them."""
    means_ratio: float | None = None
    """Of the means, policy to baseline: windows in which much is at stake count for more. None if the latter is 0."""

    def to_json(self) -> dict[str, float | None]:
        """Returns the contrast as a plain object."""
        ratio_low, ratio_high = self.ratio_interval or (None, None)
        difference_low, difference_high = self.difference_interval or (None, None)
        return {
            "win_rate": self.win_rate,
            "ratio": self.ratio,
            "ratio_low": ratio_low,
            "ratio_high": ratio_high,
            "means_ratio": self.means_ratio,
            "difference": self.difference,
            "difference_low": difference_low,
            "difference_high": difference_high,
            "identical": self.identical,
        }


@dataclass(frozen=True)
class Paired:
    """One metric of a policy and of a baseline in the same windows of a log."""

    values: NDArray[np.float64]
    baseline: NDArray[np.float64]
    block: NDArray[np.int64]
    """The block of the log in which each window lies."""


@dataclass(frozen=True)
class Ratio:
    """The geometric mean of a ratio over windows and logs."""

    value: float
    interval: tuple[float, float] | None
    """95 %; None where the windows of a log lie in fewer than `LEAST_BLOCKS` blocks."""
    identical: bool = False
    """Whether both did the very same in every window of every log."""

    def to_json(self) -> dict[str, float | None]:
        """Returns the ratio as a plain object."""
        low, high = self.interval or (None, None)
        return {"ratio": self.value, "ratio_low": low, "ratio_high": high, "identical": self.identical}


def summarize(values: NDArray[np.float64], block: NDArray[np.int64], higher_is_better: bool = False) -> Summary:
    """Returns the statistics of one value a window; windows in which it is NaN are left out."""
    known = np.isfinite(values)
    values, block = values[known], block[known]
    if not len(values):
        return Summary(None, None, None, None, None, None)
    # Blocks keep their numbers in the table, though some may have no known window.
    numbers, place = np.unique(block, return_inverse=True)
    means = np.bincount(place, weights=values) / np.bincount(place)
    worst = int(np.argmin(means) if higher_is_better else np.argmax(means))
    return Summary(
        mean=float(values.mean()),
        # A single 0 would make the geometric mean 0, and hide everything else.
        geometric_mean=float(np.exp(np.log(values).mean())) if (values > 0).all() else None,
        median=float(np.median(values)),
        p95=float(np.quantile(values, 0.05 if higher_is_better else 0.95)),
        worst_block=int(numbers[worst]),
        worst_block_mean=float(means[worst]),
    )


def contrast(
    values: NDArray[np.float64],
    baseline: NDArray[np.float64],
    block: NDArray[np.int64],
    *,
    higher_is_better: bool = False,
    seed: int = 0,
) -> Contrast:
    """Compares one value a window with the baseline's in the same window; windows in which either is NaN are left out.

    Args:
        values: Of the policy, one a window.
        baseline: Of the baseline, in the same windows.
        block: The block of each window.
        higher_is_better: Whether more of this metric is better.
        seed: For the drawing of blocks; the same seed draws the same blocks for every policy.
    """
    values, baseline, block = both_known(values, baseline, block)
    if not len(values):
        return Contrast(None, None, None, None, None)
    # Wins are counted in the direction that is better; ratios and differences keep theirs.
    gain = values - baseline if higher_is_better else baseline - values
    ratio, ratio_interval = None, None
    if (values > 0).all() and (baseline > 0).all():
        logs = np.log(values) - np.log(baseline)
        ratio = float(np.exp(logs.mean()))
        if (bounds := _mean_interval(logs, block, seed)) is not None:
            ratio_interval = (float(np.exp(bounds[0])), float(np.exp(bounds[1])))
    return Contrast(
        win_rate=float(np.mean(gain > 0) + np.mean(gain == 0) / 2),
        ratio=ratio,
        ratio_interval=ratio_interval,
        difference=float((values - baseline).mean()),
        difference_interval=_mean_interval(values - baseline, block, seed),
        means_ratio=float(values.mean() / baseline.mean()) if baseline.mean() > 0 else None,
    )


def both_known(
    values: NDArray[np.float64], baseline: NDArray[np.float64], block: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Returns the windows in which both have a value."""
    known = np.isfinite(values) & np.isfinite(baseline)
    return values[known], baseline[known], block[known]


def drawn_means(
    values: NDArray[np.float64], block: NDArray[np.int64], random: np.random.Generator
) -> NDArray[np.float64]:
    """Returns the means over windows when blocks are drawn with replacement, one for each of `RESAMPLES` draws.

    As many blocks are drawn as there are; the windows of a block are drawn together, a block drawn twice counts twice.
    """
    return _means_of_draws(values, block, _draws(random, len(np.unique(block))))


def seeded_means(values: NDArray[np.float64], block: NDArray[np.int64], seed: int) -> NDArray[np.float64]:
    """The same with the draws of a seed, so that the same blocks are drawn for every policy."""
    return _means_of_draws(values, block, _seeded_draws(seed, len(np.unique(block))))


def _draws(random: np.random.Generator, blocks: int) -> NDArray[np.int64]:
    """(draws, blocks): how often each block is drawn, which is all that a mean needs."""
    return random.multinomial(blocks, np.full(blocks, 1 / blocks), size=RESAMPLES)


@lru_cache(maxsize=4)
def _seeded_draws(seed: int, blocks: int) -> NDArray[np.int64]:
    """Hundreds of contrasts share these, and drawing takes most of their time."""
    draws = _draws(np.random.default_rng(seed), blocks)
    draws.flags.writeable = False
    return draws


def _means_of_draws(
    values: NDArray[np.float64], block: NDArray[np.int64], times_drawn: NDArray[np.int64]
) -> NDArray[np.float64]:
    _, place = np.unique(block, return_inverse=True)
    # A block counts with as many windows as it has, as it does in the mean itself.
    sums, windows = np.bincount(place, weights=values), np.bincount(place)
    return np.asarray((times_drawn @ sums) / (times_drawn @ windows))


def interval_of(drawn: NDArray[np.float64]) -> tuple[float, float]:
    """Returns the 95 % percentile interval of what was drawn."""
    low, high = np.quantile(drawn, INTERVAL)
    return float(low), float(high)


def interval_note(blocks: int) -> str | None:
    """Returns what a reader must know of intervals from so many blocks; None if they are enough."""
    if blocks >= FEW_BLOCKS:
        return None
    where = f"the windows lie in {counted(blocks, 'block')}"
    more = "a longer log or shorter windows have more"
    if blocks < LEAST_BLOCKS:
        return f"{where}: below {LEAST_BLOCKS} no interval is given, for it would be far too narrow; {more}"
    return f"{where}: intervals from fewer than {FEW_BLOCKS} are too narrow, so take them as hints; {more}"


def _mean_interval(values: NDArray[np.float64], block: NDArray[np.int64], seed: int) -> tuple[float, float] | None:
    if len(np.unique(block)) < LEAST_BLOCKS:
        return None
    # The same blocks are drawn for all policies, so that their intervals can be compared.
    return interval_of(seeded_means(values, block, seed))


def pooled_ratio(logs: Sequence[Paired], seed: int = 0) -> Ratio | None:
    """Returns the ratio of a policy to a baseline over logs; windows in which either is NaN are left out.

    Each log counts the same, however many windows it has. For the interval, blocks are drawn within each log. None if
    a value is 0 or less, or a log has no window left.

    Args:
        logs: What happened in the windows of each.
        seed: For the drawing of blocks.
    """
    random = np.random.default_rng(seed)
    center, drawn, whole = 0.0, np.zeros(RESAMPLES), True
    for log in logs:
        values, baseline, block = both_known(log.values, log.baseline, log.block)
        if not len(values) or not ((values > 0) & (baseline > 0)).all():
            return None
        logarithms = np.log(values / baseline)
        whole &= len(np.unique(block)) >= LEAST_BLOCKS
        # One generator over all logs: draws in different logs are independent.
        drawn += drawn_means(logarithms, block, random) / len(logs)
        center += logarithms.mean() / len(logs)
    low, high = np.exp(interval_of(drawn))
    return Ratio(float(np.exp(center)), (float(low), float(high)) if whole else None)
