"""Makes the small clusters and jobs of the examples that are worked out by hand."""

from __future__ import annotations

from typing import Any

from tests.reference.asking import Ask, TasksOn, candidates
from tests.reference.fragments import classes_of
from tests.reference.model import DEVICE_MILLI, Allocation, RefJob, RefNode
from tests.reference.placements import place_job
from tests.reference.resources import Free, FreeNodes, empty, usable

A, B = 0, 1
NOWHERE = 1 << 62


def gpu_node(gpus: int, gpu_type: int | None = A, speed_milli: int = 1000, **rest: Any) -> RefNode:  # noqa: ANN401
    """Returns a node with cores for everybody."""
    return RefNode(64_000, gpus=gpus, gpu_type=gpu_type, speed_milli=speed_milli, **rest)


def placed(
    rule: str, job: RefJob, nodes: list[RefNode], free_gpus: list[int] | None = None, mix: bool = False
) -> Allocation | None:
    """Returns where a job goes when each node has so many devices free, all if it is not said."""
    free: FreeNodes = empty(nodes)
    if free_gpus is not None:
        free = tuple(
            Free(one.cores_milli, one.memory_mb, (0,) * (node.gpus - gpus) + (DEVICE_MILLI,) * gpus)
            for one, node, gpus in zip(free, nodes, free_gpus, strict=True)
        )
    own = usable(job, nodes)
    everywhere = tuple(range(len(nodes)))
    ask = Ask(job, 0, nodes, tuple(own), free, candidates(job, own, free), everywhere, mix, 0, classes_of([job]))
    return place_job(rule, ask)


def tasks_on(allocation: Allocation | None) -> TasksOn | None:
    """Returns how many tasks each node got."""
    return None if allocation is None else {share.node: share.tasks for share in allocation}


def gang(tasks: int, gpus: int = 1, gpu_types: int = 0, run_ms: int = 1000, submit_ms: int = 0) -> RefJob:
    """Returns a job of tasks with whole GPUs."""
    return RefJob(submit_ms, run_ms, tasks=tasks, gpu_milli=1000 * gpus, gpu_types=gpu_types)
