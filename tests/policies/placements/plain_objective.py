"""The objective of placements by optimization, written out as plainly as it is defined."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from shunter.policies.own import MILLI, Request, Scene
from shunter.policies.placements.scene_objective import NODE_COST, Weights


def objective(scene: Scene, assignment: Sequence[tuple[int, int]], weights: Weights) -> float:
    """Returns what the cluster is worth after a placement of the scene's job on whole GPUs; less is better."""
    tasks_on = dict(assignment)
    request = scene.request
    partly_used = 0
    free_by_node: list[int] = []
    waiting = [scene.requests[job] for job in scene.waiting[: weights.k]]
    hosts = 0
    for node in range(len(scene.gpus)):
        tasks = tasks_on.get(node, 0)
        gpus = int(scene.free_gpus[node]) - tasks * request.gpus
        cores_milli = int(scene.free_cores_milli[node]) - tasks * request.cores_milli
        memory_mb = int(scene.free_memory_mb[node]) - tasks * request.memory_mb
        if scene.gpus[node] > 0:
            partly_used += 0 < gpus < scene.gpus[node]
            free_by_node.append(gpus)
        hosts += sum(can_host(scene, node, job, gpus, cores_milli, memory_mb) for job in waiting)
    spread = max(free_by_node) - min(free_by_node) if free_by_node else 0
    hosts_on_average = hosts / len(waiting) if waiting else 0.0
    value = weights.alpha * partly_used + weights.beta * spread - weights.gamma * hosts_on_average
    return value + NODE_COST * len(assignment)


def can_host(scene: Scene, node: int, job: Request, gpus: int, cores_milli: int, memory_mb: int) -> bool:
    """Returns whether what is free on a node holds a job, or as much of it as the node would hold if it were empty."""
    total_mb = int(scene.memory_mb[node])
    tracked = total_mb >= 0
    tasks = _most_tasks(job, int(scene.gpus[node]), int(scene.cores_milli[node]), total_mb if tracked else math.inf)
    return tasks > 0 and _holds(tasks, job, gpus, cores_milli, memory_mb if tracked else math.inf)


@lru_cache(maxsize=4096)
def _most_tasks(job: Request, gpus: int, cores_milli: int, memory_mb: float) -> int:
    tasks = 0
    while tasks < job.tasks and _holds(tasks + 1, job, gpus, cores_milli, memory_mb):
        tasks += 1
    return tasks


def _holds(tasks: int, job: Request, gpus: int, cores_milli: int, memory_mb: float) -> bool:
    devices = tasks * job.gpus
    if 0 < job.gpu_milli < MILLI:
        devices = math.ceil(tasks / (MILLI // job.gpu_milli))
    return devices <= gpus and tasks * job.cores_milli <= cores_milli and tasks * job.memory_mb <= memory_mb
