"""The projection: what will be free if running jobs end when expected and reservations are used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.reference.holding import Reservation
from tests.reference.model import Allocation
from tests.reference.resources import FreeNodes, empty, lowest, without
from tests.reference.site_rules import ends_ms
from tests.reference.state import State


@dataclass(frozen=True)
class Hold:
    """A job holds an allocation during [from, until)."""

    job: int
    from_ms: int
    until_ms: int
    allocation: Allocation


def running_holds(state: State) -> list[Hold]:
    """Returns what the running jobs hold; one that has reached its limit is expected to end 1 ms from now."""
    return [
        Hold(
            running.job,
            running.start_ms,
            running.limit_end_ms if running.limit_end_ms > state.now_ms else state.now_ms + 1,
            running.allocation,
        )
        for running in state.running
    ]


def reservation_holds(state: State, reservations: dict[int, Reservation], but: int | None = None) -> list[Hold]:
    """Returns what reservations hold, all but the one of a certain job."""
    return [
        Hold(job, held.start_ms, held.start_ms + state.duration_ms(job, held.allocation), held.allocation)
        for job, held in reservations.items()
        if job != but
    ]


def free_at(state: State, holds: Sequence[Hold], time_ms: int) -> FreeNodes:
    """Returns what the holds leave free at one moment."""
    free = empty(state.nodes)
    for hold in holds:
        if hold.from_ms <= time_ms < hold.until_ms:
            free = without(free, state.jobs[hold.job], hold.allocation)
    return free


def free_during(state: State, holds: Sequence[Hold], from_ms: int, until_ms: int) -> FreeNodes:
    """Returns what the holds leave free during the whole of [from, until)."""
    changes = {time for hold in holds for time in (hold.from_ms, hold.until_ms) if from_ms < time < until_ms}
    return lowest([free_at(state, holds, time) for time in (from_ms, *sorted(changes))])


def earliest_fit(state: State, job: int, holds: Sequence[Hold]) -> tuple[int, Allocation] | None:
    """Returns the earliest time, and the nodes, at which the job fits beside the holds for as long as it may last.

    None: it does not fit even after the last release, for nodes are down or reserved for others again and again.
    """
    times = {hold.until_ms for hold in holds}
    if (until_ms := state.patient_until_ms(job)) is not None:
        times.add(until_ms)
    times |= set(ends_ms(state, job, state.now_ms, max(times | {state.now_ms})))
    for time_ms in (state.now_ms, *sorted(time for time in times if time > state.now_ms)):
        free = free_during(state, holds, time_ms, time_ms + state.longest_duration_ms(job))
        allocation = state.place(job, free, time_ms)
        if allocation is not None:
            return time_ms, allocation
    return None


def earliest_start(state: State, job: int, holds: Sequence[Hold]) -> tuple[int, Allocation]:
    """Returns the same where all nodes are up."""
    found = earliest_fit(state, job, holds)
    assert found is not None, f"job {job} does not fit after the last release, though it was not rejected"
    return found
