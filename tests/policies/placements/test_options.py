"""The options of `milp`: placements of the two tiers, all of them where they are few."""

from __future__ import annotations

import numpy as np

from shunter.policies.own import Assignment, Request, Scene, check_answer
from shunter.policies.placements.scene_objective import Weights, make_profile
from shunter.policies.placements.tier_options import MOST_OPTIONS, ORDERS, TIERS, find_options, like_pools
from tests.policies.placements.enumerate import all_splits
from tests.policies.placements.plain_objective import objective
from tests.policies.placements.scenes import find_tier, make_scene, random_scene

WEIGHTS = Weights()


def options_of(scene: Scene) -> list[Assignment]:
    return find_options(scene, make_profile(scene, WEIGHTS))


def is_option(scene: Scene, assignment: Assignment) -> bool:
    """Returns whether a placement is one of the two tiers, as they are defined."""
    kinds = {(int(scene.pool[node]), int(scene.gpus[node])) for node, _ in assignment}
    if len(kinds) > 1:
        return False
    request, total = scene.request, kinds.pop()[1]
    fewest = -(-request.tasks // (total // request.gpus))
    if len(assignment) == fewest:
        return True
    change = 0
    for node, tasks in assignment:
        before = int(scene.free_gpus[node])
        change += (0 < before - tasks * request.gpus < total) - (0 < before < total)
    return len(assignment) == fewest + 1 and change <= 0 and request.tasks * request.gpus > 1


def test_options_are_the_placements_of_the_tiers() -> None:
    generator = np.random.default_rng(5)
    for _ in range(150):
        scene = random_scene(generator, int(generator.integers(3, 7)), 5)
        options = options_of(scene)
        assert len({tuple(option) for option in options}) == len(options)
        for option in options:
            check_answer(scene, option, "milp")
            assert is_option(scene, option)
        # Nodes that are alike stand for each other, so what is left out is no better or worse than what is listed.
        if len(options) < MOST_OPTIONS // (2 * max(1, len(like_pools(scene)))):
            values = {round(objective(scene, option, WEIGHTS), 9) for option in options}
            every = [assignment for assignment in all_splits(scene) if is_option(scene, assignment)]
            assert values == {round(objective(scene, assignment, WEIGHTS), 9) for assignment in every}


def test_nodes_that_are_alike_are_listed_once() -> None:
    assert options_of(make_scene([8, 8, 8, 2], Request(1, 0, 0, 1000))) == [[(0, 1)], [(3, 1)]]
    assert options_of(make_scene([8, 8, 8], Request(8, 0, 0, 1000))) == [[(0, 8)]]
    two_nodes = options_of(make_scene([5, 5, 5], Request(6, 0, 0, 1000)))
    assert two_nodes == [[(0, 5), (1, 1)], [(0, 4), (1, 2)], [(0, 3), (1, 3)]]


def test_where_there_are_many_the_best_of_each_order_are_among_them() -> None:
    scene = make_scene([8, 7, 6, 5, 4, 3, 7, 6], Request(16, 0, 0, 1000), gpus=[8] * 8)
    options = options_of(scene)
    for tier in TIERS:
        for order in ORDERS:
            best = find_tier(scene.free_gpus.tolist(), 16, 8, tier=tier, order=order)
            assert best is None or sorted(best.assignment) in options
    assert 3 < len(options) <= MOST_OPTIONS + 6


def test_like_pools_have_one_type_and_one_size() -> None:
    scene = make_scene([4, 8, 4, 2, 0], Request(1, 0, 0, 4000), gpus=[8, 8, 4, 2, 4], pool=[0, 1, 0, 0, 0])
    pools = like_pools(scene)
    assert [(pool.nodes, pool.free, pool.capacity, pool.gpus, pool.full) for pool in pools] == [
        ([0], [4], [1], 8, 2),
        ([1], [8], [2], 8, 2),
        ([2, 4], [4, 0], [1, 0], 4, 1),
    ]
