"""How long work takes on fast and slow nodes; what a log says of a job's time is for the speed 1, or 1,000 milli."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tests.reference.model import Allocation, RefJob, RefNode
from tests.reference.resources import usable

USUAL_MILLI = 1000


def slowest_milli(job: RefJob, numbers: Iterable[int], nodes: Sequence[RefNode]) -> int:
    """Returns the speed of a job on several nodes: that of the slowest; a job without GPUs runs at the usual speed."""
    if job.gpu_milli == 0:
        return USUAL_MILLI
    return min(nodes[number].speed_milli for number in numbers)


def speed_milli(job: RefJob, allocation: Allocation, nodes: Sequence[RefNode]) -> int:
    """Returns the speed of a job where it was placed."""
    return slowest_milli(job, [share.node for share in allocation], nodes)


def least_speed_milli(job: RefJob, nodes: Sequence[RefNode]) -> int:
    """Returns the speed of the slowest node that the job may ever use."""
    return slowest_milli(job, [number for number in usable(job, nodes) if nodes[number].gpus], nodes)


def lasts_ms(work_ms: int, speed: int) -> int:
    """Returns how long so much work takes at a speed, rounded up."""
    return -(-work_ms * USUAL_MILLI // speed)


def done_ms(held_ms: int, speed: int) -> int:
    """Returns how much work is done in so long a time at a speed, rounded down."""
    return held_ms * speed // USUAL_MILLI
