"""PickJob's look-ahead: what will be free when, if running jobs end as expected."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tests.reference.model import Share
from tests.reference.projection import Hold, running_holds
from tests.reference.state import State

MINUTE_S = 60
WEEK_S = 604_800
NEVER_MS = 10**15
"""When what is down is up again: nobody knows."""


@dataclass(frozen=True)
class Lookahead:
    """Which numbers, and how many."""

    kind: str = "cdf"
    size: int = 16


@dataclass(frozen=True)
class Stretch:
    """A part of the capacity (in thousandths of a GPU or core) that is free from a time on."""

    amount: int
    free_ms: int


def scaled_log(seconds: float) -> float:
    """Returns *L* of a time: 14 days are about 1, which is also the most."""
    return min(math.log(1 + seconds) / 14, 1.0)


def lookahead_numbers(state: State, lookahead: Lookahead) -> list[float]:
    """Returns the look-ahead."""
    if lookahead.kind == "cdf":
        return parts_free(state, lookahead.size)
    if lookahead.kind == "off":
        return [0.0] * lookahead.size
    times = [scaled_log((free_ms - state.now_ms) / 1000) for free_ms in slices_free_ms(state, lookahead.size)]
    return sorted(times) if lookahead.kind == "sorted" else times


def parts_free(state: State, size: int) -> list[float]:
    """Returns the part of the capacity that is free now, and after each of the other horizons."""
    total, amounts = all_capacity(state)
    return [
        1 - sum(stretch.amount for stretch in amounts if stretch.free_ms - state.now_ms > horizon_s * 1000) / total
        for horizon_s in horizons_s(size)
    ]


def all_capacity(state: State) -> tuple[int, list[Stretch]]:
    """Returns how much capacity there is, what running jobs hold of it, and what is down."""
    gpus = sum(node.gpus for node in state.nodes)
    lost = [state.nodes[node] for node in state.failures.down]
    down = [Stretch(1000 * node.gpus if gpus else node.cores_milli, NEVER_MS) for node in lost]
    jobs = [(state.jobs[hold.job], hold.until_ms) for hold in running_holds(state)]
    if gpus:
        return 1000 * gpus, [*down, *(Stretch(job.tasks * job.gpu_milli, until_ms) for job, until_ms in jobs)]
    return state.total_cores_milli, [*down, *(Stretch(job.total_cores_milli, until_ms) for job, until_ms in jobs)]


def horizons_s(size: int) -> list[float]:
    """Returns nothing, and times from a minute to a week, evenly spaced in the logarithm."""
    steps = max(size - 2, 1)
    return [0.0, *(MINUTE_S * (WEEK_S / MINUTE_S) ** (step / steps) for step in range(size - 1))]


def slices_free_ms(state: State, size: int) -> list[int]:
    """Returns when each of the equal slices of the capacity is free from end to end."""
    stretches = capacity_line(state)
    total = sum(stretch.amount for stretch in stretches)
    free_ms = [state.now_ms] * size
    begin = 0
    for stretch in stretches:
        end = begin + stretch.amount
        for number in range(size):
            if begin * size < (number + 1) * total and number * total < end * size:
                free_ms[number] = max(free_ms[number], stretch.free_ms)
        begin = end
    return free_ms


def capacity_line(state: State) -> list[Stretch]:
    """Returns the capacity by devices, or by nodes where there are no GPUs."""
    holds = running_holds(state)
    by_devices = any(node.gpus for node in state.nodes)
    line = devices(state, holds) if by_devices else nodes(state, holds)
    return [stretch for stretch in line if stretch.amount]


def devices(state: State, holds: list[Hold]) -> list[Stretch]:
    """Returns when each device is free of everybody."""
    line = []
    for number, node in enumerate(state.nodes):
        for device in range(node.gpus):
            until_ms = [hold.until_ms for hold, share in shares_on(holds, number) if share.devices[device]]
            line.append(Stretch(1000, max(until_ms, default=free_from_ms(state, number))))
    return line


def nodes(state: State, holds: list[Hold]) -> list[Stretch]:
    """Returns for each node what its jobs hold, in the order of their starts, and then what is free of it."""
    line = []
    for number, free in enumerate(state.free_now()):
        for hold, share in shares_on(holds, number):
            line.append(Stretch(share.tasks * state.jobs[hold.job].cores_milli, hold.until_ms))
        line.append(Stretch(free.cores_milli, free_from_ms(state, number)))
    return line


def free_from_ms(state: State, node: int) -> int:
    """Returns from when on what nobody holds of a node can be had: now, unless it is down."""
    return NEVER_MS if node in state.failures.down else state.now_ms


def shares_on(holds: list[Hold], node: int) -> list[tuple[Hold, Share]]:
    """Returns what is held on a node, in the order of starts."""
    return [(hold, share) for hold in holds for share in hold.allocation if share.node == node]
