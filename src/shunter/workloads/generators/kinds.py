"""Kinds of jobs that generators draw, by their shares; the presets of the same names have their speeds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

NO_KINDS: Final = "none"
KINDS: Final[Mapping[str, Mapping[str, float]]] = {
    "gavel-like": {
        "image-small": 0.15,
        "image-large": 0.15,
        "detection": 0.08,
        "translation": 0.12,
        "translation-large": 0.08,
        "language": 0.12,
        "recommendation": 0.12,
        "speech": 0.06,
        "games": 0.06,
        "pictures": 0.06,
    },
}
"""For each set of kinds, the share of jobs that are of each."""


def draw_kinds(stream: np.random.Generator, kinds: str, count: int) -> pl.Series | None:
    """Returns kinds, drawn by their shares; None if none are asked for."""
    if kinds == NO_KINDS:
        return None
    names, shares = list(KINDS[kinds]), np.cumsum(list(KINDS[kinds].values()))
    places: NDArray[np.intp] = np.searchsorted(shares[:-1] / shares[-1], stream.random(count), side="right")
    return pl.Series("kind", names, dtype=pl.String).gather(places)
