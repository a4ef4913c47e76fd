"""What is in use over time, and how evenly: step functions from starts, ends and placements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.model.schedule import Schedule

MILLI = 1000
"""Milli-cores in a core, milliseconds in a second."""

ROUNDING_NOISE = 1e-13
"""A variance below this part of the mean square is what rounding leaves of 0."""


@dataclass(frozen=True)
class Changes:
    """Changes of the cores in use on nodes; all arrays have the same length, and each node's changes add up to 0."""

    time_ms: NDArray[np.float64]
    node: NDArray[np.int32]
    milli_cores: NDArray[np.int64]

    def take(self, which: NDArray[np.int64] | NDArray[np.bool_]) -> Changes:
        """Returns the changes chosen by an index or a mask."""
        return Changes(self.time_ms[which], self.node[which], self.milli_cores[which])


def makespan_seconds(schedule: Schedule) -> float | None:
    """Returns the time from the first submit of a job that was not rejected to the last end; None if no job ended."""
    ended = schedule.ended
    if not ended.any():
        return None
    first_submit_ms = schedule.submit_ms[~schedule.rejected].min()
    return float(schedule.end_ms[ended].max() - first_submit_ms) / MILLI


def core_changes(schedule: Schedule) -> Changes:
    """Returns two changes for each node of each segment: one at its start, one at its end."""
    segments = schedule.segments
    milli_cores_per_task = np.rint(schedule.workload.jobs["cores_per_task"].to_numpy() * MILLI).astype(np.int64)
    used = milli_cores_per_task[segments.job[segments.entry]] * segments.tasks
    until_ms = within_makespan(schedule, segments.end_ms)
    time_ms = np.concatenate([within_makespan(schedule, segments.start_ms), until_ms])
    entries = np.concatenate([segments.entry, segments.entry + len(segments)])
    return Changes(time_ms[entries], np.concatenate([segments.nodes] * 2), np.concatenate([used, -used]))


def within_makespan(schedule: Schedule, time_ms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns times, none of them later than the last end: a job that never ended may have been stopped after it."""
    ended = schedule.ended
    return np.minimum(time_ms, schedule.end_ms[ended].max()) if ended.any() else time_ms


def held_seconds(schedule: Schedule) -> NDArray[np.float64]:
    """Returns for how long each job held nodes until the last end, over all its segments."""
    segments = schedule.segments
    length_ms = within_makespan(schedule, segments.end_ms) - within_makespan(schedule, segments.start_ms)
    return np.bincount(segments.job, weights=length_ms, minlength=len(schedule)) / MILLI


def load_imbalance(schedule: Schedule) -> float | None:
    """Returns the mean over the makespan of the variance over hosts of the hosts' core utilization.

    With u the utilization of a host and U the mean of u over the hosts, the variance at an instant is the mean of u²
    less U². So its integral over time is the mean over hosts of each host's integral of u², less the integral of U².
    """
    makespan_s = makespan_seconds(schedule)
    if not makespan_s:
        return None
    cores = np.array([node.cores for node in schedule.cluster.nodes], dtype=np.float64)
    hosts = int(np.count_nonzero(cores > 0))  # A host without cores has no core utilization.
    if hosts <= 1:
        return 0.0
    changes = core_changes(schedule)
    changes = changes.take(cores[changes.node] > 0)
    mean_of_square = _host_squares(changes, cores) / hosts
    variance = mean_of_square - _square_of_sum(changes, cores) / hosts**2
    return float(variance / MILLI / makespan_s) if variance > ROUNDING_NOISE * mean_of_square else 0.0


def _host_squares(changes: Changes, cores: NDArray[np.float64]) -> float:
    """Returns the sum over hosts of the integral of the squared utilization over time, in ms."""
    changes = changes.take(np.lexsort((changes.time_ms, changes.node)))
    # One running sum serves all hosts: each host's changes add up to 0 before the next host's begin.
    used = np.cumsum(changes.milli_cores) / MILLI / cores[changes.node]
    return float(np.sum(used[:-1] ** 2 * np.diff(changes.time_ms)))


def _square_of_sum(changes: Changes, cores: NDArray[np.float64]) -> float:
    """Returns the integral over time of the square of the hosts' utilizations added up, in ms."""
    changes = changes.take(np.argsort(changes.time_ms, kind="stable"))
    host_cores = cores[changes.node]
    total = np.zeros(len(host_cores))
    # Hosts of one size are summed in whole milli-cores, so that no rounding piles up over a million jobs.
    for size in np.unique(host_cores):
        total += np.cumsum(np.where(host_cores == size, changes.milli_cores, 0)) / MILLI / size
    return float(np.sum(total[:-1] ** 2 * np.diff(changes.time_ms)))
