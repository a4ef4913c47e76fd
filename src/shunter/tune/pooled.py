"""Ratios over several logs, each of which counts the same however many windows it has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shunter.evaluate.statistics import INTERVAL, RESAMPLES

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
    """95 %; None where the windows of a log lie in a single block."""


def pooled_ratio(logs: Sequence[Paired], seed: int = 0) -> Ratio | None:
    """Returns the ratio of a policy to a baseline over logs; None if a value is 0 or less, or has no meaning.

    For the interval, blocks are drawn with replacement from each log, as many as it has; their windows come together.

    Args:
        logs: What happened in the windows of each.
        seed: For the drawing of blocks.
    """
    random = np.random.default_rng(seed)
    center, drawn, whole = 0.0, np.zeros(RESAMPLES), True
    for log in logs:
        if not ((log.values > 0) & (log.baseline > 0)).all():
            return None
        logarithms = np.log(log.values / log.baseline)
        _, place = np.unique(log.block, return_inverse=True)
        windows = np.bincount(place)
        whole &= len(windows) > 1
        times = random.multinomial(len(windows), np.full(len(windows), 1 / len(windows)), size=RESAMPLES)
        drawn += (times @ np.bincount(place, weights=logarithms)) / (times @ windows) / len(logs)
        center += logarithms.mean() / len(logs)
    low, high = np.exp(np.quantile(drawn, INTERVAL))
    return Ratio(float(np.exp(center)), (float(low), float(high)) if whole else None)
