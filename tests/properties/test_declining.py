"""A placement that declines now and then: a job to which it gives no nodes is treated as one that does not fit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias
from unittest.mock import patch

import pytest
from hypothesis import given

from shunter import Scene as Asked
from shunter.policies.scheduler import resolve_placement
from shunter.simulation import Simulation
from tests.properties.gpu_adapter import gpu_cluster, gpu_settings, gpu_workload, known
from tests.properties.gpu_strategies import gpu_configs, gpu_scenes
from tests.properties.strategies import Scene
from tests.reference.asking import candidates
from tests.reference.model import Allocation, Config, Result
from tests.reference.resources import FreeNodes, usable
from tests.reference.simulator import run_instants
from tests.reference.state import State
from tests.simulation.placers import FirstFit
from tests.support import examples

Times: TypeAlias = tuple[list[int | None], list[int | None]]
"""When jobs start, and when they end."""
place_always = State.place


def declines(job: int, capacity: Iterable[int]) -> bool:
    """Tells whether the placement gives a job no nodes, by how many of its tasks each node could take."""
    return (job + sum(min(tasks, 100) for tasks in capacity)) % 3 == 0


def place_or_decline(state: State, job: int, free: FreeNodes, at_ms: int | None = None) -> Allocation | None:
    """Places by the reference's rule, unless the placement declines."""
    capacity = candidates(state.jobs[job], usable(state.jobs[job], state.nodes), free).values()
    return None if declines(job, capacity) else place_always(state, job, free, at_ms)


class Declining(FirstFit):
    def place(self, scene: Asked) -> Sequence[tuple[int, int]] | None:
        return None if declines(scene.job, scene.capacity.tolist()) else super().place(scene)


def run_reference(scene: Scene, config: Config) -> Times:
    """Runs the reference; unlike elsewhere, jobs may wait for ever."""
    result = Result.blank(len(scene.jobs))
    with patch.object(State, "place", place_or_decline):
        run_instants(State(scene.jobs, scene.nodes, config, result, now_ms=scene.jobs[0].submit_ms))
    return result.start_ms, result.end_ms


def run_core(scene: Scene, config: Config) -> Times:
    """Runs the core with the placement in Python."""
    scheduler = replace(gpu_settings(config), placement=resolve_placement(Declining()))
    simulation = Simulation(gpu_workload(scene), gpu_cluster(scene, config), scheduler)
    assert simulation.run()
    states = simulation.job_states()
    return known(states.start_ms), known(states.end_ms)


@pytest.mark.parametrize("dispatch", ["strict", "greedy", "easy", "2", "conservative"])
@examples(40)
@given(scene=gpu_scenes(), config=gpu_configs(["fcfs", "sjf", "wfp3"]))
def test_the_core_asks_as_the_reference_does(dispatch: str, scene: Scene, config: Config) -> None:
    config = replace(config, dispatch=dispatch, placement="first-fit")
    assert run_core(scene, config) == run_reference(scene, config)
