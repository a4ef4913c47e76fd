"""Jobs that may not wait for nodes yet, and jobs that leave: begin times, dependencies, arrays, cancellations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shunter.model.schedule import Outcome
from tests.reference.site_rules import may_queue

if TYPE_CHECKING:
    from tests.reference.state import State


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
    return max(time_ms for time_ms in (told.submit_ms, told.begin_ms, told.release_ms) if time_ms is not None)


def is_over(state: State, job: int) -> bool:
    """Tells whether nothing more will become of a job; those that are not simulated are over."""
    return not 0 <= job < len(state.jobs) or state.result.outcome[job] is not Outcome.UNFINISHED


def ended_well(state: State, job: int) -> bool:
    """Tells whether a job ran to its end, and its log does not say that it failed."""
    return state.result.outcome[job] is Outcome.COMPLETED and not state.jobs[job].fails


def is_met(state: State, kind: str, other: int) -> bool:
    """Tells whether what a job needs of another has come."""
    if not 0 <= other < len(state.jobs):
        return True
    if kind == "after" and state.result.start_ms[other] is not None:
        return True
    if not is_over(state, other):
        return False
    return {
        "after": True,
        "afterany": True,
        "afterok": ended_well(state, other),
        "afternotok": not ended_well(state, other),
    }[kind]


def is_hopeless(state: State, job: int) -> bool:
    """Tells whether a need of a job can no longer be met."""
    needs = state.jobs[job].needs
    return any(is_over(state, other) and not is_met(state, kind, other) for kind, other in needs)


def may_wait(state: State, job: int) -> bool:
    """Tells whether nothing keeps a held job from waiting."""
    told = state.jobs[job]
    if state.now_ms < not_before_ms(state, job):
        return False
    if not all(is_met(state, kind, other) for kind, other in told.needs):
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
    times = [not_before_ms(state, job) for job in state.held if not_before_ms(state, job) > state.now_ms]
    leaving = [cancels_ms(state, job) for job in [*state.held, *state.waiting]]
    now = [state.now_ms for job in state.held if may_wait(state, job) or is_hopeless(state, job)]
    return [*times, *(time_ms for time_ms in leaving if time_ms is not None), *now]
