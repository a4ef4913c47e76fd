"""Means of step functions over bins of time, for figures of any number of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def binned_means(
    time: NDArray[np.float64],
    change: NDArray[np.float64],
    row: NDArray[np.int64],
    rows: int,
    edges: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Returns the mean level of each row's step function in each bin, an array of (rows, bins).

    A change of c at time t adds c to all later bins, and to its own bin c times the part of it that comes after t.

    Args:
        time: when the level changes; changes before the first edge count from there, those after the last not at all.
        change: by how much.
        row: of which step function.
        rows: how many step functions there are.
        edges: of the bins, evenly spaced and rising.
    """
    bins = len(edges) - 1
    width = (edges[-1] - edges[0]) / bins
    inside = time < edges[-1]
    time, change, row = np.maximum(time[inside], edges[0]), change[inside], row[inside]
    position = (time - edges[0]) / width
    column = np.minimum(position.astype(np.int64), bins - 1)
    cell = row * bins + column
    size = rows * bins
    later = np.bincount(cell, weights=change, minlength=size).reshape(rows, bins)
    own = np.bincount(cell, weights=change * (column + 1 - position), minlength=size).reshape(rows, bins)
    means: NDArray[np.float64] = np.cumsum(later, axis=1, dtype=np.float64) - later + own
    return means
