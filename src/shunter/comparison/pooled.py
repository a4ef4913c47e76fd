"""Ratios over several logs, each of which counts the same however many windows it has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shunter.comparison.statistics import LEAST_BLOCKS, RESAMPLES, both_known, drawn_means, interval_of

if TYPE_CHECKING:
    from numpy.typing import NDArray


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


def pooled_ratio(logs: Sequence[Paired], seed: int = 0) -> Ratio | None:
    """Returns the ratio of a policy to a baseline over logs; windows in which either is NaN are left out.

    None if a value is 0 or less, or a log has no window left. For the interval, blocks are drawn within each log.

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
        drawn += drawn_means(logarithms, block, random) / len(logs)
        center += logarithms.mean() / len(logs)
    low, high = np.exp(interval_of(drawn))
    return Ratio(float(np.exp(center)), (float(low), float(high)) if whole else None)
