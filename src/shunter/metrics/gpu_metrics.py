"""How well the GPUs of a cluster were used, and how scattered what was free of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shunter.metrics.usage import MILLI, held_seconds, within_makespan

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.model.schedule import Schedule


def gpu_metrics(schedule: Schedule, makespan_s: float | None) -> dict[str, float | None]:
    """Returns the metrics of GPUs by name; None where the cluster has none, or where one has no meaning."""
    fragmentation, partly_used = _scattered(schedule, makespan_s)
    return {
        "gpu_utilization": _utilization(schedule, makespan_s),
        "flops_weighted_utilization": _weighted_utilization(schedule, makespan_s),
        "mean_fragmentation": fragmentation,
        "mean_partly_used_nodes": partly_used,
        "nodes_per_job": _nodes_per_job(schedule),
    }


def _utilization(schedule: Schedule, makespan_s: float | None) -> float | None:
    total = schedule.cluster.total_gpus
    if not makespan_s or not total:
        return None
    return float(np.sum(schedule.gpus * held_seconds(schedule))) / (makespan_s * total)


def _weighted_utilization(schedule: Schedule, makespan_s: float | None) -> float | None:
    nodes = schedule.cluster.nodes
    if not makespan_s or not schedule.cluster.total_gpus or any(node.gpus and node.tflops is None for node in nodes):
        return None
    tflops = np.array([node.tflops or 0.0 for node in nodes])
    segments = schedule.segments
    gpus = schedule.workload.jobs["gpus_per_task"].to_numpy()[segments.job[segments.entry]] * segments.tasks
    length_ms = within_makespan(schedule, segments.end_ms) - within_makespan(schedule, segments.start_ms)
    used = float(np.sum(gpus * tflops[segments.nodes] * length_ms[segments.entry])) / MILLI
    return used / (makespan_s * float(np.sum(tflops * [node.gpus for node in nodes])))


def _nodes_per_job(schedule: Schedule) -> float | None:
    segments = schedule.segments
    counted = segments.last & (schedule.gpus[segments.job] > 0)
    nodes = np.diff(segments.node_offsets)[counted]
    return float(np.mean(nodes)) if len(nodes) else None


def _scattered(schedule: Schedule, makespan_s: float | None) -> tuple[float | None, float | None]:
    """Returns the time means of the fragmentation and of the number of partly used nodes."""
    total = np.array([node.gpus for node in schedule.cluster.nodes], dtype=np.int64)
    if not makespan_s or not total.any():
        return None, None
    time_ms, node, used = _levels(schedule)
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


def _levels(schedule: Schedule) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int64]]:
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
