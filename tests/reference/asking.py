"""What a placement rule is asked, the pools in which a job fits, and the rule ``pack``, which others fall back on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from tests.reference.locality import Spread
from tests.reference.model import RefJob, RefNode
from tests.reference.resources import FreeNodes, capacity, places, pools, speed_on

TasksOn: TypeAlias = dict[int, int]
"""How many tasks each node gets."""

JobClass: TypeAlias = tuple[int, int, int, int]
"""Tasks, and per task cores, memory and milli-GPUs."""


@dataclass(frozen=True)
class Ask:
    """One job that wants nodes."""

    job: RefJob
    place: int
    """The job's place in the log."""
    nodes: Sequence[RefNode]
    """The whole cluster."""
    usable: tuple[int, ...]
    """The nodes that the job may use and that are up, whether they have room or not."""
    free: FreeNodes
    """What is free on every node of the cluster."""
    capacities: dict[int, int]
    """The candidates: how many tasks each node can take that can take any."""
    pool: tuple[int, ...]
    """The nodes from which the candidates come."""
    mix: bool
    seed: int
    classes: Counter[JobClass]
    """The classes of jobs that the rule ``fgd`` reckons with, and how many jobs each has."""
    spreads: Sequence[Spread] = ()
    """What locality means for the job, pool by pool; empty: it takes any nodes now."""

    @property
    def bound(self) -> bool:
        """Whether all nodes have to be of one type."""
        return self.job.gpu_milli > 0 and not self.mix

    @property
    def first_speed_micro(self) -> int:
        """The speed of the job on the first node from which the candidates come."""
        return speed_on(self.job, self.nodes[min(self.pool)])

    def among(self, pool: Sequence[int]) -> Ask:
        """Returns the same with the candidates in one pool."""
        candidates = {node: tasks for node, tasks in self.capacities.items() if node in pool}
        return replace(self, capacities=candidates, pool=tuple(pool))

    def fits(self) -> bool:
        """Tells whether the candidates have room for all tasks."""
        return sum(self.capacities.values()) >= self.job.tasks

    def pools_that_fit(self) -> list[Ask]:
        """Returns the pools in which the job fits, in their order; its partitions for a job that is not bound."""
        groups = pools(self.job, self.nodes) if self.bound else places(self.job, self.nodes)
        return [ask for ask in map(self.among, groups) if ask.fits()]


def candidates(job: RefJob, usable: Sequence[int], free: FreeNodes) -> dict[int, int]:
    """Returns how many tasks each usable node can take, those left out that can take none."""
    return {node: capacity(job, free[node]) for node in usable if capacity(job, free[node]) >= 1}


def room(ask: Ask, node: int) -> tuple[int, int, int]:
    """Returns a node's room, by which nodes are compared."""
    free = ask.free[node]
    return (sum(free.devices) if ask.job.gpu_milli else 0, free.cores_milli, free.memory_mb or 0)


def fill_in_turn(ask: Ask, order: list[int]) -> TasksOn:
    """Gives each node in turn as many tasks as it can take."""
    tasks_on: TasksOn = {}
    for node in order:
        tasks_on[node] = min(ask.capacities[node], ask.job.tasks - sum(tasks_on.values()))
    return tasks_on


def fewest_nodes(ask: Ask) -> TasksOn:
    """Fills the greatest nodes until one node can take the rest, and gives that to the tightest such node."""
    tasks_on: TasksOn = {}
    while True:
        rest = ask.job.tasks - sum(tasks_on.values())
        unused = [node for node in ask.capacities if node not in tasks_on]
        enough = [node for node in unused if ask.capacities[node] >= rest]
        if enough:
            last = min(enough, key=lambda node: (ask.capacities[node], room(ask, node), node))
            return {**tasks_on, last: rest}
        greatest = min(unused, key=lambda node: (-ask.capacities[node], room(ask, node), node))
        tasks_on[greatest] = ask.capacities[greatest]


def pack(ask: Ask) -> TasksOn:
    """Returns the fewest nodes of any pool; of several such pools, those of the first."""
    return min((fewest_nodes(pool) for pool in ask.pools_that_fit()), key=len)
