"""The placement ``topology``: nodes under one switch, otherwise in one rack, otherwise any."""

from __future__ import annotations

from tests.reference.asking import Ask, TasksOn, fewest_nodes, pack
from tests.reference.resources import choices


def nearest_together(ask: Ask) -> TasksOn:
    """Returns the best group of nodes under one switch, or in one rack; if there is none, as the rule ``pack``."""
    by_switch = groups(ask, [node.switch for node in ask.nodes])
    by_rack = groups(ask, [node.rack for node in ask.nodes])
    best = by_switch or by_rack
    return min(best)[-1] if best else pack(ask)


Ranked = tuple[int, int, int, int, TasksOn]
"""Nodes, capacity of the group, number of the pool, number of the group: no two are alike in all of them."""


def groups(ask: Ask, group_of: list[int | None]) -> list[Ranked]:
    """Returns, for each group within each pool in which the job fits, what it would get there and how good that is."""
    found: list[Ranked] = []
    everywhere = range(len(ask.nodes))
    for pool_number, pool in enumerate(choices(ask.job, everywhere, ask.nodes, ask.mix)):
        for group in {number for number in group_of if number is not None}:
            part = ask.among([node for node in pool if group_of[node] == group])
            if part.fits():
                tasks_on = fewest_nodes(part)
                found.append((len(tasks_on), sum(part.capacities.values()), pool_number, group, tasks_on))
    return found
