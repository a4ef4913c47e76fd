"""Limits, hours, licenses and advance reservations: the core gives the reference simulator's schedule."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties.core_adapter import run_core
from tests.properties.observed import run_reference
from tests.properties.rule_strategies import SORTS, ruled_scenes
from tests.properties.strategies import GATED, MOVING, STANDING, Scene, random_configs
from tests.reference.model import Config
from tests.support import examples

DISPATCHES = ["strict", "greedy", "easy", "conservative", "2", "3"]


def check_equal(scene: Scene, config: Config) -> None:
    """Asserts that both simulators give the same schedule."""
    config = replace(config, rules=scene.rules)
    assert run_core(scene.jobs, scene.nodes, config) == run_reference(scene.jobs, scene.nodes, config)


@pytest.mark.every(6)
@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("dispatch", DISPATCHES)
@examples(20)
@given(data=st.data(), config=random_configs())
def test_dispatch(dispatch: str, sort: str, data: st.DataObject, config: Config) -> None:
    scene = data.draw(ruled_scenes([sort]))
    check_equal(scene, Config(dispatch=dispatch, placement=config.placement, seed=config.seed))


@pytest.mark.every(6)
@pytest.mark.parametrize("policy", [*STANDING, *MOVING, *GATED])
@examples(10)
@given(scene=ruled_scenes(["all"]), config=random_configs(dispatches=DISPATCHES))
def test_policy(policy: str, scene: Scene, config: Config) -> None:
    check_equal(scene, Config(policy=policy, dispatch=config.dispatch, placement=config.placement, seed=config.seed))


@examples(400)
@given(scene=ruled_scenes(), config=random_configs(dispatches=DISPATCHES))
def test_everything_at_once(scene: Scene, config: Config) -> None:
    check_equal(scene, config)
