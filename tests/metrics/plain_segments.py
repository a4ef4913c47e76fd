"""The metrics of GPUs and of stops by their definitions: one segment, one node and one interval at a time."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from shunter.model.schedule import Outcome, Schedule


@dataclass(frozen=True)
class Piece:
    """A segment."""

    job: int
    start: float
    end: float
    nodes: dict[int, int]
    last: bool
    by_failure: bool = False


def pieces(schedule: Schedule) -> list[Piece]:
    """Returns all segments, those of each job in the order of time."""
    found = []
    latest = schedule.start_s if schedule.latest_start_s is None else schedule.latest_start_s
    for job in range(len(schedule)):
        if stops := schedule.stops:
            for row in range(len(stops)):
                if stops.job[row] == job:
                    places = range(stops.node_offsets[row], stops.node_offsets[row + 1])
                    nodes = {int(stops.nodes[place]): int(stops.tasks[place]) for place in places}
                    times = float(stops.start_s[row]), float(stops.end_s[row])
                    found.append(Piece(job, *times, nodes, last=False, by_failure=bool(stops.by_failure[row])))
        if schedule.end_s[job] == schedule.end_s[job] and schedule.start_s[job] == schedule.start_s[job]:
            places = range(schedule.placement_offsets[job], schedule.placement_offsets[job + 1])
            nodes = {int(schedule.placement_nodes[place]): int(schedule.placement_tasks[place]) for place in places}
            found.append(Piece(job, float(latest[job]), float(schedule.end_s[job]), nodes, True))
    return found


def plain_gpu_metrics(schedule: Schedule) -> dict[str, float | None]:
    """Returns the metrics of GPUs and of stops."""
    found = pieces(schedule)
    per_task = schedule.workload.jobs["gpus_per_task"].to_list()
    nodes = schedule.cluster.nodes
    first = min(s for s, out in zip(schedule.workload.jobs["submit_s"], schedule.outcome, strict=True) if out != 2)
    last = max(piece.end for piece in found if piece.last)
    moments = sorted({first, last, *(min(t, last) for piece in found for t in (piece.start, piece.end))})
    used_s = weighted_s = scattered_s = partly_s = 0.0
    for begin, end in pairwise(moments):
        used = [0.0] * len(nodes)
        for piece in found:
            if piece.start <= begin and piece.end >= end:
                for node, tasks in piece.nodes.items():
                    used[node] += tasks * per_task[piece.job]
        used = [round(amount, 3) for amount in used]
        length = end - begin
        used_s += sum(used) * length
        weighted_s += sum(amount * (node.tflops or 0) for amount, node in zip(used, nodes, strict=True)) * length
        free = [max(int(node.gpus - amount + 1e-9), 0) for amount, node in zip(used, nodes, strict=True)]
        partly = [0 < amount < node.gpus for amount, node in zip(used, nodes, strict=True)]
        if sum(free):
            scattered_s += length * sum(f for f, p in zip(free, partly, strict=True) if p) / sum(free)
        partly_s += length * sum(partly)
    makespan = last - first
    on = [len(piece.nodes) for piece in found if piece.last and per_task[piece.job] > 0]
    return {
        "gpu_utilization": used_s / makespan / sum(node.gpus for node in nodes),
        "flops_weighted_utilization": (
            weighted_s / makespan / sum(node.gpus * node.tflops for node in nodes if node.tflops)
            if all(node.tflops for node in nodes if node.gpus)
            else None
        ),
        "mean_fragmentation": scattered_s / makespan,
        "mean_partly_used_nodes": partly_s / makespan,
        "nodes_per_job": sum(on) / len(on) if on else None,
        "preemptions": float(schedule.preemptions.sum()),
        "failures": 0.0 if schedule.failures is None else float(schedule.failures.sum()),
        "migrations": float(
            sum(one.job == other.job and set(one.nodes) != set(other.nodes) for one, other in pairwise(found))
        ),
        "lost_gpu_hours": plain_lost_hours(schedule, found),
    }


def plain_lost_hours(schedule: Schedule, found: list[Piece]) -> float | None:
    """Returns the GPU-hours that brought no job ahead."""
    jobs = schedule.workload.jobs.rows(named=True)
    if not any(job["gpus_per_task"] for job in jobs):
        return None
    lost = 0.0
    for row, job in enumerate(jobs):
        own = [piece for piece in found if piece.job == row]
        if all(piece.last for piece in own):
            continue
        for number, piece in enumerate(own):
            length = piece.end - piece.start
            in_vain = not piece.last and not is_kept(schedule, piece)
            if in_vain or schedule.outcome[row] not in (Outcome.COMPLETED, Outcome.KILLED):
                wasted = length
            else:
                wasted = min(length, schedule.settings.preemption_overhead_s if number else 0.0)
            lost += wasted * job["tasks"] * job["gpus_per_task"] / 3600
    return lost


def is_kept(schedule: Schedule, piece: Piece) -> bool:
    """Returns whether the progress of a segment was kept that did not end its job."""
    settings = schedule.settings
    return (settings.failed_progress if piece.by_failure else settings.preempted_progress) == "kept"
