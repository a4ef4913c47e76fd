"""What a schedule had in use over time, how evenly, and what was lost, from starts, ends and placements."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from shunter.metrics.sizes import CORES
from shunter.policies.catalog import PYTHON_PLACEMENTS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.metrics.sizes import Resource
    from shunter.model.schedule import Schedule, Segments

MILLI = 1000
"""Milli-cores in a core, milliseconds in a second."""

ROUNDING_NOISE = 1e-13
"""A variance below this part of the mean square is what rounding leaves of 0."""


@dataclass(frozen=True)
class Changes:
    """Changes of what is in use on nodes; all arrays have the same length, and each node's changes add up to 0."""

    time_ms: NDArray[np.float64]
    node: NDArray[np.int32]
    milli: NDArray[np.int64]
    """Thousandths of the resource."""

    def take(self, which: NDArray[np.int64] | NDArray[np.bool_]) -> Changes:
        """Returns the changes chosen by an index or a mask."""
        return Changes(self.time_ms[which], self.node[which], self.milli[which])


class Usage:
    """The use of a cluster by a schedule, from the first submit to the last end (the makespan).

    Methods return None where their figure has no meaning, such as the use of GPUs on a cluster without any.
    """

    def __init__(self, schedule: Schedule) -> None:
        """Cuts all segments off at the last end: a job that never ended may have been stopped after it."""
        self.schedule = schedule
        self.segments = schedule.segments
        ended = schedule.ended
        self.last_end_ms = float(schedule.end_ms[ended].max()) if ended.any() else np.inf
        self.makespan_s = np.nan
        """From the first submit of a job that was not rejected to the last end; NaN if no job ended."""
        if ended.any():
            # Differences of whole milliseconds are exact; those of seconds would not be.
            self.makespan_s = (self.last_end_ms - float(schedule.submit_ms[~schedule.rejected].min())) / MILLI
        self.start_ms = self.until_last_end(self.segments.start_ms)
        self.end_ms = self.until_last_end(self.segments.end_ms)
        held_ms = np.bincount(self.segments.job, weights=self.end_ms - self.start_ms, minlength=len(schedule))
        self.held_s = held_ms / MILLI
        """For how long each job held nodes, over all its segments."""

    def until_last_end(self, time_ms: NDArray[np.float64]) -> NDArray[np.float64]:
        """Returns times, those after the last end moved to it."""
        return np.minimum(time_ms, self.last_end_ms)

    def waited_s(self) -> float:
        """Returns for how long all jobs waited, added up; NaN if no job ended."""
        schedule, segments = self.schedule, self.segments
        if not np.isfinite(self.last_end_ms):
            return np.nan
        # A job that never started waits until the end of the schedule, unless it leaves before.
        left_ms = np.where(schedule.cancelled, self.until_last_end(schedule.end_ms), self.last_end_ms)
        until_ms = np.where(np.isfinite(schedule.start_s), schedule.start_ms, left_ms)
        again = segments.job[1:] == segments.job[:-1]
        first = np.flatnonzero(np.concatenate([[True], ~again]))
        until_ms[segments.job[first]] = segments.start_ms[first]
        # One that never may run never waits.
        eligible = ~schedule.rejected & np.isfinite(schedule.eligible_ms)
        waited_ms = np.maximum(until_ms - schedule.eligible_ms, 0.0)[eligible]
        # A job that was stopped waits again.
        next_start_ms = np.append(np.where(again, segments.start_ms[1:], self.last_end_ms), self.last_end_ms)
        waited_again_ms = np.maximum(next_start_ms - segments.end_ms, 0.0)[~segments.last]
        return float(np.sum(waited_ms) + np.sum(waited_again_ms)) / MILLI

    def changes(self, resource: Resource) -> Changes:
        """Returns two changes for each node of each segment: one at its start, one at its end."""
        segments = self.segments
        per_task = np.rint(resource.per_task(self.schedule.workload) * MILLI).astype(np.int64)
        used = per_task[segments.job[segments.entry]] * segments.tasks
        time_ms = np.concatenate([self.start_ms, self.end_ms])
        entries = np.concatenate([segments.entry, segments.entry + len(segments)])
        return Changes(time_ms[entries], np.concatenate([segments.nodes] * 2), np.concatenate([used, -used]))

    def load_imbalance(self) -> float | None:
        """Returns the mean over the makespan of the variance over hosts of the hosts' core utilization.

        With u the utilization of a host and U the mean of u over the hosts, the variance at an instant is the mean of
        u² less U². So its integral over time is the mean over hosts of each host's integral of u², less the integral
        of U².
        """
        if not self.makespan_s > 0:
            return None
        cores = np.array([node.cores for node in self.schedule.cluster.nodes], dtype=np.float64)
        hosts = int(np.count_nonzero(cores > 0))  # A host without cores has no core utilization.
        if hosts <= 1:
            return 0.0
        changes = self.changes(CORES)
        changes = changes.take(cores[changes.node] > 0)
        mean_of_square = _host_squares(changes, cores) / hosts
        variance = mean_of_square - _square_of_sum(changes, cores) / hosts**2
        return float(variance / MILLI / self.makespan_s) if variance > ROUNDING_NOISE * mean_of_square else 0.0

    def weighted_gpu_utilization(self) -> float | None:
        """Returns which part of the cluster's FLOPS was in use; None without GPUs, or if not all are rated."""
        nodes, total_gpus = self.schedule.cluster.nodes, self.schedule.cluster.total_gpus
        if not self.makespan_s > 0 or not total_gpus or any(node.gpus and node.tflops is None for node in nodes):
            return None
        tflops = np.array([node.tflops or 0.0 for node in nodes])
        segments = self.segments
        gpus = self.schedule.workload.jobs["gpus_per_task"].to_numpy()[segments.job[segments.entry]] * segments.tasks
        length_ms = self.end_ms - self.start_ms
        used = float(np.sum(gpus * tflops[segments.nodes] * length_ms[segments.entry])) / MILLI
        return used / (self.makespan_s * float(np.sum(tflops * [node.gpus for node in nodes])))

    def nodes_per_job(self) -> float | None:
        """Returns on how many nodes a job with GPUs ran at last, on average; None if there is none."""
        counted = self.segments.last & (self.schedule.gpus[self.segments.job] > 0)
        nodes = np.diff(self.segments.node_offsets)[counted]
        return float(np.mean(nodes)) if len(nodes) else None

    def fragmentation(self) -> float | None:
        """Returns the time mean of the part of the free whole GPUs that stand on partly used nodes."""
        return self._scattered_gpus[0]

    def partly_used_nodes(self) -> float | None:
        """Returns the time mean of the number of nodes some of whose GPUs are in use."""
        return self._scattered_gpus[1]

    @cached_property
    def _scattered_gpus(self) -> tuple[float | None, float | None]:
        """The time means of the fragmentation and of the number of partly used nodes; None without GPUs."""
        total = np.array([node.gpus for node in self.schedule.cluster.nodes], dtype=np.int64)
        if not self.makespan_s > 0 or not total.any():
            return None, None
        per_task = np.rint(self.schedule.workload.jobs["gpus_per_task"].to_numpy() * MILLI).astype(np.int64)
        found = scattered_gpus(self.segments, self.start_ms, self.end_ms, per_task, total)
        lasts_ms, makespan_ms = np.diff(found.time_ms), self.makespan_s * MILLI
        levels = (found.share, found.partly_used)
        fragmentation, partly_used = (float(np.sum(level[:-1] * lasts_ms)) for level in levels)
        return fragmentation / makespan_ms, partly_used / makespan_ms

    def preemptions(self) -> float | None:
        """Returns how often a job was preempted; None where no job ran."""
        return self._if_any_ran(self.schedule.preemptions.sum())

    def failures(self) -> float | None:
        """Returns how often a node failed under a job; None where no job ran."""
        return self._if_any_ran(0 if self.schedule.failures is None else self.schedule.failures.sum())

    def migrations(self) -> float | None:
        """Returns how often a job that was stopped started again on another set of nodes; None where no job ran."""
        segments = self.segments
        again = segments.job[1:] == segments.job[:-1]
        if not again.any():
            return self._if_any_ran(0)
        entries = pl.DataFrame({"segment": segments.entry, "node": segments.nodes})
        nodes = entries.sort("segment", "node").group_by("segment", maintain_order=True).agg("node")["node"]
        moved = nodes.slice(1).ne_missing(nodes.slice(0, len(nodes) - 1)).to_numpy()
        return float(np.count_nonzero(moved & again))

    def milp_fallbacks(self) -> float | None:
        """Returns how often a solver gave no placement, and another rule stood in; None under other placements."""
        name = self.schedule.settings.placement.partition("?")[0]
        if name not in PYTHON_PLACEMENTS:
            return None
        entries = self.schedule.ledger.entries
        return self._if_any_ran(sum(entry.count for entry in entries if entry.rule.startswith(f"{name}: ")))

    def _if_any_ran(self, count: float) -> float | None:
        """Returns a count of stops; None where no job ever held a node, so that none could be stopped."""
        return float(count) if len(self.segments.job) else None


@dataclass(frozen=True)
class ScatteredGpus:
    """How free GPUs lie over nodes as time goes by; each value holds from its time until the next."""

    time_ms: NDArray[np.float64]
    share: NDArray[np.float64]
    """The part of the free whole GPUs that stand on partly used nodes."""
    partly_used: NDArray[np.int64]
    """Nodes some of whose GPUs are in use."""


def scattered_gpus(
    segments: Segments,
    start_ms: NDArray[np.float64],
    end_ms: NDArray[np.float64],
    per_task: NDArray[np.int64],
    total: NDArray[np.int64],
) -> ScatteredGpus:
    """Returns how free GPUs lie over nodes as time goes by.

    Args:
        segments: Who held which nodes.
        start_ms: Of each segment.
        end_ms: Of each segment.
        per_task: The milli-GPUs of one task, by job.
        total: The GPUs of each node.
    """
    time_ms, node, used = _gpu_levels(segments, start_ms, end_ms, per_task)
    partly = (used > 0) & (used < MILLI * total[node])
    # A fraction of a GPU is taken to lie where others do: what is left of the node is whole as far as it can be.
    free = np.maximum(MILLI * total[node] - used, 0) // MILLI
    order = np.argsort(time_ms, kind="stable")
    first = np.concatenate([[True], node[1:] != node[:-1]]) if len(node) else np.zeros(0, dtype=np.bool_)
    free_now = int(total.sum()) + np.cumsum(_steps(free, first, total[node])[order])
    scattered_now = np.cumsum(_steps(np.where(partly, free, 0), first, 0)[order])
    partly_now = np.cumsum(_steps(partly.astype(np.int64), first, 0)[order])
    share = np.divide(scattered_now, free_now, out=np.zeros(len(order)), where=free_now > 0)
    return ScatteredGpus(time_ms[order], share, partly_now)


def _gpu_levels(
    segments: Segments, start_ms: NDArray[np.float64], end_ms: NDArray[np.float64], per_task: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int64]]:
    """Returns time, node and the milli-GPUs in use there from then on, by node and time, one row an instant."""
    taken = per_task[segments.job[segments.entry]] * segments.tasks
    kept = np.flatnonzero(taken)
    entry, node, taken = segments.entry[kept], segments.nodes[kept], taken[kept]
    time_ms = np.concatenate([start_ms[entry], end_ms[entry]])
    node = np.concatenate([node, node])
    order = np.lexsort((time_ms, node))
    time_ms, node = time_ms[order], node[order]
    # One running sum serves all nodes: each node's changes add up to 0 before the next node's begin.
    used = np.cumsum(np.concatenate([taken, -taken])[order])
    last = np.ones(len(order), dtype=np.bool_)
    last[:-1] = (time_ms[1:] != time_ms[:-1]) | (node[1:] != node[:-1])
    return time_ms[last], node[last], used[last]


def queue_changes(
    eligible_ms: NDArray[np.float64], segments: Segments, left_ms: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Returns when the number of waiting jobs changes, and by how much.

    A job waits from when it may run, and again from each stop, until the next start, or until it leaves.

    Args:
        eligible_ms: Of every job that ever waits.
        segments: Who held nodes.
        left_ms: When those left that never started.
    """
    waits_from = np.concatenate([eligible_ms, segments.end_ms[~segments.last]])
    waits_until = np.concatenate([segments.start_ms, left_ms])
    change = np.repeat(np.array([1, -1], dtype=np.int64), [len(waits_from), len(waits_until)])
    return np.concatenate([waits_from, waits_until]), change


def _host_squares(changes: Changes, cores: NDArray[np.float64]) -> float:
    """Returns the sum over hosts of the integral of the squared utilization over time, in ms."""
    changes = changes.take(np.lexsort((changes.time_ms, changes.node)))
    # One running sum serves all hosts: each host's changes add up to 0 before the next host's begin.
    used = np.cumsum(changes.milli) / MILLI / cores[changes.node]
    return float(np.sum(used[:-1] ** 2 * np.diff(changes.time_ms)))


def _square_of_sum(changes: Changes, cores: NDArray[np.float64]) -> float:
    """Returns the integral over time of the square of the hosts' utilizations added up, in ms."""
    changes = changes.take(np.argsort(changes.time_ms, kind="stable"))
    host_cores = cores[changes.node]
    total = np.zeros(len(host_cores))
    # Hosts of one size are summed in whole milli-cores, so that no rounding piles up over a million jobs.
    for size in np.unique(host_cores):
        total += np.cumsum(np.where(host_cores == size, changes.milli, 0)) / MILLI / size
    return float(np.sum(total[:-1] ** 2 * np.diff(changes.time_ms)))


def _steps(level: NDArray[np.int64], first: NDArray[np.bool_], before: NDArray[np.int64] | int) -> NDArray[np.int64]:
    """Returns by how much each node's level changes at each of its rows, from what it was before the first."""
    return level - np.where(first, before, np.roll(level, 1))
