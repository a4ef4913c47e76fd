"""Decisions by policies and placements in Python are what their simulations do, and know nothing of the future."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

import shunter
from shunter import Cluster, Placer, Policy, QueueView, Workload
from shunter.policies.scheduler import Scheduler, resolve_scheduler
from shunter.simulation import Simulation, decide
from shunter.simulation.run import OwnOrder
from tests.properties.core_adapter import cluster_of, workload_of
from tests.properties.crowds import crowd
from tests.properties.strategies import DISPATCHES, Scene
from tests.properties.test_decide import SEEDS, check_is_done, instants, with_another_future
from tests.simulation.driving import tables_of
from tests.simulation.placers import FirstFit
from tests.support import examples


class Whim(Policy):
    """Scores by what a policy may know: requests, waits, cores and users."""

    def __init__(self, moves: bool) -> None:
        self.moves = moves
        self.name = f"whim {moves}"

    def score(self, queue: QueueView) -> NDArray[np.float64]:
        waits = queue.wait_s if self.moves else 0.0
        scores: NDArray[np.float64] = queue.cores * 3.7 + np.sin(queue.submit_s) - waits * 0.9
        return scores


class Choosy(Placer):
    """Puts tasks on the emptiest nodes, and declines some jobs for as long as there is little room."""

    name = "choosy"

    def place(self, scene: shunter.Scene) -> Sequence[tuple[int, int]] | None:
        if scene.job % 3 == 0 and scene.capacity.sum() < 2 * scene.request.tasks:
            return None
        left, pairs = scene.request.tasks, []
        for node in np.argsort(-scene.capacity, kind="stable").tolist():
            if here := min(left, int(scene.capacity[node])):
                pairs.append((node, here))
                left -= here
        return pairs if left == 0 else None


def way(random: Random, dispatch: str, policy: Policy | str, placement: Placer | str) -> Scheduler:
    """Draws the other settings of one way to schedule that sees no run times."""
    return resolve_scheduler(
        policy=policy,
        dispatch=dispatch,
        placement=placement,
        estimate=random.choice(["requested", "last-two"]),
        missing_request="4.0",
        max_wait_s=random.choice([None, 6.0]),
    )


def other_tables(scene: Scene, simulation: Simulation, random: Random) -> tuple[Workload, Cluster]:
    """Returns jobs and nodes of a scene with another future."""
    other = with_another_future(scene, simulation.snapshot(), random)
    return workload_of(other.jobs), cluster_of(other.nodes)


@pytest.mark.every(4)
@pytest.mark.parametrize("dispatch", DISPATCHES)
@pytest.mark.parametrize("moves", [False, True])
@given(seed=SEEDS)
@examples(15)
def test_a_policy_in_python(dispatch: str, moves: bool, seed: int) -> None:
    random = Random(seed)
    scene, policy = crowd(random), Whim(moves)
    scheduler = way(random, dispatch, policy, random.choice(["first-fit", "pack"]))
    own = OwnOrder(policy, *tables_of(scene), scheduler)
    simulation = own.simulation
    while simulation.advance():
        order = own.order().tolist() if moves else None
        if random.random() < 0.3:
            decision = simulation.decide(order)
            check_is_done(decision, simulation, dispatch, order)
            assert decide(simulation.snapshot(), *tables_of(scene), scheduler) == decision
            assert decide(simulation.snapshot(), *other_tables(scene, simulation, random), scheduler) == decision
        simulation.dispatch(order)


@pytest.mark.every(4)
@pytest.mark.parametrize("dispatch", DISPATCHES)
@given(seed=SEEDS)
@examples(25)
def test_a_placement_in_python(dispatch: str, seed: int) -> None:
    random = Random(seed)
    scene = crowd(random)
    scheduler = way(random, dispatch, random.choice(["fcfs", "sjf", "wfp3"]), random.choice([Choosy, FirstFit])())
    simulation = Simulation(*tables_of(scene), scheduler)
    for _ in instants(simulation, random):
        decision = simulation.decide()
        check_is_done(decision, simulation, dispatch)
        assert decide(simulation.snapshot(), *tables_of(scene), scheduler) == decision
        assert decide(simulation.snapshot(), *other_tables(scene, simulation, random), scheduler) == decision
