"""PickHost: the job at the head of the queue gets the host that one names."""

from __future__ import annotations

from tests.reference.environment import Decisions, Environment, Limits, Seen
from tests.reference.environment_rewards import Reward
from tests.reference.model import Share
from tests.reference.resources import capacity, choose_devices, usable
from tests.reference.simulator import complete, next_instant
from tests.reference.state import State


def pick_host(state: State, reward: Reward, limits: Limits) -> Environment:
    """Returns the environment about a simulation of jobs of one task each that has not begun."""
    return Environment(state, host_decisions(state), seen, reward, limits, waits=False)


def host_decisions(state: State) -> Decisions:
    """Goes through one instant after the other, and asks as long as the head fits on a host."""
    next_ms: int | None = state.now_ms
    while next_ms is not None:
        state.now_ms = next_ms
        complete(state)
        while state.next_submit_ms() == state.now_ms:
            state.arrive()
        while any(hosts_that_fit(state)):
            host = yield seen(state)
            start(state, host)
        next_ms = next_instant(state)


def hosts_that_fit(state: State) -> list[bool]:
    """Returns for each host whether the head of the queue fits on it now."""
    if not state.waiting:
        return [False] * len(state.nodes)
    job = state.jobs[min(state.waiting)]
    return [
        number in usable(job, state.nodes) and capacity(job, free) >= 1 for number, free in enumerate(state.free_now())
    ]


def start(state: State, host: int) -> None:
    """Starts the head of the queue on a host."""
    head = min(state.waiting)
    assert state.jobs[head].tasks == 1
    devices = choose_devices(state.jobs[head], state.free_now()[host], 1)
    state.start(head, (Share(host, 1, devices),))


def seen(state: State) -> Seen:
    """Returns how full and how large each host is, and what the head of the queue asks for."""
    most_cores = max(node.cores_milli for node in state.nodes)
    most_memory = max(node.memory_mb or 0 for node in state.nodes)
    numbers: list[float] = []
    for node, free in zip(state.nodes, state.free_now(), strict=True):
        memory = node.memory_mb or 0
        numbers += [
            1 - free.cores_milli / node.cores_milli,
            1 - (free.memory_mb or 0) / memory if memory else 0.0,
            node.cores_milli / most_cores,
            memory / most_memory if most_memory else 0.0,
        ]
    head = state.jobs[min(state.waiting)] if state.waiting else None
    numbers.append(head.cores_milli / most_cores if head else 0.0)
    numbers.append((head.memory_mb or 0) / most_memory if head and most_memory else 0.0)
    return Seen([min(number, 1.0) for number in numbers], hosts_that_fit(state), sorted(state.waiting)[:1])
