"""Where jobs stand in a Gantt chart: each takes some of its nodes' cores or GPUs for a time, drawn as rectangles."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

MILLI = 1000

Span = tuple[int, int]
"""Thousandths of a core or a GPU of one node, from the first to before the second."""


class Lanes:
    """The cores or GPUs of one node, of which jobs take the lowest that are free, in one piece where there is one."""

    def __init__(self, milli: int) -> None:
        """Starts with all of them free."""
        self._free: list[Span] = [(0, milli)]

    def take(self, amount: int) -> list[Span]:
        """Returns what is given to a job; less than it asks for if there is no more."""
        # In one piece if any gap is large enough, so that most jobs are one rectangle.
        for index, (low, high) in enumerate(self._free):
            if high - low >= amount:
                self._free[index : index + 1] = [(low + amount, high)] if high - low > amount else []
                return [(low, low + amount)]
        # No gap is large enough: the job is drawn in several pieces. What it really had, nobody recorded.
        taken: list[Span] = []
        while amount and self._free:
            low, high = self._free.pop(0)
            used = min(high - low, amount)
            taken.append((low, low + used))
            amount -= used
            if used < high - low:
                self._free.insert(0, (low + used, high))
        return taken

    def give_back(self, spans: list[Span]) -> None:
        """Frees what a job had that has ended, and joins it with free neighbors."""
        for low, high in spans:
            index = bisect_left(self._free, (low, high))
            if index < len(self._free) and self._free[index][0] == high:
                high = self._free.pop(index)[1]
            if index and self._free[index - 1][1] == low:
                low = self._free.pop(index - 1)[0]
                index -= 1
            self._free.insert(index, (low, high))


def stacked(
    sizes_milli: Sequence[int],
    node: NDArray[Any],
    used_milli: NDArray[np.int64],
    start_ms: NDArray[np.float64],
    end_ms: NDArray[np.float64],
    owner: NDArray[Any],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Returns rectangles and the job of each, the nodes stacked on each other, node 0 at the bottom.

    Args:
        sizes_milli: Of each node: thousandths of a core or a GPU.
        node: Of each entry: the node of which a job takes a part.
        used_milli: How much of it, above 0.
        start_ms: From when.
        end_ms: Until when, later than that.
        owner: The job.

    Returns:
        (rectangles, 4): left and right as given, bottom and top in cores or GPUs; and (rectangles,).
    """
    # In whole thousandths, so that pieces fit together exactly.
    base = np.concatenate([[0], np.cumsum(sizes_milli)])
    lanes = [Lanes(size) for size in sizes_milli]
    held: dict[int, list[Span]] = {}
    rectangles: list[tuple[float, float, float, float]] = []
    owners: list[int] = []
    for entry, starts in _in_order(start_ms, end_ms):
        if not starts:
            lanes[node[entry]].give_back(held.pop(entry))
            continue
        held[entry] = lanes[node[entry]].take(int(used_milli[entry]))
        bottom = int(base[node[entry]])
        for low, high in ((bottom + low, bottom + high) for low, high in held[entry]):
            follows = bool(owners) and owners[-1] == owner[entry] and rectangles[-1][0] == start_ms[entry]
            if follows and rectangles[-1][3] == low / MILLI:
                # The job goes on from the node below: one rectangle instead of two.
                rectangles[-1] = (*rectangles[-1][:3], high / MILLI)
                continue
            rectangles.append((start_ms[entry], end_ms[entry], low / MILLI, high / MILLI))
            owners.append(int(owner[entry]))
    return np.array(rectangles, dtype=np.float64).reshape(-1, 4), np.array(owners, dtype=np.int64)


def _in_order(start_ms: NDArray[np.float64], end_ms: NDArray[np.float64]) -> list[tuple[int, bool]]:
    """Returns (entry, whether it starts) by time; at one instant ends come first, then starts in their order."""
    count = len(start_ms)
    starts = np.concatenate([np.zeros(count, dtype=bool), np.ones(count, dtype=bool)])
    order = np.lexsort((starts, np.concatenate([end_ms, start_ms])))
    return list(zip((order % max(count, 1)).tolist(), starts[order].tolist(), strict=True))
