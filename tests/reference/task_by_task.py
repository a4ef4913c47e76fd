"""Hosts chosen for one task of a job after the other: what is seen, what may be chosen, and what that does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from tests.reference.asking import Ask, TasksOn
from tests.reference.model import RefJob, RefNode, Share
from tests.reference.resources import FreeNodes, choose_devices, without

Chooser: TypeAlias = Callable[[list[float], list[bool]], int]
"""Returns a host for what is seen and allowed."""

CHOOSERS: dict[str, Chooser] = {}
"""Who chooses under a placement of this name."""


def chosen_hosts(ask: Ask, choose: Chooser) -> TasksOn:
    """Returns how many tasks each host gets; one that alone is allowed is taken without asking."""
    given: TasksOn = {}
    while sum(given.values()) < ask.job.tasks:
        mask = allowed(ask, given)
        several = mask.count(True) > 1
        host = choose(observation(ask.nodes, free_beside(ask, given), ask.job), mask) if several else mask.index(True)
        assert mask[host]
        give(given, host)
    return given


def give(given: TasksOn, host: int) -> None:
    """Puts one more task on a host."""
    given[host] = given.get(host, 0) + 1


def free_beside(ask: Ask, given: TasksOn) -> FreeNodes:
    """Returns what is free beside those tasks of the job that have a host."""
    shares = [Share(host, tasks, choose_devices(ask.job, ask.free[host], tasks)) for host, tasks in given.items()]
    return without(ask.free, replace(ask.job, exclusive=False), tuple(shares))


def allowed(ask: Ask, given: TasksOn) -> list[bool]:
    """Tells on which hosts one more task fits: in a pool that has room for the whole job, and has all of its hosts."""
    pools = [set(one.capacities) for one in ask.pools_that_fit() if set(given) <= set(one.capacities)]
    return [
        any(host in pool for pool in pools) and ask.capacities.get(host, 0) > given.get(host, 0)
        for host in range(len(ask.nodes))
    ]


def observation(nodes: Sequence[RefNode], free: FreeNodes, job: RefJob | None) -> list[float]:
    """Returns how full and how large each host is, and what one task of a job asks for."""
    most_cores = max(node.cores_milli for node in nodes)
    most_memory = max(node.memory_mb or 0 for node in nodes)
    numbers: list[float] = []
    for node, left in zip(nodes, free, strict=True):
        memory = node.memory_mb or 0
        numbers += [
            part(node.cores_milli - left.cores_milli, node.cores_milli),
            part(memory - (left.memory_mb or 0), memory),
            part(node.cores_milli, most_cores),
            part(memory, most_memory),
        ]
    numbers.append(part(job.cores_milli, most_cores) if job else 0.0)
    numbers.append(part(job.memory_mb or 0, most_memory) if job else 0.0)
    return [min(number, 1.0) for number in numbers]


def part(some: int, of: int) -> float:
    """Returns which part of something some are; nothing of nothing."""
    return some / of if of else 0.0
