"""The segments of a schedule: how long its jobs held nodes, and what of that was lost (``docs/metrics.md``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shunter.model.stops import Segments, take_lists

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.model.schedule import Schedule

MILLI = 1000


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
