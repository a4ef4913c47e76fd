"""The rules ``committed`` and ``committed-backfill``: one event at a time, until the chosen job fits."""

from __future__ import annotations

from tests.reference.conditions import next_change_ms, settle
from tests.reference.holding import Running
from tests.reference.resources import empty, without
from tests.reference.state import State


def run_committed(state: State, backfill: bool) -> None:
    """Runs the whole simulation."""
    state.change_nodes()
    while True:
        settle(state)
        if state.waiting:
            if not run_until_started(state, state.order().jobs[0], backfill):
                return
        elif not one_event(state):
            return


def earliest_completion(state: State) -> Running | None:
    """Returns the running job that ends first; of several, the one that started first."""
    return min(state.running, key=lambda running: running.end_ms, default=None)


def run_until_started(state: State, job: int, backfill: bool) -> bool:
    """Lets events come one at a time until the committed job fits, and starts it, or leaves; False: neither happens."""
    allocation = state.place(job, state.free_now())
    bound_ms = earliest_start_ms(state, job) if allocation is None else state.now_ms
    while allocation is None:
        if backfill:
            start_those_that_end_before(state, bound_ms)
        if not one_event(state):
            return False
        settle(state)
        if job not in state.waiting:
            return True
        allocation = state.place(job, state.free_now())
    state.start(job, allocation)
    return True


def one_event(state: State) -> bool:
    """Lets one completion, the node events of one moment, or one arrival happen; False: none is to come.

    Of an arrival and a completion at one moment the arrival comes first, unless a node event lies between them.
    """
    submit_ms, first, node_ms = next_arrival_ms(state), earliest_completion(state), next_node_event_ms(state)
    if node_ms is not None and (submit_ms is None or node_ms <= submit_ms):
        if first is None or node_ms < first.end_ms:
            state.now_ms = max(state.now_ms, node_ms)
            state.change_nodes()
            return True
        submit_ms = None
    if submit_ms is not None and (first is None or submit_ms <= first.end_ms):
        state.now_ms = submit_ms
        if state.next_submit_ms() == submit_ms:
            state.arrive()
    elif first is not None:
        state.now_ms = first.end_ms
        state.end(first)
    return submit_ms is not None or first is not None


def next_arrival_ms(state: State) -> int | None:
    """Returns when the next job arrives, may wait or leaves."""
    submit_ms = state.next_submit_ms()
    return min([*next_change_ms(state), *([] if submit_ms is None else [submit_ms])], default=None)


def next_node_event_ms(state: State) -> int | None:
    """Returns when nodes change next, as long as that could matter to anybody."""
    if state.running or next_arrival_ms(state) is not None or (state.waiting and state.failures.may_bring_back()):
        return state.failures.next_ms()
    return None


def earliest_start_ms(state: State, job: int) -> int:
    """Returns when the job fits if running jobs end at their limits, one after the other (ties in start order).

    If it does not fit even then, for nodes are down, it is the last of these ends. Between two ends, too, it may lose
    its patience for nodes that are close together.
    """
    by_limit = sorted(state.running, key=lambda running: running.limit_end_ms)
    until_ms = state.patient_until_ms(job)
    time_ms = state.now_ms
    for ended in range(len(by_limit) + 1):
        free = empty(state.nodes)
        for running in by_limit[ended:]:
            free = without(free, state.jobs[running.job], running.allocation)
        time_ms = max(state.now_ms + 1, by_limit[ended - 1].limit_end_ms) if ended else state.now_ms
        if ended and state.place(job, free, time_ms) is not None:
            return by_limit[ended - 1].limit_end_ms
        next_ms = by_limit[ended].limit_end_ms if ended < len(by_limit) else None
        loses_patience = until_ms is not None and time_ms < until_ms and (next_ms is None or until_ms < next_ms)
        if until_ms is not None and loses_patience and (next_ms is None or state.place(job, free, until_ms)):
            return until_ms
    return by_limit[-1].limit_end_ms if by_limit else state.now_ms


def start_those_that_end_before(state: State, bound_ms: int) -> None:
    """Starts, in the order of the table, each waiting job that fits and ends by its limit before the bound."""
    for job in sorted(state.waiting):
        allocation = state.place(job, state.free_now())
        if allocation is not None and state.now_ms + state.duration_ms(job, allocation) < bound_ms:
            state.start(job, allocation)
