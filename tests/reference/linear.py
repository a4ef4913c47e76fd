"""The policy ``linear``: its score, its threshold for reservations, and its gate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tests.reference.arithmetic import added

if TYPE_CHECKING:
    from tests.reference.policies import Order
    from tests.reference.state import State

HOUR_S = 3600
DAY_S = 86_400


def linear_score(state: State, place: int, looked_at: Sequence[int]) -> float:
    """Returns the job's score now; the queue is that of the jobs that the pass looks at."""
    r, n = at_least_a_second(state, place), size(state, place)
    capacity = state.sizes.capacity_milli / 1000
    x, y, w = math.log(r / DAY_S), math.log(n / capacity), state.wait_s(place)
    f = state.free_milli() / state.sizes.capacity_milli
    area = added(at_least_a_second(state, other) * size(state, other) for other in looked_at)
    q = math.log(1 + area / (capacity * HOUR_S))

    def weight(key: str) -> float:
        return state.policy.number(key, 1 if key == "estimate" else 0)

    return (
        weight("estimate") * x
        + weight("size") * y
        - weight("wait") * w / HOUR_S
        - weight("wait_ratio") * w / r
        + f * (weight("free_estimate") * x + weight("free_size") * y)
        + q * (weight("queue_estimate") * x + weight("queue_size") * y)
    )


def at_least_a_second(state: State, place: int) -> float:
    """Returns the estimate as it counts in a logarithm and in a ratio."""
    return max(state.estimate_s(place), 1.0)


def size(state: State, place: int) -> float:
    """Returns the job's size, at least a thousandth."""
    return max(state.sizes.size(state.jobs[place]), 0.001)


def may_reserve(state: State, order: Order, place: int) -> bool:
    """Tells whether the job may hold a reservation."""
    if state.policy.name != "linear" or place in order.starving:
        return True
    return order.scores[place] <= state.policy.number("reserve_below", math.inf)


def is_passed_over(state: State, order: Order, place: int) -> bool:
    """Tells whether a pass takes no notice of the job: it fits but is held back, or may hold no reservation."""
    if state.policy.name != "linear" or place in order.starving:
        return False
    if state.place(place, state.free_now()) is None:
        return not may_reserve(state, order, place)
    return is_held_back(state, place)


def is_held_back(state: State, place: int) -> bool:
    """Tells whether the job, though it fits, has to leave room for shorter ones to come."""
    job, policy = state.jobs[place], state.policy
    if not state.running or state.wait_s(place) >= policy.number("hold_patience_s", math.inf):
        return False
    left = (1000 * state.free_milli() - state.sizes.micro(job)) / (1000 * state.sizes.capacity_milli)
    length = math.log(at_least_a_second(state, place) / policy.number("hold_from_s", HOUR_S))
    wanted = policy.number("hold_share", 0) * max(0.0, length)
    # Where nothing is to be left, nobody is held back, not even a job whose size is more than what is free.
    return wanted > 0 and left < wanted
