"""One scheduling pass of the rules strict, greedy, easy, conservative and a number of reservations."""

from __future__ import annotations

from dataclasses import replace

from tests.reference.holding import Reservation
from tests.reference.linear import is_passed_over, may_reserve
from tests.reference.model import Allocation
from tests.reference.pairs import Head, head_of, pairs_pass, target
from tests.reference.policies import Order
from tests.reference.preemptive import preemptive_pass
from tests.reference.projection import Hold, earliest_fit, free_during, reservation_holds, running_holds
from tests.reference.resources import has_room
from tests.reference.site_rules import is_barred_now
from tests.reference.specs import PREEMPTIVE
from tests.reference.state import State

ALL = 2**62


def reservation_depth(dispatch: str) -> int:
    """Returns how many jobs may hold a reservation."""
    return {"greedy": 0, "easy": 1, "conservative": ALL}[dispatch] if dispatch.isalpha() else int(dispatch)


def scheduling_pass(state: State) -> None:
    """Goes once through the waiting jobs and starts those that may start."""
    if state.policy.name in PREEMPTIVE:
        preemptive_pass(state)
        return
    if state.policy.name == "pairs":
        pairs_pass(state)
        return
    order = state.order()
    if state.config.dispatch == "strict":
        strict_pass(state, order)
        return
    depth = reservation_depth(state.config.dispatch)
    if state.config.pairs == "eft":
        ending_first_pass(state, order, depth)
        return
    if depth >= 2:
        order = replace(order, jobs=order.jobs[: state.config.scan_depth])
    keep_good_reservations(state, order)
    reservation_pass(state, order, depth)


def strict_pass(state: State, order: Order) -> None:
    """Starts jobs in order until one does not fit."""
    for job in order.jobs:
        if is_barred_now(state, job) or is_passed_over(state, order, job):
            continue
        allocation = state.place(job, state.free_now())
        if allocation is None:
            return
        state.start(job, allocation)


def ending_first_pass(state: State, order: Order, depth: int) -> None:
    """Greedy or EASY where each job takes the type alone on which it ends first; the head is promised its type."""
    head: Head | None = None
    for job in order.jobs:
        if is_passed_over(state, order, job):
            continue
        wanted = target(state, job)
        allocation = state.place(job, state.free_now(), wanted=wanted)
        if allocation is not None and (head is None or head.admits(state, job, allocation)):
            state.start(job, allocation)
        elif allocation is None and head is None and depth == 1 and may_reserve(state, order, job):
            head = head_of(state, job, wanted)


def keep_good_reservations(state: State, order: Order) -> None:
    """Keeps the reservations up to the first job that holds none, or none that is good; the others lapse.

    Those whom a limit keeps from starting lose theirs, and take nothing from the others.
    """
    kept: dict[int, Reservation] = {}
    for job in order.jobs:
        if is_barred_now(state, job, kept):
            continue
        held = state.reservations.get(job)
        if held is None or not is_good(state, job, held, kept):
            break
        kept[job] = held
    state.reservations = kept


def is_good(state: State, job: int, held: Reservation, before: dict[int, Reservation]) -> bool:
    """Tells whether a reservation is not past and has room beside running jobs and the reservations before it."""
    if held.start_ms < state.now_ms or any(share.node in state.failures.down for share in held.allocation):
        return False
    holds = [*running_holds(state), *reservation_holds(state, before)]
    free = free_during(state, holds, held.start_ms, held.start_ms + state.duration_ms(job, held.allocation))
    return has_room(state.jobs[job], held.allocation, free)


def reservation_pass(state: State, order: Order, depth: int) -> None:
    """Plans jobs until ``depth`` of them have been passed over with a reservation; those behind may backfill."""
    passed_over = 0
    for place, job in enumerate(order.jobs):
        before = [other for other in order.jobs[:place] if other in state.reservations]
        if is_barred_now(state, job, before) or is_passed_over(state, order, job):
            state.reservations.pop(job, None)
        elif not may_reserve(state, order, job):
            state.reservations.pop(job, None)
            backfill(state, job, order)
        elif passed_over < depth:
            plan(state, job)
            passed_over += job in state.reservations
        else:
            backfill(state, job, order)


def plan(state: State, job: int) -> None:
    """Starts the job if its earliest time is now; otherwise reserves that time, if nodes that are down leave it one.

    A reservation that cannot move to an earlier time stays as it is, nodes included, until its job starts. When its
    time has come the nodes are chosen anew; its own are taken if only they leave room, since others might be slower.
    """
    others = [*running_holds(state), *reservation_holds(state, state.reservations, but=job)]
    found = earliest_fit(state, job, others)
    held = state.reservations.get(job)
    if held is not None and (found is None or found[0] > held.start_ms):
        found = (held.start_ms, held.allocation)
    if found is None:
        return
    start_ms, allocation = found
    if start_ms == state.now_ms:
        state.start(job, allocation)
    elif held is None or start_ms < held.start_ms:
        state.reservations[job] = Reservation(start_ms, allocation)


def backfill(state: State, job: int, order: Order) -> None:
    """Starts the job if it fits now and every reservation keeps its start time."""
    allocation = state.place(job, state.free_now())
    if allocation is None:
        return
    reservations = reservations_beside(state, job, allocation, order.jobs)
    if reservations is not None:
        state.start(job, allocation)
        state.reservations = reservations


def reservations_beside(
    state: State, job: int, allocation: Allocation, order: list[int]
) -> dict[int, Reservation] | None:
    """Returns the reservations, placed anew where they must be, if a job starts now; None if one would be delayed."""
    new = Hold(job, state.now_ms, state.now_ms + state.duration_ms(job, allocation), allocation)
    reservations = dict(state.reservations)
    for other in (place for place in order if place in state.reservations):
        held = reservations[other]
        holds = [*running_holds(state), new, *reservation_holds(state, reservations, but=other)]
        free = free_during(state, holds, held.start_ms, held.start_ms + state.duration_ms(other, held.allocation))
        if has_room(state.jobs[other], held.allocation, free):
            continue
        longest_ms = state.longest_duration_ms(other)
        free = free_during(state, holds, held.start_ms, held.start_ms + longest_ms)
        again = state.place(other, free, held.start_ms)
        if again is None:
            return None
        reservations[other] = Reservation(held.start_ms, again)
    return reservations
