"""How far a sample is from a distribution."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray


def is_sample_of(values: NDArray[np.float64], cdf: Callable[[float], float]) -> bool:
    """Returns whether a sample passes the test of Kolmogorov and Smirnov; one in a thousand true samples does not."""
    expected = np.array([cdf(value) for value in np.sort(values)])
    steps = np.arange(values.size + 1) / values.size
    distance = max((steps[1:] - expected).max(), (expected - steps[:-1]).max())
    return float(distance) < 1.95 / math.sqrt(values.size)


def exponential(mean: float) -> Callable[[float], float]:
    """Returns the distribution function of exponential numbers with this mean."""
    return lambda value: 1 - math.exp(-value / mean)


def gaps(submit_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the gaps between arrivals, the first of which is counted from 0."""
    return np.diff(submit_s, prepend=0.0)
