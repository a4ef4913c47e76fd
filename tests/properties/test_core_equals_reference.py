"""The core gives the reference simulator's schedule, job by job: times, outcomes, reasons and nodes."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties.core_adapter import run_core
from tests.properties.crowds import crowd, crowd_config
from tests.properties.observed import run_reference
from tests.properties.strategies import DISPATCHES, PLACEMENTS, POLICIES, Scene, random_configs, random_scenes
from tests.reference.model import Config
from tests.support import examples

RESERVING = ["easy", "conservative", "2", "3"]


def check_equal(scene: Scene, config: Config) -> None:
    """Asserts that both simulators give the same schedule."""
    assert run_core(scene.jobs, scene.nodes, config) == run_reference(scene.jobs, scene.nodes, config)


@pytest.mark.every(6)
@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("dispatch", DISPATCHES)
@examples(12)
@given(scene=random_scenes(), seed=st.integers(0, 2**64 - 2))
def test_dispatch_and_placement(dispatch: str, placement: str, scene: Scene, seed: int) -> None:
    check_equal(scene, Config(dispatch=dispatch, placement=placement, seed=seed))


@pytest.mark.every(6)
@pytest.mark.parametrize("policy", POLICIES)
@examples(20)
@given(scene=random_scenes(), config=random_configs())
def test_policy(policy: str, scene: Scene, config: Config) -> None:
    check_equal(scene, Config(policy=policy, dispatch=config.dispatch, placement=config.placement, seed=config.seed))


@examples(60)
@given(
    scene=random_scenes(),
    config=random_configs(policies=["sjf", "smallest", "random"]),
    max_wait_ms=st.sampled_from([0, 1000, 3000, 8000]),
)
def test_starvation_guard(scene: Scene, config: Config, max_wait_ms: int) -> None:
    check_equal(scene, replace(config, max_wait_ms=max_wait_ms))


@examples(60)
@given(scene=random_scenes(), config=random_configs(), missing_request_ms=st.sampled_from([0, 2000, 9000]))
def test_kill_at_request(scene: Scene, config: Config, missing_request_ms: int) -> None:
    check_equal(scene, replace(config, kill_at_request=True, missing_request_ms=missing_request_ms))


@examples(60)
@given(scene=random_scenes(), config=random_configs(dispatches=RESERVING))
def test_reserve_by_estimate(scene: Scene, config: Config) -> None:
    check_equal(scene, replace(config, reserve_by="estimate", estimate="perfect"))


@examples(80)
@given(scene=random_scenes(), config=random_configs(dispatches=["conservative", "2", "3"]), depth=st.integers(1, 5))
def test_scan_depth(scene: Scene, config: Config, depth: int) -> None:
    check_equal(scene, replace(config, scan_depth=depth))


@examples(300)
@given(scene=random_scenes(), config=random_configs())
def test_everything_at_once(scene: Scene, config: Config) -> None:
    check_equal(scene, config)


@pytest.mark.every(5)
@pytest.mark.parametrize("dispatch", RESERVING)
@pytest.mark.parametrize("seed", range(3))
def test_crowds(dispatch: str, seed: int) -> None:
    random = Random(f"{dispatch} {seed}")
    for _ in range(100):
        check_equal(crowd(random), crowd_config(random, dispatch))
