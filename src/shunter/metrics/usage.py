"""What is in use over time, how evenly, and what is lost: step functions from starts, ends and placements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.model.schedule import Schedule

MILLI = 1000
"""Milli-cores in a core, milliseconds in a second."""

HOUR_MS = 3_600_000

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


def weighted_gpu_utilization(schedule: Schedule) -> float | None:
    """Returns which part of the cluster's FLOPS was in use; None if it has no GPUs, or not all of them are rated."""
    makespan_s = makespan_seconds(schedule)
    nodes = schedule.cluster.nodes
    if not makespan_s or not schedule.cluster.total_gpus or any(node.gpus and node.tflops is None for node in nodes):
        return None
    tflops = np.array([node.tflops or 0.0 for node in nodes])
    segments = schedule.segments
    gpus = schedule.workload.jobs["gpus_per_task"].to_numpy()[segments.job[segments.entry]] * segments.tasks
    length_ms = within_makespan(schedule, segments.end_ms) - within_makespan(schedule, segments.start_ms)
    used = float(np.sum(gpus * tflops[segments.nodes] * length_ms[segments.entry])) / MILLI
    return used / (makespan_s * float(np.sum(tflops * [node.gpus for node in nodes])))


def nodes_per_job(schedule: Schedule) -> float | None:
    """Returns on how many nodes a job with GPUs ran at last, on average; None if there is none."""
    segments = schedule.segments
    counted = segments.last & (schedule.gpus[segments.job] > 0)
    nodes = np.diff(segments.node_offsets)[counted]
    return float(np.mean(nodes)) if len(nodes) else None


def scattered_gpus(schedule: Schedule) -> tuple[float | None, float | None]:
    """Returns the time means of the fragmentation and of the number of partly used nodes; None without GPUs."""
    makespan_s = makespan_seconds(schedule)
    total = np.array([node.gpus for node in schedule.cluster.nodes], dtype=np.int64)
    if not makespan_s or not total.any():
        return None, None
    time_ms, node, used = _gpu_levels(schedule)
    partly = (used > 0) & (used < MILLI * total[node])
    # A fraction of a GPU is taken to lie where others do: what is left of the node is whole as far as it can be.
    free = np.maximum(MILLI * total[node] - used, 0) // MILLI
    order = np.argsort(time_ms, kind="stable")
    first = np.concatenate([[True], node[1:] != node[:-1]]) if len(node) else np.zeros(0, dtype=np.bool_)
    free_now = int(total.sum()) + np.cumsum(_steps(free, first, total[node])[order])
    scattered_now = np.cumsum(_steps(np.where(partly, free, 0), first, 0)[order])
    partly_now = np.cumsum(_steps(partly.astype(np.int64), first, 0)[order])
    share = np.divide(scattered_now, free_now, out=np.zeros(len(order)), where=free_now > 0)
    lasts_ms = np.diff(time_ms[order])
    makespan_ms = makespan_s * MILLI
    return float(np.sum(share[:-1] * lasts_ms)) / makespan_ms, float(np.sum(partly_now[:-1] * lasts_ms)) / makespan_ms


def _gpu_levels(schedule: Schedule) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int64]]:
    """Returns time, node and the milli-GPUs in use there from then on, by node and time, one row an instant."""
    segments = schedule.segments
    per_task = np.rint(schedule.workload.jobs["gpus_per_task"].to_numpy() * MILLI).astype(np.int64)
    taken = per_task[segments.job[segments.entry]] * segments.tasks
    kept = np.flatnonzero(taken)
    entry, node, taken = segments.entry[kept], segments.nodes[kept], taken[kept]
    starts, ends = within_makespan(schedule, segments.start_ms), within_makespan(schedule, segments.end_ms)
    time_ms = np.concatenate([starts[entry], ends[entry]])
    node = np.concatenate([node, node])
    order = np.lexsort((time_ms, node))
    time_ms, node = time_ms[order], node[order]
    # One running sum serves all nodes: each node's changes add up to 0 before the next node's begin.
    used = np.cumsum(np.concatenate([taken, -taken])[order])
    last = np.ones(len(order), dtype=np.bool_)
    last[:-1] = (time_ms[1:] != time_ms[:-1]) | (node[1:] != node[:-1])
    return time_ms[last], node[last], used[last]


def _steps(level: NDArray[np.int64], first: NDArray[np.bool_], before: NDArray[np.int64] | int) -> NDArray[np.int64]:
    """Returns by how much each node's level changes at each of its rows, from what it was before the first."""
    return level - np.where(first, before, np.roll(level, 1))


def preemptions(schedule: Schedule) -> float | None:
    """Returns how often a job was preempted; None where no job ran."""
    return _if_any_ran(schedule, schedule.preemptions.sum())


def failures(schedule: Schedule) -> float | None:
    """Returns how often a node failed under a job; None where no job ran."""
    return _if_any_ran(schedule, 0 if schedule.failures is None else schedule.failures.sum())


def _if_any_ran(schedule: Schedule, count: float) -> float | None:
    """Returns a count of stops; None where no job ever held a node, so that none could be stopped."""
    return float(count) if len(schedule.segments) else None


def lost_gpu_hours(schedule: Schedule) -> float | None:
    """Returns the GPU time that brought nobody ahead; None where no job has GPUs, or none ever held a node."""
    lost = float(np.sum(schedule.gpus * schedule.lost_ms)) / HOUR_MS
    return _if_any_ran(schedule, lost) if schedule.gpus.any() else None


def migrations(schedule: Schedule) -> float | None:
    """Returns how often a job that was stopped started again on another set of nodes; None where no job ran."""
    segments = schedule.segments
    again = segments.job[1:] == segments.job[:-1]
    if not again.any():
        return _if_any_ran(schedule, 0)
    entries = pl.DataFrame({"segment": segments.entry, "node": segments.nodes})
    nodes = entries.sort("segment", "node").group_by("segment", maintain_order=True).agg("node")["node"]
    moved = nodes.slice(1).ne_missing(nodes.slice(0, len(nodes) - 1)).to_numpy()
    return float(np.count_nonzero(moved & again))
