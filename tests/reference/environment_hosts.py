"""PickHost: each task of the job at the head of the queue gets the host that one names."""

from __future__ import annotations

from tests.reference.asking import Ask, TasksOn
from tests.reference.conditions import settle
from tests.reference.environment import Decisions, Environment, Limits, Seen
from tests.reference.environment_rewards import Reward
from tests.reference.model import Share
from tests.reference.resources import choose_devices
from tests.reference.simulator import complete, next_instant
from tests.reference.state import State
from tests.reference.task_by_task import allowed, free_beside, give, observation


def pick_host(state: State, reward: Reward, limits: Limits) -> Environment:
    """Returns the environment about a simulation that has not begun."""
    return Environment(state, host_decisions(state), nothing_to_choose, reward, limits, waits=False)


def host_decisions(state: State) -> Decisions:
    """Goes through one instant after the other, and asks as long as the head fits."""
    next_ms: int | None = state.now_ms
    while next_ms is not None:
        state.now_ms = next_ms
        complete(state)
        state.change_nodes()
        while state.next_submit_ms() == state.now_ms:
            state.arrive()
        settle(state)
        while (ask := head_that_fits(state)) is not None:
            yield from tasks_of_head(state, ask)
        next_ms = next_instant(state)


def head_that_fits(state: State) -> Ask | None:
    """Returns what the head of the queue asks for, if it fits now."""
    if not state.waiting:
        return None
    ask = state.ask(min(state.waiting), state.free_now())
    return ask if ask.pools_that_fit() else None


def tasks_of_head(state: State, ask: Ask) -> Decisions:
    """Asks for the first task; for each other one where it has a choice. When all have a host, the job starts."""
    head, given = min(state.waiting), TasksOn()
    while sum(given.values()) < ask.job.tasks:
        mask = allowed(ask, given)
        if given and mask.count(True) == 1:
            give(given, mask.index(True))
        else:
            give(given, (yield Seen(observation(ask.nodes, free_beside(ask, given), ask.job), mask, [head])))
    devices = {host: choose_devices(ask.job, ask.free[host], tasks) for host, tasks in given.items()}
    state.start(head, tuple(Share(host, tasks, devices[host]) for host, tasks in given.items()))


def nothing_to_choose(state: State) -> Seen:
    """Returns the hosts alone."""
    return Seen(observation(state.nodes, state.free_now(), None), [False] * len(state.nodes), [])
