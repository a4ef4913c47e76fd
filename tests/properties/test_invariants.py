"""The invariants of every schedule, of the reference simulator and of the core."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.properties import invariants
from tests.properties.core_adapter import run_core
from tests.properties.observed import observe
from tests.properties.strategies import Scene, random_configs, random_scenes
from tests.reference.model import Config
from tests.reference.simulator import simulate
from tests.support import examples


@examples(150)
@given(random_scenes(), random_configs())
def test_reference_schedules_are_sound(scene: Scene, config: Config) -> None:
    result = simulate(scene.jobs, scene.nodes, config)
    invariants.check_every_job_ends_once(scene, config, observe(result))
    invariants.check_no_node_is_overfull(scene, observe(result))
    invariants.check_devices(scene, result)
    invariants.check_clock(result)


@examples(120)
@given(random_scenes(), random_configs())
def test_core_schedules_are_sound(scene: Scene, config: Config) -> None:
    observed = run_core(scene.jobs, scene.nodes, config)
    invariants.check_every_job_ends_once(scene, config, observed)
    invariants.check_no_node_is_overfull(scene, observed)


@examples(60)
@pytest.mark.parametrize("dispatch", ["easy", "2", "conservative"])
@given(scene=random_scenes(), config=random_configs(policies=["fcfs", "first-available"]))
def test_nobody_is_delayed_beyond_a_reservation(dispatch: str, scene: Scene, config: Config) -> None:
    """Holds under fcfs if no job outlives its request; the core, being equal to the reference, holds it too."""
    keeps_order = Config(dispatch=dispatch, placement=config.placement, seed=config.seed, scan_depth=config.scan_depth)
    honest = scene.honest()
    result = simulate(honest.jobs, honest.nodes, keeps_order)
    invariants.check_promises(result)


@examples(60)
@given(random_scenes())
def test_greedy_is_no_reservation_and_easy_is_one(scene: Scene) -> None:
    for name, number in (("greedy", "0"), ("easy", "1")):
        by_name = simulate(scene.jobs, scene.nodes, Config(dispatch=name))
        by_number = simulate(scene.jobs, scene.nodes, Config(dispatch=number))
        assert by_name.events == by_number.events


@examples(60)
@given(random_scenes(), random_configs())
def test_same_seed_same_schedule(scene: Scene, config: Config) -> None:
    first = run_core(scene.jobs, scene.nodes, config)
    assert run_core(scene.jobs, scene.nodes, config) == first
