"""The rectangles of a Gantt chart: which cores of a node each job is drawn on."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

import numpy as np

from shunter.metrics.usage import MILLI, within_makespan

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.model.schedule import Schedule

Span = tuple[int, int]
"""Milli-cores of one node, from the first to before the second."""


class Lanes:
    """The cores of one node, of which jobs take the lowest that are free, in one piece where there is one."""

    def __init__(self, milli_cores: int) -> None:
        """Starts with all cores free."""
        self._free: list[Span] = [(0, milli_cores)]

    def take(self, amount: int) -> list[Span]:
        """Returns the cores given to a job; fewer than it asks for if there are no more."""
        for index, (low, high) in enumerate(self._free):
            if high - low >= amount:
                self._free[index : index + 1] = [(low + amount, high)] if high - low > amount else []
                return [(low, low + amount)]
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
        """Frees the cores of a job that has ended, and joins them with free neighbors."""
        for low, high in spans:
            index = bisect_left(self._free, (low, high))
            if index < len(self._free) and self._free[index][0] == high:
                high = self._free.pop(index)[1]
            if index and self._free[index - 1][1] == low:
                low = self._free.pop(index - 1)[0]
                index -= 1
            self._free.insert(index, (low, high))


def pack_rectangles(schedule: Schedule) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Returns rectangles and the job of each.

    The cores of all nodes are stacked, node 0 at the bottom, in the order of the cluster.

    Returns:
        The rectangles as (start in ms, end in ms, lowest core, highest core)  # (rectangles, 4)
        and the row of each rectangle's job in the workload  # (rectangles,)
    """
    segments = schedule.segments
    segment, node, used = _placements(schedule)
    job = segments.job[segment]
    sizes = [round(each.cores * MILLI) for each in schedule.cluster.nodes]
    base = np.concatenate([[0], np.cumsum(sizes)])
    lanes = [Lanes(size) for size in sizes]
    held: dict[int, list[Span]] = {}
    rectangles: list[tuple[float, float, float, float]] = []
    owners: list[int] = []
    start_ms = within_makespan(schedule, segments.start_ms)[segment]
    end_ms = within_makespan(schedule, segments.end_ms)[segment]
    for entry, starts in _in_order(start_ms, end_ms):
        if not starts:
            lanes[node[entry]].give_back(held.pop(entry))
            continue
        held[entry] = lanes[node[entry]].take(int(used[entry]))
        bottom = int(base[node[entry]])
        for low, high in ((bottom + low, bottom + high) for low, high in held[entry]):
            follows = bool(owners) and owners[-1] == job[entry] and rectangles[-1][0] == start_ms[entry]
            if follows and rectangles[-1][3] == low / MILLI:
                # The job goes on from the node below: one rectangle instead of two.
                rectangles[-1] = (*rectangles[-1][:3], high / MILLI)
                continue
            rectangles.append((start_ms[entry], end_ms[entry], low / MILLI, high / MILLI))
            owners.append(int(job[entry]))
    return np.array(rectangles, dtype=np.float64).reshape(-1, 4), np.array(owners, dtype=np.int64)


def _placements(schedule: Schedule) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Returns segment, node and milli-cores of each placement that takes cores for some time."""
    segments = schedule.segments
    per_task = np.rint(schedule.workload.jobs["cores_per_task"].to_numpy() * MILLI).astype(np.int64)
    used = per_task[segments.job[segments.entry]] * segments.tasks
    kept = (used > 0) & (segments.length_ms > 0)[segments.entry]
    return segments.entry[kept], segments.nodes[kept], used[kept]


def _in_order(start_ms: NDArray[np.float64], end_ms: NDArray[np.float64]) -> list[tuple[int, bool]]:
    """Returns (entry, whether it starts) by time; at one instant ends come first, then starts in their order."""
    count = len(start_ms)
    starts = np.concatenate([np.zeros(count, dtype=bool), np.ones(count, dtype=bool)])
    order = np.lexsort((starts, np.concatenate([end_ms, start_ms])))
    return list(zip((order % max(count, 1)).tolist(), starts[order].tolist(), strict=True))
