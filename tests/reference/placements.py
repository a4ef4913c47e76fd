"""Which nodes a job gets, by each placement rule."""

from __future__ import annotations

from collections.abc import Callable

from tests.reference.asking import Ask, TasksOn, fewest_nodes, fill_in_turn, pack, room
from tests.reference.fragments import choose_unfragmenting_devices, least_fragmentation
from tests.reference.locality import areas, spreads_of
from tests.reference.model import Allocation, Share
from tests.reference.randomness import shuffled
from tests.reference.resources import choose_devices, speed_on
from tests.reference.task_by_task import CHOOSERS, chosen_hosts
from tests.reference.tiers import tiered
from tests.reference.topology import nearest_together


def evenly(ask: Ask, order: list[int]) -> TasksOn:
    """Gives one task to each node that has capacity left, in rounds."""
    tasks_on = dict.fromkeys(order, 0)
    while True:
        for node in order:
            if sum(tasks_on.values()) == ask.job.tasks:
                return tasks_on
            if tasks_on[node] < ask.capacities[node]:
                tasks_on[node] += 1


def least_room_first(ask: Ask) -> list[int]:
    """Returns the candidates, the fullest first."""
    return sorted(ask.capacities, key=lambda node: (room(ask, node), node))


def most_room_first(ask: Ask) -> list[int]:
    """Returns the candidates, the emptiest first."""
    return sorted(ask.capacities, key=lambda node: (tuple(-part for part in room(ask, node)), node))


BY_NODE: dict[str, Callable[[Ask], TasksOn]] = {
    "first-fit": lambda ask: fill_in_turn(ask, sorted(ask.capacities)),
    "best-fit": lambda ask: fill_in_turn(ask, least_room_first(ask)),
    "worst-fit": lambda ask: fill_in_turn(ask, most_room_first(ask)),
    "spread": lambda ask: evenly(ask, most_room_first(ask)),
    "random": lambda ask: fill_in_turn(ask, shuffled(sorted(ask.capacities), ask.seed, ask.place)),
}
"""The rules that take the first pool in which the job fits."""


def by_speed(ask: Ask, sign: int) -> TasksOn:
    """Takes the slowest pool in which the job fits (sign 1) or the fastest (-1); without pools, the nodes in turn."""
    if not ask.bound:
        first = ask.pools_that_fit()[0]
        return fill_in_turn(
            first, sorted(first.capacities, key=lambda node: (sign * speed_on(ask.job, ask.nodes[node]), node))
        )
    in_order = sorted(ask.pools_that_fit(), key=lambda pool: sign * pool.first_speed_micro)
    return fewest_nodes(in_order[0])


def tasks_by_node(rule: str, ask: Ask) -> TasksOn:
    """Returns how many tasks each candidate gets; there is room for all."""
    if rule == "fgd" and (ask.job.gpu_milli == 0 or ask.job.exclusive):
        rule = "best-fit"
    if rule in CHOOSERS:
        return chosen_hosts(ask, CHOOSERS[rule])
    if rule in BY_NODE:
        return BY_NODE[rule](ask.pools_that_fit()[0])
    if rule.startswith("tiered-"):
        return tiered(ask, rule.removeprefix("tiered-"))
    rules: dict[str, Callable[[Ask], TasksOn]] = {
        "pack": pack,
        "fastest": lambda ask: by_speed(ask, -1),
        "slowest-that-fits": lambda ask: by_speed(ask, 1),
        "fgd": least_fragmentation,
        "topology": nearest_together,
    }
    return rules[rule](ask)


def place_job(rule: str, ask: Ask) -> Allocation | None:
    """Returns where the job goes by the rule, or None if it does not fit."""
    if not ask.pools_that_fit():
        return None
    choose = choose_unfragmenting_devices if rule == "fgd" and not ask.job.exclusive else choose_devices_of
    tasks_on = {node: tasks for node, tasks in tasks_by_node(rule, ask).items() if tasks}
    around = spreads_of(ask.spreads, [*tasks_on])
    if around and not any(spread.accepts([*tasks_on]) for spread in around):
        near, choose = close_together(rule, ask), choose_devices_of
        if near is None:
            return None
        tasks_on = near
    return tuple(Share(node, tasks, choose(ask, node, tasks)) for node, tasks in tasks_on.items())


def close_together(rule: str, ask: Ask) -> TasksOn | None:
    """Returns the best of all areas in which the job fits close enough together; None: there is none."""
    sign = {"fastest": -1, "slowest-that-fits": 1}.get(rule, 0) if ask.bound else 0
    found = []
    for number, spread in enumerate(ask.spreads):
        speed = sign * speed_on(ask.job, ask.nodes[min(spread.pool)])
        for place, area in enumerate(areas(ask.nodes, spread.pool, spread.widest)):
            part = ask.among(area)
            if part.fits():
                tasks_on = fewest_nodes(part)
                if spread.accepts([*tasks_on]):
                    key = (speed, len(tasks_on), sum(part.capacities.values()), number, place)
                    found.append((key, tasks_on))
    return min(found, key=lambda one: one[0])[1] if found else None


def choose_devices_of(ask: Ask, node: int, tasks: int) -> tuple[int, ...]:
    """Returns how many milli-GPUs of each device the tasks take on a node, by the usual rule."""
    return choose_devices(ask.job, ask.free[node], tasks)
