"""Sites with rules: the core gives the reference's schedule, whatever partitions, features and owners there are."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.gpu_strategies import PLACEMENTS, PREEMPTIVE, failing, gpu_configs, preemptive_configs
from tests.properties.site_strategies import owned, scoped_scenes, site_rules
from tests.properties.strategies import DISPATCHES, Scene
from tests.properties.test_gpu_clusters import INSTANTS, check_equal
from tests.reference.model import Config


@pytest.mark.parametrize("placement", PLACEMENTS)
@settings(max_examples=16)
@given(scene=scoped_scenes(), config=gpu_configs())
def test_partitions_and_features_under_every_placement(placement: str, scene: Scene, config: Config) -> None:
    check_equal(scene, replace(config, placement=placement))


@pytest.mark.parametrize("dispatch", DISPATCHES)
@settings(max_examples=20)
@given(scene=scoped_scenes(), config=gpu_configs())
def test_partitions_and_features_under_every_rule(dispatch: str, scene: Scene, config: Config) -> None:
    check_equal(scene, replace(config, dispatch=dispatch))


@pytest.mark.parametrize("policy", PREEMPTIVE)
@settings(max_examples=15)
@given(scene=scoped_scenes(), config=preemptive_configs())
def test_partitions_and_features_where_jobs_are_stopped(policy: str, scene: Scene, config: Config) -> None:
    check_equal(scene, replace(config, policy=policy))


@settings(max_examples=40)
@given(data=st.data(), scene=scoped_scenes(), config=gpu_configs(dispatches=INSTANTS))
def test_partitions_and_features_where_nodes_fail(data: st.DataObject, scene: Scene, config: Config) -> None:
    check_equal(scene, data.draw(failing(scene, config)))


@settings(max_examples=120)
@given(data=st.data(), scene=scoped_scenes(), config=gpu_configs())
def test_admission(data: st.DataObject, scene: Scene, config: Config) -> None:
    check_equal(data.draw(owned(scene)), replace(config, rules=data.draw(site_rules(scene))))
