"""Statistics over windows, and how sure a difference between two policies is.

Windows of one log are not independent: a busy week lies in several of them. So the interval is found by drawing whole
blocks of the log again and again, all windows of a block together (a paired block bootstrap).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

RESAMPLES = 10_000
INTERVAL = (0.025, 0.975)
"""The quantiles that bound a 95 % interval."""


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
    """95 %; None where the windows lie in a single block."""
    difference: float | None
    """Of the means, policy less baseline."""
    difference_interval: tuple[float, float] | None


def summarize(values: NDArray[np.float64], block: NDArray[np.int64], higher_is_better: bool = False) -> Summary:
    """Returns the statistics of one value a window; windows in which it is NaN are left out."""
    known = np.isfinite(values)
    values, block = values[known], block[known]
    if not len(values):
        return Summary(None, None, None, None, None, None)
    numbers, place = np.unique(block, return_inverse=True)
    means = np.bincount(place, weights=values) / np.bincount(place)
    worst = int(np.argmin(means) if higher_is_better else np.argmax(means))
    return Summary(
        mean=float(values.mean()),
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
    known = np.isfinite(values) & np.isfinite(baseline)
    values, baseline, block = values[known], baseline[known], block[known]
    if not len(values):
        return Contrast(None, None, None, None, None)
    gain = values - baseline if higher_is_better else baseline - values
    ratio, ratio_interval = None, None
    if (values > 0).all() and (baseline > 0).all():
        logs = np.log(values) - np.log(baseline)
        ratio = float(np.exp(logs.mean()))
        if (bounds := block_bootstrap(logs, block, seed)) is not None:
            ratio_interval = (float(np.exp(bounds[0])), float(np.exp(bounds[1])))
    return Contrast(
        win_rate=float(np.mean(gain > 0) + np.mean(gain == 0) / 2),
        ratio=ratio,
        ratio_interval=ratio_interval,
        difference=float((values - baseline).mean()),
        difference_interval=block_bootstrap(values - baseline, block, seed),
    )


def block_bootstrap(
    values: NDArray[np.float64], block: NDArray[np.int64], seed: int, resamples: int = RESAMPLES
) -> tuple[float, float] | None:
    """Returns the 95 % percentile interval of the mean when blocks are drawn with replacement; None for one block.

    As many blocks are drawn as there are; the windows of a block are drawn together, a block drawn twice counts twice.
    """
    _, place = np.unique(block, return_inverse=True)
    windows = np.bincount(place)
    blocks = len(windows)
    if blocks < 2:
        return None
    times_drawn = np.random.default_rng(seed).multinomial(blocks, np.full(blocks, 1 / blocks), size=resamples)
    means = (times_drawn @ np.bincount(place, weights=values)) / (times_drawn @ windows)
    low, high = np.quantile(means, INTERVAL)
    return float(low), float(high)
