"""The reference simulator: completions, node events, arrivals, those that leave or may wait, one pass; and again."""

from __future__ import annotations

from collections.abc import Sequence

from tests.reference.admission import admitted
from tests.reference.committed import run_committed
from tests.reference.conditions import next_change_ms, settle
from tests.reference.dispatch import scheduling_pass
from tests.reference.model import Config, Pass, RefJob, RefNode, Result
from tests.reference.pairs import within_price
from tests.reference.preemptive import reviews_ms
from tests.reference.site_rules import next_rule_ms
from tests.reference.state import State


def simulate(jobs: Sequence[RefJob], nodes: Sequence[RefNode], config: Config, before: Sequence[RefJob] = ()) -> Result:
    """Returns what happens to the jobs (sorted by submit time) on the nodes; ``before`` are those before the first."""
    result = Result.blank(len(jobs))
    jobs, before = ([admitted(job, nodes, config) for job in table] for table in (jobs, before))
    if config.pairs == "price" and not str(config.policy).startswith("pairs"):
        jobs = [within_price(job, nodes, config) for job in jobs]
    if jobs:
        state = State(jobs, nodes, config, result, now_ms=jobs[0].submit_ms, before=before)
        if config.dispatch.startswith("committed"):
            run_committed(state, backfill=config.dispatch == "committed-backfill")
        else:
            run_instants(state)
        assert not state.running
        may_wait_on = state.failures.down or config.rules
        assert not state.waiting or may_wait_on, f"jobs {state.waiting} wait for ever"
    return result


def run_instants(state: State) -> None:
    """Goes through one instant after the other until nothing is to come."""
    pending_preemptions = sorted(state.config.preempt)
    next_ms: int | None = state.now_ms
    while next_ms is not None:
        assert next_ms >= state.now_ms, "the clock never goes back"
        state.now_ms = next_ms
        complete(state)
        state.change_nodes()
        while state.next_submit_ms() == state.now_ms:
            state.arrive()
        settle(state)
        pending_preemptions = preempt_due(state, pending_preemptions)
        scheduling_pass(state)
        record_pass(state)
        next_ms = next_instant(state)


def complete(state: State) -> None:
    """Ends the jobs whose time has come, in the order of their starts."""
    for running in [running for running in state.running if running.end_ms == state.now_ms]:
        state.end(running)


def preempt_due(state: State, pending: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Stops the running jobs whose preemption is due, and returns the preemptions still to come."""
    for time_ms, job in pending:
        if time_ms <= state.now_ms:
            for running in [running for running in state.running if running.job == job]:
                state.preempt(running)
    return [(time_ms, job) for time_ms, job in pending if time_ms > state.now_ms]


def next_instant(state: State) -> int | None:
    """Returns the earliest completion, arrival, review, node event, or moment at which a job reaches the guard's bound.

    None: nothing is to come that could change anything.
    """
    moments = [running.end_ms for running in state.running] + reviews_ms(state) + next_change_ms(state)
    submit_ms = state.next_submit_ms()
    if submit_ms is not None:
        moments.append(submit_ms)
    if state.config.max_wait_ms is not None:
        bounds = [state.since_ms(job) + state.config.max_wait_ms for job in state.waiting]
        moments += [bound for bound in bounds if bound > state.now_ms]
    patience = [state.patient_until_ms(job) for job in state.waiting]
    moments += [until_ms for until_ms in patience if until_ms is not None and until_ms > state.now_ms]
    if not state.running:
        # Planned for slow nodes, a job that got fast ones may have to wait for its time though all is free.
        moments += [held.start_ms for held in state.reservations.values()]
    node_ms = state.failures.next_ms()
    if node_ms is not None and (moments or (state.waiting and state.failures.may_bring_back())):
        moments.append(node_ms)
    next_ms = min([*moments, *next_rule_ms(state, alone=not moments)], default=None)
    if next_ms in moments:
        state.quiet_since_ms = min(moments)
    return next_ms


def record_pass(state: State) -> None:
    """Writes down who waits and which reservations are held after the pass."""
    reserved = {job: held.start_ms for job, held in state.reservations.items()}
    state.result.passes.append(Pass(state.now_ms, tuple(state.order().jobs), reserved))
