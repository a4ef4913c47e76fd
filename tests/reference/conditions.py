"""Jobs that may not wait for nodes yet, and jobs that leave: begin times, dependencies, arrays, cancellations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shunter.model.schedule import Outcome
from tests.reference.model import Reject
from tests.reference.site_rules import may_queue

if TYPE_CHECKING:
    from tests.reference.state import State


LONG_AGO_MS = -(2**60)


def settle(state: State) -> None:
    """Lets jobs leave, then lets those wait that may, in the order of the table."""
    for job in sorted([*state.held, *state.waiting]):
        if cancels_ms(state, job) is not None and state.now_ms >= (cancels_ms(state, job) or 0):
            state.leave(job)
    while hopeless := [job for job in state.held if is_hopeless(state, job)]:
        for job in hopeless:
            state.leave(job)
    for job in sorted(state.held):
        if may_wait(state, job):
            state.wait(job)


def cancels_ms(state: State, job: int) -> int | None:
    """Returns when a job leaves that is here, if it has not started."""
    return state.jobs[job].cancel_ms if state.result.start_ms[job] is None else None


def not_before_ms(state: State, job: int) -> int:
    """Returns the time before which a job may not wait: its begin time or its release, whichever is later."""
    told = state.jobs[job]
    return max([LONG_AGO_MS, *(time_ms for time_ms in (told.begin_ms, told.release_ms) if time_ms is not None)])


def is_over(state: State, job: int) -> bool:
    """Tells whether nothing more will become of a job; those that are not simulated are over."""
    return not 0 <= job < len(state.jobs) or state.result.outcome[job] is not Outcome.UNFINISHED


def ended_well(state: State, job: int) -> bool:
    """Tells whether a job ran to its end, and its log does not say that it failed."""
    return state.result.outcome[job] is Outcome.COMPLETED and not state.jobs[job].fails


def is_simulated(state: State, job: int) -> bool:
    """Tells whether a job is not before or behind the window."""
    return 0 <= job < len(state.jobs)


def over_ms(state: State, job: int) -> int:
    """Returns when a job ended or left, or came and was rejected."""
    end_ms = state.result.end_ms[job]
    if end_ms is not None:
        return end_ms
    return next(event.time_ms for event in state.result.events if isinstance(event, Reject) and event.job == job)


def met_ms(state: State, kind: str, other: int) -> int | None:
    """Returns since when a job has what it needs of another; None: it does not have it."""
    if not is_simulated(state, other):
        return LONG_AGO_MS
    start_ms = state.result.start_ms[other]
    if kind == "after" and start_ms is not None:
        return start_ms
    if not is_over(state, other):
        return None
    well = ended_well(state, other)
    is_met = {"after": True, "afterany": True, "afterok": well, "afternotok": not well}[kind]
    return over_ms(state, other) if is_met else None


def holding_needs(state: State, job: int) -> list[tuple[str, int, int]]:
    """Returns what a job that was submitted needs of others."""
    return [need for need in state.jobs[job].needs if need[0] != "follows"]


def comes_ms(state: State, job: int) -> int | None:
    """Returns when a job is submitted; None: not before another has ended, and nobody knows when that is."""
    followed = [(other, delay_ms) for kind, other, delay_ms in state.jobs[job].needs if kind == "follows"]
    followed = [(other, delay_ms) for other, delay_ms in followed if is_simulated(state, other)]
    if not followed:
        return state.jobs[job].submit_ms
    if not all(is_over(state, other) for other, _ in followed):
        return None
    return max(over_ms(state, other) + delay_ms for other, delay_ms in followed)


def is_hopeless(state: State, job: int) -> bool:
    """Tells whether a need of a job can no longer be met."""
    needs = holding_needs(state, job)
    return any(is_over(state, other) and met_ms(state, kind, other) is None for kind, other, _ in needs)


def may_wait(state: State, job: int) -> bool:
    """Tells whether nothing keeps a held job from waiting."""
    told = state.jobs[job]
    if state.now_ms < not_before_ms(state, job):
        return False
    for kind, other, delay_ms in holding_needs(state, job):
        since_ms = met_ms(state, kind, other)
        if since_ms is None or state.now_ms < since_ms + delay_ms:
            return False
    if told.singleton:
        alike = [one for one in range(job) if (state.jobs[one].user, state.jobs[one].name) == (told.user, told.name)]
        if not all(is_over(state, one) for one in alike):
            return False
    if not may_queue(state, job):
        return False
    if told.array is None or told.array_limit is None:
        return True
    here = [*state.waiting, *(running.job for running in state.running)]
    return sum(state.jobs[one].array == told.array for one in here) < told.array_limit


def next_change_ms(state: State) -> list[int]:
    """Returns the times at which jobs may begin to wait or leave; now, if one may already."""
    times = [not_before_ms(state, job) for job in state.held]
    for job in state.held:
        for kind, other, delay_ms in holding_needs(state, job):
            since_ms = met_ms(state, kind, other)
            times += [] if since_ms is None else [since_ms + delay_ms]
    times = [time_ms for time_ms in times if time_ms > state.now_ms]
    leaving = [cancels_ms(state, job) for job in [*state.held, *state.waiting]]
    now = [state.now_ms for job in state.held if may_wait(state, job) or is_hopeless(state, job)]
    return [*times, *(time_ms for time_ms in leaving if time_ms is not None), *now]
