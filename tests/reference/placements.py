"""Which nodes a job gets, by each placement rule."""

from __future__ import annotations

from tests.reference.model import Allocation, RefJob, Share
from tests.reference.randomness import shuffled
from tests.reference.resources import Free, FreeNodes, capacity, choose_devices


def room(job: RefJob, free: Free) -> tuple[int, int, int]:
    """Returns a node's room, by which nodes are compared."""
    return (sum(free.devices) if job.gpu_milli else 0, free.cores_milli, free.memory_mb or 0)


def fill_in_turn(job: RefJob, order: list[int], capacities: dict[int, int]) -> dict[int, int]:
    """Gives each node in turn as many tasks as it can take."""
    tasks_on: dict[int, int] = {}
    for node in order:
        tasks_on[node] = min(capacities[node], job.tasks - sum(tasks_on.values()))
    return tasks_on


def fewest_nodes(job: RefJob, free: FreeNodes, capacities: dict[int, int]) -> dict[int, int]:
    """Fills the greatest nodes until one node can take the rest, and gives that to the tightest such node."""
    tasks_on: dict[int, int] = {}
    while True:
        rest = job.tasks - sum(tasks_on.values())
        unused = [node for node in capacities if node not in tasks_on]
        enough = [node for node in unused if capacities[node] >= rest]
        if enough:
            last = min(enough, key=lambda node: (capacities[node], room(job, free[node]), node))
            return {**tasks_on, last: rest}
        greatest = min(unused, key=lambda node: (-capacities[node], room(job, free[node]), node))
        tasks_on[greatest] = capacities[greatest]


def evenly(job: RefJob, order: list[int], capacities: dict[int, int]) -> dict[int, int]:
    """Gives one task to each node that has capacity left, in rounds."""
    tasks_on = dict.fromkeys(order, 0)
    while True:
        for node in order:
            if sum(tasks_on.values()) == job.tasks:
                return tasks_on
            if tasks_on[node] < capacities[node]:
                tasks_on[node] += 1


def tasks_by_node(
    rule: str, job: RefJob, place: int, free: FreeNodes, capacities: dict[int, int], seed: int
) -> dict[int, int]:
    """Returns how many tasks each candidate gets; there is room for all."""
    by_number = sorted(capacities)
    least_room_first = sorted(by_number, key=lambda node: (room(job, free[node]), node))
    most_room_first = sorted(by_number, key=lambda node: (tuple(-part for part in room(job, free[node])), node))
    if rule == "first-fit":
        return fill_in_turn(job, by_number, capacities)
    if rule == "best-fit":
        return fill_in_turn(job, least_room_first, capacities)
    if rule == "worst-fit":
        return fill_in_turn(job, most_room_first, capacities)
    if rule == "pack":
        return fewest_nodes(job, free, capacities)
    if rule == "spread":
        return evenly(job, most_room_first, capacities)
    if rule == "random":
        return fill_in_turn(job, shuffled(by_number, seed, place), capacities)
    raise ValueError(f"no placement is called {rule!r}")


def place_job(rule: str, job: RefJob, place: int, free: FreeNodes, nodes: list[int], seed: int) -> Allocation | None:
    """Returns where the job goes, or None if it does not fit.

    Args:
        rule: The placement rule's name.
        job: The job.
        place: The job's place in the table.
        free: What is free on every node of the cluster.
        nodes: The nodes that the job may use.
        seed: The simulation's seed.
    """
    capacities = {node: capacity(job, free[node]) for node in nodes if capacity(job, free[node]) >= 1}
    if sum(capacities.values()) < job.tasks:
        return None
    tasks_on = tasks_by_node(rule, job, place, free, capacities, seed)
    return tuple(
        Share(node, tasks, choose_devices(job, free[node], tasks)) for node, tasks in tasks_on.items() if tasks
    )
