"""How long work takes at a speed; what a log says of a job's time is for the speed 1, which is 1,000,000 millionths."""

from __future__ import annotations

from collections.abc import Sequence

from tests.reference.locality import COMPACT, NONE_MICRO, slowdown_micro, spreads, spreads_of, widest_level
from tests.reference.model import Allocation, Config, RefJob, RefNode
from tests.reference.resources import speed_on, usable

USUAL_MICRO = 1_000_000


def slowed_on(job: RefJob, node: RefNode, config: Config, at: int) -> int:
    """Returns how fast a job runs on a node if its nodes are so far apart, in millionths."""
    return max(1, speed_on(job, node) * NONE_MICRO // slowdown_micro(job, node, config, at))


def speed_micro(job: RefJob, allocation: Allocation, nodes: Sequence[RefNode], config: Config) -> int:
    """Returns the speed of a job where it was placed: that on the slowest node; without GPUs, the usual one."""
    if job.gpu_milli == 0:
        return USUAL_MICRO
    numbers = [share.node for share in allocation]
    around = spreads_of(spreads(job, nodes, config), numbers)
    at = min((spread.level(numbers) for spread in around), default=COMPACT)
    return min(slowed_on(job, nodes[number], config, at) for number in numbers)


def least_speed_micro(job: RefJob, nodes: Sequence[RefNode], config: Config) -> int:
    """Returns the speed of the job on the slowest node that it may ever use, as far apart as it may ever be."""
    if job.gpu_milli == 0:
        return USUAL_MICRO
    found = spreads(job, nodes, config)
    if not found:
        return min(speed_on(job, nodes[number]) for number in usable(job, nodes) if nodes[number].gpus)
    speeds = []
    for spread in found:
        last = spread.widest if config.locality_wait_ms is None else widest_level(nodes)
        for number in spread.usable:
            speeds += [slowed_on(job, nodes[number], config, at) for at in range(spread.best, last + 1)]
    return min(speeds)


def lasts_ms(work_ms: int, speed: int) -> int:
    """Returns how long so much work takes at a speed, rounded up."""
    return -(-work_ms * USUAL_MICRO // speed)


def done_ms(held_ms: int, speed: int) -> int:
    """Returns how much work is done in so long a time at a speed, rounded down."""
    return held_ms * speed // USUAL_MICRO
