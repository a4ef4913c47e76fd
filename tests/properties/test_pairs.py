"""Pairs of jobs and types of GPUs: both simulators give the same, and nobody runs on a type that it refuses."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.properties.gpu_strategies import PREEMPTIVE, failing, gpu_configs, gpu_scenes, preemptive_configs
from tests.properties.strategies import Scene
from tests.properties.test_gpu_clusters import check_equal
from tests.reference.model import Config
from tests.reference.pairs import cost, types_of
from tests.reference.simulator import simulate
from tests.support import examples

PRICES = st.lists(st.sampled_from([1.0, 0.3, 2.0, 3.7, 9.0]), min_size=5, max_size=5)
FACTORS = [1.0, 1.2, 2.0, 7.5]
SCORES = [
    "pairs",
    "pairs?accept=0.7",
    "pairs?accept=1e9",
    "pairs?accept=-1&accept_wait=900",
    "pairs?size=0.6&wait=700&wait_ratio=0.2&free=1.5&slower=0.7&price=0.4&apart=2&accept=0.4&accept_free=0.5",
    "pairs?lost_slower=1&lost_apart=1.7&lost_price=0.2&accept=3&accept_estimate=0.3&accept_queue=0.4&accept_size=0.1",
]
DISPATCHES = ["strict", "greedy", "easy", "conservative", "2", "committed", "committed-backfill"]


def typed(scene: Scene, config: Config) -> Config:
    """Returns the configuration for a cluster all of whose GPUs have a type; other scenes are not looked at."""
    assume(all(node.gpu_type is not None for node in scene.nodes if node.gpus))
    assume(any(node.gpus for node in scene.nodes))
    return replace(config, mix=False)


@pytest.mark.parametrize("dispatch", DISPATCHES)
@examples(25)
@given(scene=gpu_scenes(), config=gpu_configs(), prices=PRICES, factor=st.sampled_from(FACTORS))
def test_prices(dispatch: str, scene: Scene, config: Config, prices: list[float], factor: float) -> None:
    priced = replace(config, dispatch=dispatch, pairs="price", prices=tuple(prices), price_factor=factor)
    check_equal(scene, typed(scene, priced))


@pytest.mark.every(4)
@pytest.mark.parametrize("policy", PREEMPTIVE)
@examples(12)
@given(scene=gpu_scenes(), config=preemptive_configs(), prices=PRICES)
def test_prices_where_jobs_are_stopped(policy: str, scene: Scene, config: Config, prices: list[float]) -> None:
    check_equal(scene, typed(scene, replace(config, policy=policy, pairs="price", prices=tuple(prices))))


@examples(25)
@given(data=st.data(), scene=gpu_scenes(), config=gpu_configs(["fcfs", "sjf"]), prices=PRICES)
def test_prices_where_nodes_fail(data: st.DataObject, scene: Scene, config: Config, prices: list[float]) -> None:
    assume(not config.dispatch.startswith("committed"))
    priced = replace(config, pairs="price", prices=tuple(prices))
    check_equal(scene, data.draw(failing(scene, typed(scene, priced))))


@examples(40)
@given(scene=gpu_scenes(), config=gpu_configs(), prices=PRICES, factor=st.sampled_from(FACTORS))
def test_nobody_pays_more_than_the_factor(scene: Scene, config: Config, prices: list[float], factor: float) -> None:
    config = typed(scene, replace(config, pairs="price", prices=tuple(prices), price_factor=factor))
    result = simulate(scene.jobs, scene.nodes, config)
    for place, job in enumerate(scene.jobs):
        if job.gpu_milli and result.allocation[place]:
            paid = {one.number: cost(one, config) for one in types_of(job, scene.nodes)}
            own = paid[scene.nodes[result.allocation[place][0].node].gpu_type]
            assert own <= factor * min(paid.values())


@pytest.mark.parametrize("dispatch", ["strict", "greedy", "easy"])
@examples(60)
@given(scene=gpu_scenes(), config=gpu_configs())
def test_earliest_finish(dispatch: str, scene: Scene, config: Config) -> None:
    check_equal(scene, typed(scene, replace(config, dispatch=dispatch, pairs="eft")))


@pytest.mark.parametrize("dispatch", ["greedy", "easy"])
@examples(25)
@given(data=st.data(), scene=gpu_scenes(), config=gpu_configs(["fcfs", "sjf", "wfp3"]))
def test_earliest_finish_where_nodes_fail(dispatch: str, data: st.DataObject, scene: Scene, config: Config) -> None:
    config = replace(config, dispatch=dispatch, pairs="eft")
    check_equal(scene, data.draw(failing(scene, typed(scene, config))))


@pytest.mark.every(6)
@pytest.mark.parametrize("dispatch", ["greedy", "easy"])
@pytest.mark.parametrize("policy", SCORES)
@examples(30)
@given(scene=gpu_scenes(), config=gpu_configs(), prices=PRICES, depth=st.sampled_from([1000, 1000, 3]))
def test_score(policy: str, dispatch: str, scene: Scene, config: Config, prices: list[float], depth: int) -> None:
    scored = replace(config, policy=policy, dispatch=dispatch, pairs="price", prices=tuple(prices), scan_depth=depth)
    check_equal(scene, typed(scene, scored))


@pytest.mark.parametrize("dispatch", ["greedy", "easy"])
@examples(25)
@given(data=st.data(), scene=gpu_scenes(), config=gpu_configs(SCORES))
def test_score_where_nodes_fail(dispatch: str, data: st.DataObject, scene: Scene, config: Config) -> None:
    check_equal(scene, data.draw(failing(scene, typed(scene, replace(config, dispatch=dispatch)))))
