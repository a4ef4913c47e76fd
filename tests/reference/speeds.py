"""How long work takes at a speed; what a log says of a job's time is for the speed 1, which is 1,000,000 millionths."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tests.reference.model import Allocation, RefJob, RefNode
from tests.reference.resources import usable

USUAL_MICRO = 1_000_000


def speed_on(job: RefJob, node: RefNode) -> int:
    """Returns how fast a node's GPUs run a job, in millionths: as its kind says, or as the node does."""
    if job.speed_micro is not None and node.gpu_type is not None:
        return job.speed_micro[node.gpu_type]
    return node.speed_milli * 1000


def slowest_micro(job: RefJob, numbers: Iterable[int], nodes: Sequence[RefNode]) -> int:
    """Returns the speed of a job on several nodes: that of the slowest; a job without GPUs runs at the usual speed."""
    if job.gpu_milli == 0:
        return USUAL_MICRO
    return min(speed_on(job, nodes[number]) for number in numbers)


def speed_micro(job: RefJob, allocation: Allocation, nodes: Sequence[RefNode]) -> int:
    """Returns the speed of a job where it was placed."""
    return slowest_micro(job, [share.node for share in allocation], nodes)


def least_speed_micro(job: RefJob, nodes: Sequence[RefNode]) -> int:
    """Returns the speed of the slowest node that the job may ever use."""
    return slowest_micro(job, [number for number in usable(job, nodes) if nodes[number].gpus], nodes)


def lasts_ms(work_ms: int, speed: int) -> int:
    """Returns how long so much work takes at a speed, rounded up."""
    return -(-work_ms * USUAL_MICRO // speed)


def done_ms(held_ms: int, speed: int) -> int:
    """Returns how much work is done in so long a time at a speed, rounded down."""
    return held_ms * speed // USUAL_MICRO
