"""The tiered search: never worse than RLTune's, and the same as a search through everything."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from typing import Any, Literal, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.errors import InputError
from shunter.policies.placements.tier_options import TierOption, find_tier
from tests.reference.published import rltune_pools
from tests.support import examples

Order = Literal["defrag", "balance", "lex"]
ORDERS: tuple[Order, ...] = get_args(Order)
Assignment = tuple[tuple[int, int], ...]


def variance(free: list[int], gpus_per_node: int) -> Fraction:
    used = [Fraction(gpus_per_node - each, gpus_per_node) for each in free]
    mean = sum(used, Fraction(0)) / len(used)
    return sum(((each - mean) ** 2 for each in used), Fraction(0)) / len(used)


def changes(
    free: list[int], gpus_per_node: int, assignment: Assignment, gpus_per_task: int = 1
) -> tuple[int, int, Fraction]:
    """Returns the three changes, from the pool before and after."""
    after = list(free)
    for node, tasks in assignment:
        after[node] -= tasks * gpus_per_task
    partly_used = [[gpus_per_node - each for each in pool if 0 < each < gpus_per_node] for pool in (free, after)]
    return (
        len(partly_used[1]) - len(partly_used[0]),
        sum(partly_used[1]) - sum(partly_used[0]),
        variance(after, gpus_per_node) - variance(free, gpus_per_node),
    )


def check_option(option: TierOption, free: list[int], request: int, gpus_per_node: int, tier: int) -> None:
    """Holds an option to the rules of its tier, and its figures to the pool."""
    nodes = [node for node, _ in option.assignment]
    assert nodes == sorted(set(nodes))
    assert len(nodes) == option.nodes == -(-request // gpus_per_node) + tier - 1
    assert sum(tasks for _, tasks in option.assignment) == request
    assert all(1 <= tasks <= free[node] for node, tasks in option.assignment)
    assert tier == 1 or option.frag_delta <= 0
    frag, waste, change = changes(free, gpus_per_node, option.assignment)
    assert (option.frag_delta, option.waste_delta) == (frag, waste)
    assert option.variance_delta == pytest.approx(float(change), rel=1e-15, abs=0)


@pytest.mark.parametrize("order", ["defrag", "balance"])
@pytest.mark.parametrize("tier", [1, 2])
def test_is_never_worse_than_rltune(tier: int, order: Order) -> None:
    theirs_found = 0
    assert len(rltune_pools()) == 200
    for vector in rltune_pools():
        free, request, gpus_per_node = list(vector.free), vector.request, vector.gpus_per_node
        ours = find_tier(free, request, gpus_per_node, tier=tier, order=order)
        theirs = vector.best[tier, order]
        if ours is not None:
            check_option(ours, free, request, gpus_per_node, tier)
        if theirs is None:
            continue
        theirs_found += 1
        assert ours is not None
        figures = changes(free, gpus_per_node, theirs.assignment)
        assert (theirs.frag_delta, theirs.waste_delta) == figures[:2]
        assert theirs.variance_delta == pytest.approx(float(figures[2]), abs=1e-12)
        our_figures = changes(free, gpus_per_node, ours.assignment)
        assert key(order, our_figures, ours.assignment) <= key(order, figures, theirs.assignment)
    assert theirs_found > 20


def ways(limits: list[int], tasks: int, nodes: int) -> list[Assignment]:
    """Returns every way to put the tasks on exactly so many nodes."""
    usable = [node for node, limit in enumerate(limits) if limit]
    return [
        tuple(zip(chosen, split, strict=True))
        for chosen in combinations(usable, nodes)
        for split in product(*(range(1, limits[node] + 1) for node in chosen))
        if sum(split) == tasks
    ]


def key(order: Order, figures: tuple[int, int, Fraction], assignment: Assignment) -> tuple[Any, ...]:
    """Returns all that decides, first things first."""
    frag, waste, change = figures
    nodes, tasks = [node for node, _ in assignment], [-tasks for _, tasks in assignment]
    if order == "lex":
        return (nodes, figures, tasks)
    return ((frag, waste, change) if order == "defrag" else (change, frag, waste), nodes, tasks)


@examples(300, deadline=None)
@given(st.data())
def test_finds_what_a_search_through_everything_finds(data: st.DataObject) -> None:
    gpus_per_node = data.draw(st.sampled_from([2, 3, 4, 6]))
    free = data.draw(st.lists(st.integers(0, gpus_per_node), min_size=1, max_size=5))
    gpus_per_task = data.draw(st.integers(1, min(3, gpus_per_node)))
    limits = [data.draw(st.sampled_from([each // gpus_per_task] * 2 + [each // gpus_per_task // 2])) for each in free]
    request = data.draw(st.integers(1, sum(limits) + 1))
    tier, order = data.draw(st.sampled_from([1, 2])), data.draw(st.sampled_from(ORDERS))
    nodes = -(-request // (gpus_per_node // gpus_per_task)) + tier - 1
    options = [(way, changes(free, gpus_per_node, way, gpus_per_task)) for way in ways(limits, request, nodes)]
    allowed = [(way, figures) for way, figures in options if tier == 1 or figures[0] <= 0]
    found = find_tier(
        free, request, gpus_per_node, tier=tier, order=order, gpus_per_task=gpus_per_task, capacity=limits
    )
    if not allowed:
        assert found is None
        return
    best, figures = min(allowed, key=lambda option: key(order, option[1], option[0]))
    assert found is not None
    assert found.assignment == best
    assert (found.frag_delta, found.waste_delta) == figures[:2]
    assert found.variance_delta == float(figures[2])


def test_takes_arrays() -> None:
    free = np.array([[4, 9], [2, 9], [4, 9]])[:, 0]
    found = find_tier(free, 2, 4, tier=1, order="defrag", capacity=np.array([9, 9, 9], dtype=np.int16))
    assert found is not None
    assert (found.assignment, found.frag_delta, found.waste_delta) == (((1, 2),), -1, -2)
    assert found.variance_delta == float(variance([4, 0, 4], 4) - variance([4, 2, 4], 4))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"free": [1, -1]}, "free of node 1 is -1"),
        ({"free": [1, 2**31]}, "free of node 1 is 2147483648"),
        ({"free": [1, 5]}, "node 1: free_gpus is 5; the node has 4"),
        ({"free": [0.5, 1]}, "whole numbers"),
        ({"free": [[1], [2]]}, "whole numbers"),
        ({"free": [2**80, 1]}, "whole numbers"),
        ({"free": []}, "whole numbers"),
        ({"free": np.zeros(0, dtype=np.int64)}, "nodes, not 0"),
        ({"capacity": [1]}, "capacity has 1 nodes and free 2"),
        ({"capacity": [1, -3]}, "capacity of node 1 is -3"),
        ({"request": 0}, "request is 0"),
        ({"request": 2**32}, "request is 4294967296"),
        ({"gpus_per_node": 0}, "gpus_per_node is 0"),
        ({"gpus_per_task": -1}, "gpus_per_task is -1"),
        ({"tier": 3}, "tier is 3"),
        ({"order": "best"}, "order is 'best'; expected one of defrag, balance, lex"),
    ],
)
def test_says_what_is_wrong(changed: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"free": [2, 4], "request": 2, "gpus_per_node": 4, "tier": 1, "order": "defrag"}
    with pytest.raises(InputError, match=message):
        find_tier(**arguments | changed)
