"""PickJob: when a decision is due, who may be chosen, in which rows they stand, and what choosing one does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tests.reference.committed import one_event, run_until_started
from tests.reference.conditions import settle
from tests.reference.dispatch import backfill, plan
from tests.reference.environment import Decisions, Environment, Limits, Seen
from tests.reference.environment_features import Choice, Runner, View, delays, observation
from tests.reference.environment_history import NO_HISTORY, History
from tests.reference.environment_lookahead import Lookahead
from tests.reference.environment_rewards import Reward
from tests.reference.holding import Running
from tests.reference.linear import is_passed_over
from tests.reference.policies import Order
from tests.reference.projection import earliest_fit, running_holds
from tests.reference.simulator import complete, next_instant
from tests.reference.state import State

MODES = {"reserve": "easy", "feasible": "greedy", "committed": "committed", "committed-backfill": "committed-backfill"}
"""The dispatch rule that one follows by always choosing the first job that may be chosen."""

DEFAULT_LOOKAHEAD = Lookahead()


@dataclass(frozen=True)
class PickJobOptions:
    """What kind of decisions there are, and what is seen."""

    mode: str = "reserve"
    window: int = 128
    lookahead: Lookahead = DEFAULT_LOOKAHEAD
    history: History = NO_HISTORY
    stops: int = 0
    """How many running jobs are shown, and may be stopped."""


def pick_job(state: State, options: PickJobOptions, reward: Reward, limits: Limits) -> Environment:
    """Returns the environment about a simulation that has not begun."""

    def look(state: State) -> Seen:
        return seen(state, options, choice_now(state, options.mode, state.order(), ()), reward)

    decisions = (
        committed_decisions(state, options, reward)
        if options.mode.startswith("committed")
        else instant_decisions(state, options, reward)
    )
    return Environment(state, decisions, look, reward, limits, waits=True)


def instant_decisions(state: State, options: PickJobOptions, reward: Reward) -> Decisions:
    """Goes through one instant after the other, with a pass in each."""
    next_ms: int | None = state.now_ms
    while next_ms is not None:
        state.now_ms = next_ms
        complete(state)
        state.change_nodes()
        while state.next_submit_ms() == state.now_ms:
            state.arrive()
        settle(state)
        yield from pass_decisions(state, options, reward)
        coming = [next_instant(state), *stops_reviews_ms(state, options)]
        next_ms = min((time_ms for time_ms in coming if time_ms is not None), default=None)


def stops_reviews_ms(state: State, options: PickJobOptions) -> list[int]:
    """Returns when those who run may be stopped at last, if anybody waits."""
    times = [running.start_ms + state.config.minimum_run_ms for running in state.running]
    return [time_ms for time_ms in times if options.stops and state.waiting and time_ms > state.now_ms]


def runners(state: State, options: PickJobOptions, order: Order) -> list[Runner]:
    """Returns the running jobs that are shown: those first that may be stopped, of these those with the most left."""
    found = [
        Runner(running.job, max(state.estimate_ms(running.job) - state.done_ms(running), 0), may_stop(state, running))
        for running in state.running
        if order.jobs
    ]
    found.sort(key=lambda one: (one.allowed, one.left_ms, one.job), reverse=True)
    return found[: options.stops]


def may_stop(state: State, running: Running) -> bool:
    """Tells whether a running job may be stopped: it has run, long enough, and the guard would not put it first."""
    bound_ms, ran_ms = state.config.max_wait_ms, state.now_ms - running.start_ms
    first = bound_ms is not None and state.now_ms - state.since_ms(running.job) >= bound_ms
    return ran_ms > 0 and ran_ms >= state.config.minimum_run_ms and not first


def stop(state: State, job: int) -> None:
    """Stops a running job."""
    for running in [one for one in state.running if one.job == job]:
        state.preempt(running)


def pass_decisions(state: State, options: PickJobOptions, reward: Reward) -> Decisions:
    """Asks as long as a job could start or be stopped, and nobody waits for the next event.

    A stop begins the pass anew.
    """
    state.reservations = {}
    order = state.order()
    ranked = tuple(order.jobs)
    passed: frozenset[int] = frozenset()
    while True:
        order = replace(order, jobs=[job for job in order.jobs if job in state.waiting])
        running = runners(state, options, order)
        if not any(could_start(state, job) for job in order.jobs) and not any(one.allowed for one in running):
            return
        choice = choice_now(state, options.mode, order, ranked, passed, running)
        action = yield seen(state, options, choice, reward)
        if action == 0:
            return
        shown = choice.rows[: options.window]
        if action > len(shown):
            stop(state, choice.running[action - 1 - len(shown)].job)
            yield from pass_decisions(state, options, reward)
            return
        chosen = shown[action - 1]
        before = frozenset(ranked[: ranked.index(chosen)])
        passed = passed | before & (choice.held_back | frozenset(order.jobs) - choice.allowed)
        choose(state, chosen, order)


def committed_decisions(state: State, options: PickJobOptions, reward: Reward) -> Decisions:
    """Asks whenever a job waits, and moves the clock until the one that was chosen has started."""
    state.change_nodes()
    while True:
        settle(state)
        if not state.waiting:
            if not one_event(state):
                return
            continue
        order = state.order()
        choice = choice_now(state, options.mode, order, tuple(order.jobs))
        action = yield seen(state, options, choice, reward)
        if not run_until_started(state, choice.rows[action - 1], backfill=options.mode == "committed-backfill"):
            return


def could_start(state: State, job: int) -> bool:
    """Tells whether a job fits now and does not delay the pass's reservation."""
    fits = state.place(job, state.free_now()) is not None
    return fits and not any(delays(state, job, other, held.start_ms) for other, held in state.reservations.items())


def choose(state: State, job: int, order: Order) -> None:
    """Starts the job, or lets it hold the pass's reservation."""
    if not state.reservations:
        plan(state, job)
        return
    backfill(state, job, order)
    assert job not in state.waiting, "EASY's test lets start exactly those that do not delay the reservation"


def choice_now(
    state: State,
    mode: str,
    order: Order,
    ranked: tuple[int, ...],
    passed: frozenset[int] = frozenset(),
    running: Sequence[Runner] = (),
) -> Choice:
    """Returns who may be chosen, and in which rows the waiting jobs stand.

    Args:
        state: The simulation.
        mode: What kind of decisions there are.
        order: The jobs of the pass that still wait.
        ranked: All jobs of the pass.
        passed: Those that were held back, or could not be chosen, when one behind them was.
        running: Those that are shown behind them.
    """
    committed = mode.startswith("committed")
    may = [job for job in order.jobs if may_be_chosen(state, mode, job)]
    starving = sorted(order.starving & set(may) - passed)
    may = starving[:1] or may
    gated = [] if committed else [job for job in order.jobs if job in passed or is_passed_over(state, order, job)]
    must_start = any(could_start(state, job) for job in starving[:1])
    rows = [
        *(job for job in order.jobs if job in may and job not in gated),
        *(job for job in order.jobs if job in may and job in gated),
        *(job for job in order.jobs if job not in may),
    ]
    return Choice(
        order=order,
        rows=rows,
        ranked=ranked,
        allowed=frozenset(may),
        held_back=frozenset(gated),
        may_wait=not committed and not must_start and next_instant(state) is not None,
        # Whoever must start now may not be kept waiting by stops.
        running=tuple(replace(one, allowed=one.allowed and not must_start) for one in running),
    )


def may_be_chosen(state: State, mode: str, job: int) -> bool:
    """Tells whether the mode alone lets a job be chosen, without the guard."""
    if mode.startswith("committed"):
        return True
    if mode == "reserve" and not state.reservations:
        # Where nodes are down, there may be no time at which the job is sure to fit.
        return earliest_fit(state, job, running_holds(state)) is not None
    return could_start(state, job)


def seen(state: State, options: PickJobOptions, choice: Choice, reward: Reward) -> Seen:
    """Returns what is seen through the window."""
    shown = choice.rows[: options.window]
    mask = [choice.may_wait, *(job in choice.allowed for job in shown), *(one.allowed for one in choice.running)]
    view = View(options.lookahead, options.window, options.history, options.stops)
    return Seen(
        observation=observation(state, view, choice, reward.priority),
        mask=mask + [False] * (1 + options.window + options.stops - len(mask)),
        jobs=[*shown, *(one.job for one in choice.running)],
        ranked=choice.ranked,
    )
