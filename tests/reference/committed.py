"""The rules ``committed`` and ``committed-backfill``: one event at a time, until the chosen job fits."""

from __future__ import annotations

from tests.reference.resources import empty, without
from tests.reference.state import Running, State


def run_committed(state: State, backfill: bool) -> None:
    """Runs the whole simulation."""
    while state.waiting or state.next_submit_ms() is not None:
        if state.waiting:
            run_until_started(state, state.order().jobs[0], backfill)
        else:
            next_arrival(state)
    while state.running:
        end_one(state)


def next_arrival(state: State) -> None:
    """Releases the completions strictly earlier than the next arrival, and lets exactly one job arrive."""
    submit_ms = state.next_submit_ms()
    assert submit_ms is not None
    while state.running and earliest_completion(state).end_ms < submit_ms:
        end_one(state)
    state.now_ms = submit_ms
    state.arrive()


def earliest_completion(state: State) -> Running:
    """Returns the running job that ends first; of several, the one that started first."""
    return min(state.running, key=lambda running: running.end_ms)


def end_one(state: State) -> None:
    """Moves the clock to the earliest completion and releases that job alone."""
    first = earliest_completion(state)
    state.now_ms = first.end_ms
    state.end(first)


def run_until_started(state: State, job: int, backfill: bool) -> None:
    """Lets events come one at a time until the committed job fits, and starts it."""
    allocation = state.place(job, state.free_now())
    bound_ms = earliest_start_ms(state, job) if allocation is None else state.now_ms
    while allocation is None:
        if backfill:
            start_those_that_end_before(state, bound_ms)
        one_event(state)
        allocation = state.place(job, state.free_now())
    state.start(job, allocation)


def one_event(state: State) -> None:
    """Lets the next arrival happen, if it is not later than the earliest completion, or else that completion."""
    submit_ms = state.next_submit_ms()
    if submit_ms is not None and submit_ms <= earliest_completion(state).end_ms:
        state.now_ms = submit_ms
        state.arrive()
    else:
        end_one(state)


def earliest_start_ms(state: State, job: int) -> int:
    """Returns when the job fits if running jobs end at their limits, one after the other (ties in start order)."""
    by_limit = sorted(state.running, key=lambda running: running.limit_end_ms)
    for ended in range(1, len(by_limit) + 1):
        free = empty(state.nodes)
        for running in by_limit[ended:]:
            free = without(free, state.jobs[running.job], running.allocation)
        if state.place(job, free) is not None:
            return by_limit[ended - 1].limit_end_ms
    raise AssertionError(f"job {job} does not fit on the empty cluster, though it was not rejected")


def start_those_that_end_before(state: State, bound_ms: int) -> None:
    """Starts, in the order of the table, each waiting job that fits and ends by its limit before the bound."""
    for job in sorted(state.waiting):
        allocation = state.place(job, state.free_now())
        if allocation is not None and state.now_ms + state.limit_ms(job) < bound_ms:
            state.start(job, allocation)
