"""PickJobAndType: which pairs of a job and a type may be chosen, what is told of them, and what choosing one does."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace

from tests.reference.conditions import settle
from tests.reference.environment_features import (
    HOUR_S,
    Choice,
    age_rank,
    at_least_a_second,
    cluster_features,
    gap,
    user_part,
    what_it_is,
)
from tests.reference.environment_jobs import choice_now
from tests.reference.environment_lookahead import scaled_log
from tests.reference.model import Allocation, RefJob
from tests.reference.placements import place_job
from tests.reference.policies import Order
from tests.reference.resources import fits_when_empty, speed_on, usable
from tests.reference.simulator import complete, next_instant
from tests.reference.state import State

NEVER_S = 14 * 86_400
NOWHERE = [0.0] * 10
"""What is told of a pair that cannot run."""


@dataclass(frozen=True)
class SeenPairs:
    """What is seen, without the look-ahead, and what is allowed."""

    context: list[float]
    rows: list[list[float]]
    mask: list[bool]


def types_of(state: State) -> list[int]:
    """Returns the types of GPUs by number."""
    return sorted({node.gpu_type for node in state.nodes if node.gpu_type is not None})


def on_type(job: RefJob, gpu_type: int) -> RefJob:
    """Returns a job that accepts one type alone; one without GPUs takes what it takes."""
    return replace(job, gpu_types=1 << gpu_type) if job.gpu_milli else job


def holding_types(state: State, place: int) -> list[int]:
    """Returns the types that can hold a job when nothing runs; one without GPUs stands in the first column."""
    job = state.jobs[place]
    if not job.gpu_milli:
        return [0]
    accepted = [one for one in types_of(state) if not job.gpu_types or job.gpu_types >> one & 1]
    return [one for one in accepted if fits_when_empty(on_type(job, one), state.nodes, mix=False)]


def placed_on(state: State, place: int, gpu_type: int) -> Allocation | None:
    """Returns where the placement rule puts a job now on a type alone."""
    if gpu_type not in holding_types(state, place):
        return None
    restricted = on_type(state.jobs[place], gpu_type)
    jobs = [restricted if number == place else job for number, job in enumerate(state.jobs)]
    return place_job(state.config.placement, replace_jobs(state, jobs).ask(place, state.free_now()))


def replace_jobs(state: State, jobs: Sequence[RefJob]) -> State:
    """Returns a view of the state in which jobs ask for something else."""
    view = object.__new__(State)
    view.__dict__.update(state.__dict__)
    view.jobs = jobs
    return view


def speed_of(state: State, place: int, gpu_type: int) -> float:
    """Returns how fast a job runs on a type if its tasks are close together."""
    job = state.jobs[place]
    if not job.gpu_milli:
        return 1.0
    numbers = [number for number in usable(on_type(job, gpu_type), state.nodes) if state.nodes[number].gpus]
    return speed_on(job, state.nodes[numbers[0]]) / 1_000_000


def pair_decisions(state: State, window: int) -> Generator[SeenPairs, int, None]:
    """Goes from instant to instant, and asks as long as a pair has room and nobody waits for the next event."""
    next_ms: int | None = state.now_ms
    while next_ms is not None:
        state.now_ms = next_ms
        complete(state)
        while state.next_submit_ms() == state.now_ms:
            state.arrive()
        settle(state)
        yield from pass_over_pairs(state, window)
        next_ms = next_instant(state)


def pass_over_pairs(state: State, window: int) -> Generator[SeenPairs, int, None]:
    """Asks for the pairs of one pass."""
    order = state.order()
    ranked = tuple(order.jobs)
    passed: frozenset[int] = frozenset()
    while True:
        order = replace(order, jobs=[job for job in order.jobs if job in state.waiting])
        if not any(placed_on(state, job, one) for job in order.jobs for one in types_of(state)):
            return
        choice = choice_now(state, "feasible", order, ranked, passed)
        action = yield seen(state, choice, window)
        if action == 0:
            return
        place, gpu_type = divmod(action - 1, len(types_of(state)))
        chosen = choice.rows[place]
        before = frozenset(ranked[: ranked.index(chosen)])
        passed = passed | before & (choice.held_back | frozenset(order.jobs) - choice.allowed)
        allocation = placed_on(state, chosen, gpu_type)
        assert allocation is not None
        state.start(chosen, allocation)


def seen(state: State, choice: Choice, window: int) -> SeenPairs:
    """Returns what is told of types and pairs now."""
    types, shown = types_of(state), choice.rows[:window]
    wanted = {one: wanted_there(state, choice.order, one) for one in types}
    context = [*cluster_features(state, choice.order)]
    all_gpus = sum(gpus_of(state, one) for one in types)
    for one in types:
        ends = expected_ends(state, one)
        free_in = scaled_log(max(ends[0][0] - state.now_ms, 1) / 1000) if ends else 0.0
        context += [gpus_of(state, one) / all_gpus, free_gpus(state, one) / gpus_of(state, one), free_in, wanted[one]]
    rows = [row(state, choice, job, one, wanted[one]) for job in shown for one in types]
    mask = [job in choice.allowed and placed_on(state, job, one) is not None for job in shown for one in types]
    empty = (window - len(shown)) * len(types)
    return SeenPairs(
        [min(max(number, 0.0), 1.0) for number in context],
        [[min(max(number, 0.0), 1.0) for number in one] for one in rows] + [[0.0] * len(rows[0])] * empty,
        [choice.may_wait, *mask, *[False] * empty],
    )


def row(state: State, choice: Choice, place: int, gpu_type: int, wanted: float) -> list[float]:
    """Returns what is told of a job on a type."""
    job, types, holding = state.jobs[place], types_of(state), holding_types(state, place)
    speeds = {one: speed_of(state, place, one) for one in holding}
    roomy = [one for one in holding if placed_on(state, place, one) is not None]
    faster = [one for one in roomy if (speeds[one], -one) > (speeds.get(gpu_type, 0.0), -gpu_type)]
    behind = len(faster) / 128 if gpu_type in holding else 0.0
    told = [
        *what_it_is(state, place, 0.0),
        float(gpu_type in roomy),
        0.0,
        age_rank(place, choice),
        user_part(state, place),
        1 - min(gap(state, place, choice), 16) / 16 - behind,
        float(place in choice.held_back),
    ]
    flags = [float(one == gpu_type) for one in types]
    if gpu_type not in holding:
        return told + NOWHERE + flags
    left_s = max(at_least_a_second(state, place) - state.progress_ms.get(place, 0) / 1000, 1.0)
    finish_s = {one: ready_s(state, place, one) + left_s / speeds[one] for one in holding}
    needed, free = job.total_gpu_milli / 1000, free_gpus(state, gpu_type)
    return [
        *told,
        1.0,
        speeds[gpu_type] / max(speeds.values()),
        scaled_log(left_s / speeds[gpu_type]),
        free / (free + needed) if needed else 1.0,
        scaled_log(ready_s(state, place, gpu_type)),
        min(finish_s.values()) / finish_s[gpu_type],
        lost_apart(state, place, gpu_type),
        speeds[gpu_type] / max(speeds.values()),
        free / gpus_of(state, gpu_type),
        wanted,
        *flags,
    ]


def lost_apart(state: State, place: int, gpu_type: int) -> float:
    """Returns which part of its speed a job would lose now on a type because its tasks are apart."""
    allocation = placed_on(state, place, gpu_type)
    if allocation is None or not state.jobs[place].gpu_milli:
        return 0.0
    return 1 - state.speed_micro(place, allocation) / 1_000_000 / speed_of(state, place, gpu_type)


def gpus_of(state: State, gpu_type: int) -> int:
    """Returns how many GPUs a type has."""
    return sum(node.gpus for node in state.nodes if node.gpu_type == gpu_type)


def free_gpus(state: State, gpu_type: int) -> float:
    """Returns how many of them are free, in parts of GPUs as well."""
    free = state.free_now()
    return sum(sum(free[number].devices) for number in numbers_of(state, gpu_type)) / 1000


def numbers_of(state: State, gpu_type: int) -> list[int]:
    """Returns the nodes of a type."""
    return [number for number, node in enumerate(state.nodes) if node.gpu_type == gpu_type]


def expected_ends(state: State, gpu_type: int) -> list[tuple[int, float]]:
    """Returns when jobs on a type are expected to end, and how many of its GPUs are free then."""
    here = numbers_of(state, gpu_type)
    running = [one for one in state.running if state.jobs[one.job].gpu_milli and one.allocation[0].node in here]
    ends = sorted(
        (one.start_ms + state.duration_ms(one.job, one.allocation), number, one.job)
        for number, one in enumerate(running)
    )
    found, free = [], free_gpus(state, gpu_type)
    for instant_ms, _, job in ends:
        free += state.jobs[job].total_gpu_milli / 1000
        found.append((instant_ms, free))
    return found


def ready_s(state: State, place: int, gpu_type: int) -> float:
    """Returns how long it takes until as many GPUs of a type are free as a job needs; 0: it has room."""
    if placed_on(state, place, gpu_type) is not None:
        return 0.0
    job = state.jobs[place]
    if not job.gpu_milli:
        return NEVER_S
    enough = (end_ms for end_ms, free in expected_ends(state, gpu_type) if 1000 * free >= job.total_gpu_milli - 1e-6)
    end_ms = next(enough, None)
    return NEVER_S if end_ms is None else max(end_ms - state.now_ms, 1) / 1000


def wanted_there(state: State, order: Order, gpu_type: int) -> float:
    """Returns how much work waits that is fastest on a type, in hours for all of its GPUs, on a scale from 0 to 1."""
    work_s = 0.0
    for place in order.jobs:
        speeds = {one: speed_of(state, place, one) for one in holding_types(state, place)}
        if speeds and max(speeds, key=lambda one: (speeds[one], -one)) == gpu_type:
            gpus = state.jobs[place].total_gpu_milli / 1000
            work_s += at_least_a_second(state, place) / speeds[gpu_type] * gpus
    return min(math.log(1 + work_s / (gpus_of(state, gpu_type) * HOUR_S)) / 10, 1.0)
