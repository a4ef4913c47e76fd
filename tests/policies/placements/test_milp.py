"""The models find the least objective, which enumeration finds too."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.policies.own import Request, Scene, check_answer
from shunter.policies.placements.milp import MilpPlacer
from shunter.policies.placements.scene_objective import Weights, make_profile
from shunter.policies.placements.solver import NoSolution
from shunter.policies.placements.tier_options import find_options
from tests.policies.placements.enumerate import all_splits, enumerate_best
from tests.policies.placements.plain_objective import objective
from tests.policies.placements.scenes import make_scene, random_scene
from tests.support import examples

NODES = 1e-4
"""More than the nodes of a job add to the objective."""
ONLY_PARTLY_USED = {1: Weights(1, 0, 0), -1: Weights(-1, 0, 0)}


def make_placer(*, full: bool, weights: Weights | None = None) -> MilpPlacer:
    return MilpPlacer(full=full, weights=weights, time_limit_s=60)


def random_weights(generator: np.random.Generator) -> Weights:
    if generator.random() < 0.4:
        return Weights()
    alpha, beta, gamma = generator.uniform([-2, 0, 0], [2, 2, 2]) * (generator.random(3) < 0.8)
    return Weights(float(alpha), float(beta), float(gamma), int(generator.integers(0, 7)))


def agrees_with_enumeration(seed: int, *, full: bool) -> bool:
    """Compares one random case; returns whether there were placements to choose among."""
    generator = np.random.default_rng(seed)
    scene = random_scene(generator, int(generator.integers(3, 7)), 6)
    weights = random_weights(generator)
    placer = make_placer(full=full, weights=weights)
    options = list(all_splits(scene)) if full else find_options(scene, make_profile(scene, weights))
    best = enumerate_best(scene, weights, options)
    if best is None:
        with pytest.raises(NoSolution):
            placer.solve(scene)
        return False
    value, assignment = placer.solve(scene)
    check_answer(scene, assignment, placer.name)
    assert value == pytest.approx(best[0], abs=1e-6)
    assert objective(scene, assignment, weights) == pytest.approx(best[0], abs=1e-6)
    return len(options) > 1


@pytest.mark.parametrize("full", [False, True])
def test_the_model_finds_what_enumeration_finds(full: bool) -> None:
    compared, seed = 0, 0
    while compared < 250:
        compared += agrees_with_enumeration(seed, full=full)
        seed += 1


@examples(100, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_tables_add_up_to_the_objective(seed: int) -> None:
    generator = np.random.default_rng(seed)
    scene = random_scene(generator, 4, 4)
    weights = random_weights(generator)
    profile = make_profile(scene, weights)
    row_of = {int(node): row for row, node in enumerate(profile.nodes)}
    for assignment in all_splits(scene):
        tasks = np.zeros(len(profile.nodes), dtype=int)
        for node, here in assignment:
            tasks[row_of[node]] = here
        rows = np.arange(len(tasks))
        free = np.concatenate([profile.free[rows, tasks], profile.fixed_free])
        value = profile.fixed_cost + profile.cost[rows, tasks].sum() + weights.beta * (free.max() - free.min())
        assert value == pytest.approx(objective(scene, assignment, weights), abs=1e-9)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize(
    ("free", "tasks", "sign", "partly_used"),
    [
        ([8], 4, 1, 1),  # a fresh node is broken up: to deny it would pay
        ([6], 4, 1, 1),  # so would it where the node was partly used before
        ([8], 8, -1, 0),  # nothing is left: to call the node partly used would pay
        ([5, 0], 5, -1, 0),
        ([8, 4], 4, -1, 2),  # one idle and one full node, or two that are partly used
        ([8, 4], 4, 1, 0),
        ([8, 8], 8, -1, 2),
    ],
)
def test_a_node_is_partly_used_just_if_it_is(
    full: bool, free: list[int], tasks: int, sign: int, partly_used: int
) -> None:
    scene = make_scene(free, Request(tasks, 0, 0, 1000))
    if not full and (free, sign) == ([8, 8], -1):
        partly_used = 0  # two nodes instead of one are no option where that breaks them up
    value, _ = make_placer(full=full, weights=ONLY_PARTLY_USED[sign]).solve(scene)
    assert value == pytest.approx(sign * partly_used, abs=NODES)


@pytest.mark.parametrize("full", [False, True])
def test_hosts_are_nodes_that_truly_can(full: bool) -> None:
    # Node 0 has GPUs for the waiting job but not the cores, node 1 the cores but not the memory; node 2 has it all.
    scene = make_scene(
        [4, 4, 4],
        Request(1, 1000, 0, 1000),
        cores=([2, 9, 9], [16, 16, 16]),
        memory_mb=([90, 10, 90], [90, 90, 90]),
        waiting=[Request(3, 1000, 20, 1000)],
    )
    placer = make_placer(full=full, weights=Weights(0, 0, 1))
    assert placer.solve(scene)[0] == pytest.approx(-1, abs=NODES)
    # Wherever a job of two GPUs goes, that node is lost to one that needs three; one of a single GPU does no harm.
    for gpu_milli, hosts in ((2000, 2), (1000, 3)):
        scene = make_scene([4, 4, 4], Request(1, 0, 0, gpu_milli), waiting=[Request(3, 0, 0, 1000)])
        assert placer.solve(scene)[0] == pytest.approx(-hosts, abs=NODES)


@pytest.mark.parametrize("full", [False, True])
def test_a_job_keeps_to_one_type_unless_they_mix(full: bool) -> None:
    def scene(mix: bool) -> Scene:
        return make_scene([3, 3, 4, 2], Request(6, 0, 0, 1000), gpus=[4, 4, 4, 4], pool=[0, 1, 1, 0], mix=mix)

    assert make_placer(full=full).place(scene(False)) in ([(1, 2), (2, 4)], [(1, 3), (2, 3)])
    value, assignment = make_placer(full=True, weights=Weights(1, 0, 0)).solve(scene(True))
    # Three GPUs of each type fill two nodes; of the others one is idle.
    assert value == pytest.approx(1, abs=NODES)
    assert assignment == [(0, 3), (1, 3)]


def test_tiers_of_the_core_are_the_default() -> None:
    generator = np.random.default_rng(12)
    for _ in range(30):
        scene = random_scene(generator, 6, 6)
        assert MilpPlacer(time_limit_s=60).place(scene) == make_placer(full=False).place(scene)


def test_the_answer_does_not_depend_on_earlier_decisions() -> None:
    generator = np.random.default_rng(11)
    scenes = [random_scene(generator, 6, 6) for _ in range(20)]
    for full in (False, True):
        kept = make_placer(full=full)
        assert [kept.place(scene) for scene in scenes] == [make_placer(full=full).place(scene) for scene in scenes]
