"""Stretches of time for which jobs held nodes: the stops, all of them together, and what of them was lost."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.model.schedule import Schedule

MILLI = 1000


@dataclass(frozen=True)
class Stops:
    """The segments that did not end their job: it was preempted, or one of its nodes failed. One row a segment."""

    job: NDArray[np.int32]
    """The job's row in the workload."""
    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    node_offsets: NDArray[np.int64]
    """(stops + 1): segment i's nodes are the entries offsets[i] to offsets[i + 1] of the next two."""
    nodes: NDArray[np.int32]
    tasks: NDArray[np.int32]
    by_failure: NDArray[np.bool_]
    """Whether a node failed; otherwise the job was preempted."""

    def __len__(self) -> int:
        return len(self.job)


@dataclass(frozen=True)
class Segments:
    """Every stretch of time for which a job held nodes; one row a segment, those of one job in the order of time."""

    job: NDArray[np.int64]
    start_ms: NDArray[np.float64]
    end_ms: NDArray[np.float64]
    node_offsets: NDArray[np.int64]
    """(segments + 1): segment i's nodes are the entries offsets[i] to offsets[i + 1] of the next two."""
    nodes: NDArray[np.int32]
    tasks: NDArray[np.int32]
    last: NDArray[np.bool_]
    """Whether the job ended with it."""
    by_failure: NDArray[np.bool_]
    """Whether a node failed; of the others that are not the last, the job was preempted."""

    def __len__(self) -> int:
        return len(self.job)

    @cached_property
    def length_ms(self) -> NDArray[np.float64]:
        """How long each segment is."""
        return self.end_ms - self.start_ms

    @cached_property
    def entry(self) -> NDArray[np.int64]:
        """The segment of each entry of `nodes` and `tasks`."""
        return np.repeat(np.arange(len(self)), np.diff(self.node_offsets))

    def to_bytes(self) -> bytes:
        """Returns everything as bytes that are the same on every machine."""
        times = [(times + 0.0).astype("<f8").tobytes() for times in (self.start_ms, self.end_ms)]
        rest = (self.job, self.node_offsets, self.nodes, self.tasks, self.last, self.by_failure)
        return b"".join([*times, *(np.asarray(values, dtype="<i8").tobytes() for values in rest)])

    def take(self, which: NDArray[np.int64]) -> Segments:
        """Returns the segments of these numbers, in this order."""
        offsets, entries = take_lists(self.node_offsets, which)
        return Segments(
            self.job[which],
            self.start_ms[which],
            self.end_ms[which],
            offsets,
            self.nodes[entries],
            self.tasks[entries],
            self.last[which],
            self.by_failure[which],
        )


def take_lists(offsets: NDArray[np.int64], which: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns the offsets of some of the lists, one after the other, and where their entries were before."""
    counts = np.diff(offsets)[which]
    taken = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return taken, np.repeat(offsets[:-1][which] - taken[:-1], counts) + np.arange(taken[-1])


def all_segments(schedule: Schedule) -> Segments:
    """Returns the stops of a schedule and the last segment of each job that ended, by job and time."""
    last = _last_segments(schedule)
    stops = schedule.stops
    if stops is None or not len(stops):
        return last
    together = Segments(
        np.concatenate([last.job, stops.job]),
        np.concatenate([last.start_ms, np.rint(stops.start_s * MILLI)]),
        np.concatenate([last.end_ms, np.rint(stops.end_s * MILLI)]),
        np.concatenate([last.node_offsets, stops.node_offsets[1:] + last.node_offsets[-1]]),
        np.concatenate([last.nodes, stops.nodes]),
        np.concatenate([last.tasks, stops.tasks]),
        np.concatenate([last.last, np.zeros(len(stops), dtype=np.bool_)]),
        np.concatenate([last.by_failure, stops.by_failure]),
    )
    return together.take(np.lexsort((together.last, together.end_ms, together.start_ms, together.job)))


def _last_segments(schedule: Schedule) -> Segments:
    rows = np.flatnonzero(schedule.ended)
    offsets, entries = take_lists(schedule.placement_offsets, rows)
    return Segments(
        rows,
        schedule.latest_start_ms[rows],
        schedule.end_ms[rows],
        offsets,
        schedule.placement_nodes[entries],
        schedule.placement_tasks[entries],
        np.ones(len(rows), dtype=np.bool_),
        np.zeros(len(rows), dtype=np.bool_),
    )


def held_ms(schedule: Schedule) -> NDArray[np.float64]:
    """Returns for how long each job held nodes, over all its segments."""
    segments = schedule.segments
    held = np.bincount(segments.job, weights=segments.length_ms, minlength=len(schedule))
    return np.asarray(held, dtype=np.float64)


def lost_ms(schedule: Schedule) -> NDArray[np.float64]:
    """Returns for how long each job held nodes without getting ahead; 0 for a job that was never stopped.

    What each start after a stop costs is lost, and the whole of a segment whose progress was not kept. Of a job that
    failed, or that was stopped and never ended, all is lost.
    """
    from shunter.model.schedule import Outcome

    if schedule.stops is None or not len(schedule.stops):
        return np.zeros(len(schedule))
    segments, settings = schedule.segments, schedule.settings
    stopped = np.zeros(len(schedule), dtype=np.bool_)
    stopped[schedule.stops.job] = True
    is_first = np.concatenate([[True], segments.job[1:] != segments.job[:-1]])
    overhead_ms = np.where(is_first, 0.0, np.rint(settings.preemption_overhead_s * MILLI))
    kept = np.where(segments.by_failure, settings.failed_progress == "kept", settings.preempted_progress == "kept")
    in_vain = ~(segments.last | kept) | (stopped & (schedule.outcome > Outcome.KILLED))[segments.job]
    lost = np.where(in_vain, segments.length_ms, np.minimum(overhead_ms, segments.length_ms))
    return np.asarray(np.bincount(segments.job, weights=lost, minlength=len(schedule)), dtype=np.float64)
