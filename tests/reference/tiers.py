"""The placements ``tiered-*``: of all ways to spread whole GPUs over few like nodes, the best, found by trying all."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

from tests.reference.asking import Ask, TasksOn, pack
from tests.reference.model import DEVICE_MILLI
from tests.reference.resources import places

Rank: TypeAlias = tuple[object, ...]


@dataclass(frozen=True)
class LikePool:
    """Nodes with the same type and number of GPUs, as far as the job may use them."""

    gpus: int
    """Of each node."""
    free: dict[int, int]
    """Of each node: its devices that nobody uses."""
    capacities: dict[int, int]
    """Of each node that can take any: how many tasks it can take."""
    tasks: int
    gpus_per_task: int

    @property
    def fewest_nodes(self) -> int:
        """How many nodes the job would take if they were empty."""
        return math.ceil(self.tasks / (self.gpus // self.gpus_per_task))


@dataclass(frozen=True)
class Change:
    """What an assignment does to a pool."""

    frag: int
    """How many more nodes are partly used."""
    waste: int
    """How many more GPUs are used on partly used nodes."""
    squares: int
    """By how much the sum of the squares of the GPUs used on each node grows."""


def is_partly_used(free: int, gpus: int) -> bool:
    """Tells whether a node is neither empty nor full."""
    return 0 < free < gpus


def change_of(pool: LikePool, tasks_on: TasksOn) -> Change:
    """Returns what an assignment changes."""
    frag = waste = squares = 0
    for node, tasks in tasks_on.items():
        before = pool.free[node]
        after = before - tasks * pool.gpus_per_task
        for free, sign in ((before, -1), (after, 1)):
            frag += sign * is_partly_used(free, pool.gpus)
            waste += sign * (pool.gpus - free if is_partly_used(free, pool.gpus) else 0)
            squares += sign * (pool.gpus - free) ** 2
    return Change(frag, waste, squares)


def variance_delta(pool: LikePool, tasks_on: TasksOn) -> float:
    """Returns the change of the population variance of use, by which squares are compared exactly."""

    def variance(free: Sequence[int]) -> float:
        used = [(pool.gpus - one) / pool.gpus for one in free]
        mean = sum(used) / len(used)
        return sum((one - mean) ** 2 for one in used) / len(used)

    after = [free - tasks_on.get(node, 0) * pool.gpus_per_task for node, free in pool.free.items()]
    return variance(after) - variance(list(pool.free.values()))


def splits(tasks: int, most: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yields all ways to give each node at least one task and at most what it can take."""
    if not most:
        if tasks == 0:
            yield ()
        return
    for first in range(1, min(tasks, most[0]) + 1):
        for rest in splits(tasks - first, most[1:]):
            yield (first, *rest)


def assignments(pool: LikePool, count: int) -> Iterator[TasksOn]:
    """Yields all ways to place the job on exactly so many nodes."""
    for nodes in combinations(sorted(pool.capacities), count):
        for tasks in splits(pool.tasks, [pool.capacities[node] for node in nodes]):
            yield dict(zip(nodes, tasks, strict=True))


def rank(pool: LikePool, tasks_on: TasksOn, order: str) -> Rank:
    """Returns how good an assignment is, the least being the best; of those alike, early nodes take more tasks."""
    change = change_of(pool, tasks_on)
    nodes, more_tasks_first = tuple(sorted(tasks_on)), tuple(-tasks_on[node] for node in sorted(tasks_on))
    defrag = (change.frag, change.waste, change.squares)
    by_order: dict[str, Rank] = {
        "defrag": (*defrag, len(nodes), nodes),
        "balance": (change.squares, change.frag, change.waste, len(nodes), nodes),
        "lex": (nodes, *defrag),
    }
    return (*by_order[order], more_tasks_first)


def best_in_tier(pool: LikePool, tier: int, order: str) -> TasksOn | None:
    """Returns the best assignment of tier 1, or of tier 2: one node more, but not more nodes that are partly used."""
    if tier == 1:
        options = list(assignments(pool, pool.fewest_nodes))
    elif pool.tasks * pool.gpus_per_task == 1:
        options = []
    else:
        options = list(assignments(pool, pool.fewest_nodes + 1))
        options = [option for option in options if change_of(pool, option).frag <= 0]
    return min(options, key=lambda option: rank(pool, option, order), default=None)


def like_pools(ask: Ask) -> list[LikePool]:
    """Returns the like pools whose nodes can take a task of the job when they are empty, by their first nodes.

    Those of its first partition come first.
    """
    found = []
    for members in places(ask.job, ask.nodes):
        found += like_pools_of(ask, [node for node in sorted(ask.usable) if node in members])
    return found


def like_pools_of(ask: Ask, usable: Sequence[int]) -> list[LikePool]:
    """Returns those of one partition."""
    gpus_per_task = ask.job.gpu_milli // DEVICE_MILLI
    kinds = dict.fromkeys((ask.nodes[node].gpu_type, ask.nodes[node].gpus) for node in usable)
    pools = []
    for gpu_type, gpus in kinds:
        nodes = [node for node in usable if (ask.nodes[node].gpu_type, ask.nodes[node].gpus) == (gpu_type, gpus)]
        free = {node: sum(device == DEVICE_MILLI for device in ask.free[node].devices) for node in nodes}
        capacities = {node: ask.capacities[node] for node in nodes if node in ask.capacities}
        if gpus >= gpus_per_task:
            pools.append(LikePool(gpus, free, capacities, ask.job.tasks, gpus_per_task))
    return pools


def tiered(ask: Ask, order: str) -> TasksOn:
    """Returns the best assignment of the lowest tier; without one, and for fractions of GPUs, as the rule ``pack``."""
    if ask.job.gpu_milli < DEVICE_MILLI:
        return pack(ask)
    for tier in (1, 2):
        options = [best_in_tier(pool, tier, order) for pool in like_pools(ask)]
        found = [option for option in options if option is not None]
        if found:
            return min(found, key=len)
    return pack(ask)
