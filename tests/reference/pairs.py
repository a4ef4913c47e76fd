"""Which types of GPUs a job takes: by prices, by the earliest finish, or by a score over pairs of jobs and types."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tests.reference.arithmetic import added
from tests.reference.linear import DAY_S, HOUR_S, at_least_a_second, size
from tests.reference.model import Allocation, Config, RefJob, RefNode
from tests.reference.resources import capacity, empty, has_wanted_type, pools, speed_on, without
from tests.reference.speeds import USUAL_MICRO, lasts_ms

if TYPE_CHECKING:
    from tests.reference.resources import FreeNodes
    from tests.reference.state import State

DEFAULTS = {"estimate": 1.0, "lost_price": 1.0, "accept": math.log(1.2)}
"""The parameters of the score that are not 0 by default."""


@dataclass(frozen=True)
class OnType:
    """A type of GPU that can hold a job."""

    number: int | None
    speed_micro: int
    job: RefJob
    """The job as it asks for this type alone."""


def types_of(job: RefJob, nodes: Sequence[RefNode]) -> list[OnType]:
    """Returns the types that can hold the job; one without GPUs goes anywhere."""
    if job.gpu_milli == 0:
        return [OnType(None, USUAL_MICRO, job)]
    free = empty(nodes)
    found: list[OnType] = []
    for pool in pools(job, nodes):
        first = nodes[pool[0]]
        assert first.gpu_type is not None, "types are chosen where every GPU has one"
        holds = sum(capacity(job, free[node]) for node in pool) >= job.tasks
        is_new = all(other.number != first.gpu_type for other in found)
        if is_new and holds and has_wanted_type(job, first):
            alone = replace(job, gpu_types=1 << first.gpu_type)
            found.append(OnType(first.gpu_type, speed_on(job, first), alone))
    return found


def cost(one: OnType, config: Config) -> float:
    """Returns what a second of the job's work costs on a type."""
    price = 1.0 if one.number is None or not config.prices else config.prices[one.number]
    return price / one.speed_micro


def within_price(job: RefJob, nodes: Sequence[RefNode], config: Config) -> RefJob:
    """Returns the job as it asks for those types alone that cost little more than its cheapest."""
    types = types_of(job, nodes)
    if job.gpu_milli == 0 or not types:
        return job
    cheapest = min(cost(one, config) for one in types)
    taken = [one.number for one in types if cost(one, config) <= config.price_factor * cheapest]
    return replace(job, gpu_types=sum(1 << number for number in taken if number is not None))


def target(state: State, job: int) -> RefJob:
    """Returns the job as it asks for the type on which it ends first; it may have to wait for it.

    Of types that have room now only the fastest is looked at, and then those that are faster still.
    """
    own = state.jobs[job]
    types = types_of(own, state.nodes)
    if own.gpu_milli == 0:
        return own
    with_room = [one for one in types if state.place(job, state.free_now(), wanted=one.job) is not None]
    now = max(with_room, key=lambda one: one.speed_micro, default=None)
    found = [] if now is None else [(finish_ms(state, job, state.now_ms, now), state.now_ms, now)]
    for one in types:
        if one not in with_room and (now is None or one.speed_micro > now.speed_micro):
            start_ms = earliest_ms(state, job, one)
            if start_ms is not None:
                found.append((finish_ms(state, job, start_ms, one), start_ms, one))
    return min(found, key=lambda each: each[:2])[2].job if found else own


def finish_ms(state: State, job: int, start_ms: int, one: OnType) -> int:
    """Returns when the job is expected to end on a type, close together."""
    return start_ms + state.overhead_ms(job) + lasts_ms(state.limit_ms(job), one.speed_micro)


def earliest_ms(state: State, job: int, one: OnType) -> int | None:
    """Returns when a job that has no room on a type now does, if running jobs end when expected; None: never."""
    ends = {max(running.limit_end_ms, state.now_ms + 1) for running in state.running}
    if (until_ms := state.patient_until_ms(job)) is not None and until_ms > state.now_ms:
        ends.add(until_ms)
    for time_ms in sorted(ends):
        if state.place(job, free_then(state, time_ms), time_ms, wanted=one.job) is not None:
            return time_ms
    return None


def free_then(state: State, time_ms: int) -> FreeNodes:
    """Returns what is free at a time if running jobs end when expected."""
    free = empty(state.nodes)
    for running in state.running:
        if max(running.limit_end_ms, state.now_ms + 1) > time_ms:
            free = without(free, state.jobs[running.job], running.allocation)
    return free


@dataclass(frozen=True)
class Head:
    """A job that is promised a time on some types."""

    job: int
    wanted: RefJob
    start_ms: int

    def admits(self, state: State, job: int, allocation: Allocation) -> bool:
        """Tells whether the head still fits at its time if a job starts now."""
        if state.now_ms + state.duration_ms(job, allocation) <= self.start_ms:
            return True
        free = without(free_then(state, self.start_ms), state.jobs[job], allocation)
        return state.place(self.job, free, self.start_ms, wanted=self.wanted) is not None


def head_of(state: State, job: int, wanted: RefJob) -> Head | None:
    """Returns the promise to a job that has no room now; None: it would have none though all jobs had ended."""
    one = OnType(None, USUAL_MICRO, wanted)
    start_ms = earliest_ms(state, job, one)
    if start_ms is not None:
        return Head(job, wanted, start_ms)
    any_type = OnType(None, USUAL_MICRO, state.jobs[job])
    ends = [max(running.limit_end_ms, state.now_ms + 1) for running in state.running]
    # Nodes are down: where another type could hold it, the promise is that all have ended.
    last_ms = max(ends, default=state.now_ms)
    fits_idle = state.place(job, empty(state.nodes), 2**60, wanted=any_type.job) is not None
    return Head(job, wanted, last_ms) if fits_idle else None


@dataclass(frozen=True)
class Pair:
    """A job on a type that it accepts now."""

    rank: tuple[int, int, float, int, float, int]
    job: int
    one: OnType


def features(state: State, job: int, one: OnType, looked_at: Sequence[int]) -> dict[str, float]:
    """Returns what the score sees of a pair."""
    types = types_of(state.jobs[job], state.nodes)
    r, n = at_least_a_second(state, job), size(state, job)
    units = state.sizes.capacity_milli / 1000
    area = added(at_least_a_second(state, other) * size(state, other) for other in looked_at)
    speed = one.speed_micro / USUAL_MICRO
    wait_s = state.wait_s(job)
    cheapest = min(cost(each, state.config) for each in types)
    return {
        "estimate": math.log(r / DAY_S) - math.log(speed),
        "slower": math.log(max(each.speed_micro for each in types) / one.speed_micro),
        "size": math.log(n / units),
        "wait": wait_s / HOUR_S,
        "wait_ratio": wait_s / (r / speed),
        "free": free_share(state, one),
        "queue": math.log(1 + area / (units * HOUR_S)),
        "apart": apart(state, job, one),
        "price": math.log(cost(one, state.config) / cheapest) if state.config.prices else 0.0,
    }


def free_share(state: State, one: OnType) -> float:
    """Returns which part of a type's GPUs is free; for a job without GPUs, of the whole cluster."""
    if one.number is None:
        return state.free_milli() / state.sizes.capacity_milli
    free = state.free_now()
    own = [node for node in range(len(state.nodes)) if state.nodes[node].gpu_type == one.number]
    milli = sum(sum(free[node].devices) for node in own if node in state.up())
    return milli / (1000 * sum(state.nodes[node].gpus for node in own))


def apart(state: State, job: int, one: OnType) -> float:
    """Returns the logarithm of by how much a job is slower on a type for being apart, where it has room now."""
    allocation = state.place(job, state.free_now(), wanted=one.job)
    if allocation is None or one.number is None:
        return 0.0
    together = min(speed_on(state.jobs[job], state.nodes[share.node]) for share in allocation)
    return math.log(together / state.speed_micro(job, allocation))


def weight(state: State, name: str) -> float:
    """Returns a parameter of the score."""
    return state.policy.number(name, DEFAULTS.get(name, 0.0))


def score(state: State, seen: dict[str, float]) -> float:
    """Returns the score of a pair; the least goes first."""
    return (
        weight(state, "estimate") * seen["estimate"]
        + weight(state, "slower") * seen["slower"]
        + weight(state, "size") * seen["size"]
        - weight(state, "wait") * seen["wait"]
        - weight(state, "wait_ratio") * seen["wait_ratio"]
        - weight(state, "free") * seen["free"]
        + weight(state, "apart") * seen["apart"]
        + weight(state, "price") * seen["price"]
    )


def accepts(state: State, seen: dict[str, float]) -> bool:
    """Tells whether a job loses no more on a type than it may now."""
    lost = added(weight(state, f"lost_{name}") * seen[name] for name in ("slower", "apart", "price"))
    may_lose = weight(state, "accept")
    for name in ("estimate", "size", "wait", "free", "queue"):
        may_lose += weight(state, f"accept_{name}") * seen[name]
    return lost <= may_lose


def accepted_pairs(state: State) -> list[Pair]:
    """Returns the pairs that are accepted now, in the order of their turns."""
    order = state.order()
    looked_at = sorted(order.jobs)
    pairs = []
    for job in looked_at:
        for place, one in enumerate(types_of(state.jobs[job], state.nodes)):
            seen = features(state, job, one, looked_at)
            is_first = job in order.starving
            if not state.running or is_first or accepts(state, seen):
                rank = (0, -math.inf) if is_first else (1, score(state, seen))
                tier = 0 if is_first else -state.jobs[job].tier
                pairs.append(Pair((rank[0], tier, rank[1], job, score(state, seen), place), job, one))
    return sorted(pairs, key=lambda pair: pair.rank)


def pairs_pass(state: State) -> None:
    """One pass of the score: greedy, or EASY with one job that is promised a time on the types that it accepts."""
    state.reservations = {}
    pairs = accepted_pairs(state)
    if state.config.dispatch in ("greedy", "0"):
        fill(state, pairs, None)
        return
    jobs = list(dict.fromkeys(pair.job for pair in pairs))
    for turn, job in enumerate(jobs):
        own = [pair for pair in pairs if pair.job == job]
        fill(state, own, None)
        if job not in state.waiting:
            continue
        mask = sum(1 << pair.one.number for pair in own if pair.one.number is not None)
        wanted = replace(state.jobs[job], gpu_types=mask or state.jobs[job].gpu_types)
        head = head_of(state, job, wanted)
        if head is not None:
            behind = jobs[turn + 1 :]
            fill(state, [pair for pair in pairs if pair.job in behind], head)
            return


def fill(state: State, pairs: Sequence[Pair], head: Head | None) -> None:
    """Starts, in order, the pairs that have room and do not delay the head."""
    for pair in pairs:
        if pair.job not in state.waiting:
            continue
        allocation = state.place(pair.job, state.free_now(), wanted=pair.one.job)
        if allocation is not None and (head is None or head.admits(state, pair.job, allocation)):
            state.start(pair.job, allocation)
