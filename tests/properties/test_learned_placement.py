"""A learned policy as a placement: the core puts every task where the reference does, which asks the network itself."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agents.untrained import opinionated, write_host_policy
from tests.properties import test_core_equals_reference, test_gpu_clusters
from tests.properties.choosing_hosts import known_to_reference
from tests.properties.crowds import crowd, crowd_config
from tests.properties.gpu_strategies import failing, gpu_configs, gpu_scenes, preemptive_configs
from tests.properties.strategies import DISPATCHES, Scene, random_configs, random_scenes
from tests.reference.model import Config
from tests.support import examples

INSTANTS = test_gpu_clusters.INSTANTS


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A policy that prefers some hosts to others, for reasons of its own."""
    return known_to_reference(write_host_policy(tmp_path_factory.mktemp("hosts") / "best", change=opinionated))


@pytest.mark.parametrize("dispatch", DISPATCHES)
@examples(20)
@given(scene=random_scenes(), config=random_configs())
def test_dispatch(hosts: str, dispatch: str, scene: Scene, config: Config) -> None:
    test_core_equals_reference.check_equal(scene, replace(config, dispatch=dispatch, placement=hosts))


@pytest.mark.parametrize("dispatch", DISPATCHES)
@examples(20)
@given(scene=gpu_scenes(), config=gpu_configs())
def test_dispatch_on_gpus(hosts: str, dispatch: str, scene: Scene, config: Config) -> None:
    test_gpu_clusters.check_equal(scene, replace(config, dispatch=dispatch, placement=hosts))


@pytest.mark.every(3)
@pytest.mark.parametrize("dispatch", ["easy", "conservative", "3"])
def test_crowds(hosts: str, dispatch: str) -> None:
    random = Random(dispatch)
    for _ in range(30):
        config = replace(crowd_config(random, dispatch), placement=hosts)
        test_core_equals_reference.check_equal(crowd(random), config)


@examples(30)
@given(data=st.data(), scene=gpu_scenes(), config=gpu_configs(dispatches=INSTANTS) | preemptive_configs())
def test_failures_and_preemption(hosts: str, data: st.DataObject, scene: Scene, config: Config) -> None:
    test_gpu_clusters.check_equal(scene, data.draw(failing(scene, replace(config, placement=hosts))))


@examples(30)
@given(scene=gpu_scenes(), config=gpu_configs())
def test_a_network_that_begins_as_best_fit(
    tmp_path_factory: pytest.TempPathFactory, scene: Scene, config: Config
) -> None:
    folder = tmp_path_factory.mktemp("flat") / "best"
    policy = write_host_policy(folder, num_hosts=len(scene.nodes), kind="mlp", order_temperature=2.0)
    test_gpu_clusters.check_equal(scene, replace(config, placement=known_to_reference(policy)))
