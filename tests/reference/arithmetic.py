"""Arithmetic spelled out where the last digit decides who is next."""

from __future__ import annotations

import math
from collections.abc import Iterable


def added(values: Iterable[float]) -> float:
    """Returns the sum, added up one by one: Python's own sum is more exact from 3.12 on."""
    total = 0.0
    for value in values:
        total += value
    return total


def nearest(value: float) -> int:
    """Returns the nearest whole number; of a number that is not negative, a half goes up."""
    whole = math.floor(value)
    return whole + (value - whole >= 0.5)


def log10(value: float) -> float:
    """Returns the decimal logarithm; what is not positive counts as 0.1."""
    return math.log10(value if value > 0 else 0.1)
