"""Sites with rules: the core gives the reference's schedule, whatever partitions, features and owners there are."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.simulation import Simulation, decide
from tests.properties.gpu_adapter import gpu_cluster, gpu_settings, gpu_workload
from tests.properties.gpu_strategies import PLACEMENTS, PREEMPTIVE, failing, gpu_configs, preemptive_configs
from tests.properties.rule_strategies import with_rules
from tests.properties.site_strategies import any_scenes, exclusive, owned, scoped_scenes, site_rules
from tests.properties.strategies import DISPATCHES, Scene
from tests.properties.test_gpu_clusters import INSTANTS, check_equal
from tests.reference.model import Config
from tests.support import examples


@pytest.mark.every(6)
@pytest.mark.parametrize("placement", PLACEMENTS)
@examples(16)
@given(scene=scoped_scenes(), config=gpu_configs())
def test_partitions_and_features_under_every_placement(placement: str, scene: Scene, config: Config) -> None:
    check_equal(scene, replace(config, placement=placement))


@pytest.mark.every(4)
@pytest.mark.parametrize("dispatch", DISPATCHES)
@examples(20)
@given(scene=scoped_scenes(), config=gpu_configs())
def test_partitions_and_features_under_every_rule(dispatch: str, scene: Scene, config: Config) -> None:
    check_equal(scene, replace(config, dispatch=dispatch))


@pytest.mark.every(4)
@pytest.mark.parametrize("policy", PREEMPTIVE)
@examples(15)
@given(scene=scoped_scenes(), config=preemptive_configs())
def test_partitions_and_features_where_jobs_are_stopped(policy: str, scene: Scene, config: Config) -> None:
    check_equal(scene, replace(config, policy=policy))


@examples(40)
@given(data=st.data(), scene=scoped_scenes(), config=gpu_configs(dispatches=INSTANTS))
def test_partitions_and_features_where_nodes_fail(data: st.DataObject, scene: Scene, config: Config) -> None:
    check_equal(scene, data.draw(failing(scene, config)))


@examples(120)
@given(data=st.data(), scene=scoped_scenes(), config=gpu_configs())
def test_admission(data: st.DataObject, scene: Scene, config: Config) -> None:
    check_equal(data.draw(owned(scene)), replace(config, rules=data.draw(site_rules(scene))))


@pytest.mark.every(6)
@pytest.mark.parametrize("placement", PLACEMENTS)
@examples(10)
@given(data=st.data(), scene=any_scenes(), config=gpu_configs())
def test_exclusive_jobs_under_every_placement(
    placement: str, data: st.DataObject, scene: Scene, config: Config
) -> None:
    check_equal(data.draw(exclusive(scene)), replace(config, placement=placement))


@pytest.mark.every(4)
@pytest.mark.parametrize("dispatch", DISPATCHES)
@examples(15)
@given(data=st.data(), scene=any_scenes(), config=gpu_configs())
def test_exclusive_jobs_under_every_rule(dispatch: str, data: st.DataObject, scene: Scene, config: Config) -> None:
    check_equal(data.draw(exclusive(scene)), replace(config, dispatch=dispatch))


@st.composite
def ruled(draw: st.DrawFn, dispatches: list[str] = DISPATCHES) -> tuple[Scene, Config]:
    """Draws a scene and a configuration with all rules at once."""
    scene = draw(exclusive(draw(owned(draw(scoped_scenes())))))
    config = draw(gpu_configs(dispatches=dispatches) | preemptive_configs())
    return scene, replace(config, rules=draw(site_rules(scene)))


@examples(100)
@given(drawn=ruled())
def test_all_rules_at_once(drawn: tuple[Scene, Config]) -> None:
    check_equal(*drawn)


@examples(120)
@given(data=st.data(), drawn=ruled(INSTANTS))
def test_partitions_limits_and_reservations_at_once(data: st.DataObject, drawn: tuple[Scene, Config]) -> None:
    scene, config = drawn
    limited = data.draw(with_rules(scene, "all"))
    limits = limited.rules
    rules = replace(
        config.rules,
        limits=(*config.rules.limits, *limits.limits),
        licenses=limits.licenses,
        reservations=limits.reservations,
        time_zero=limits.time_zero,
    )
    check_equal(limited, replace(config, rules=rules))


@examples(40)
@given(drawn=ruled(["strict", "greedy", "easy"]), passes=st.integers(0, 8))
def test_copies_go_on_alike(drawn: tuple[Scene, Config], passes: int) -> None:
    scene, config = drawn
    workload, cluster = gpu_workload(scene), gpu_cluster(scene, config)
    original = Simulation(workload, cluster, gpu_settings(config))
    for _ in range(passes):
        if original.advance():
            original.dispatch()
    loaded = Simulation(workload, cluster, gpu_settings(config))
    loaded.load(original.snapshot())
    copies = [original.fork(), Simulation.restore(workload, cluster, original.serialize()), loaded, original]
    assert all(copy.run() for copy in copies)
    ends = [copy.job_states() for copy in copies]
    assert all(one.start_ms.tolist() == ends[0].start_ms.tolist() for one in ends)
    assert all(one.end_ms.tolist() == ends[0].end_ms.tolist() for one in ends)


@examples(20)
@given(drawn=ruled(["strict", "greedy", "easy", "2"]))
def test_a_decision_is_what_the_simulation_does(drawn: tuple[Scene, Config]) -> None:
    scene, config = drawn
    tables = gpu_workload(scene), gpu_cluster(scene, config), gpu_settings(config)
    simulation = Simulation(*tables)
    while simulation.advance():
        decision = decide(simulation.snapshot(), *tables)
        before = simulation.status().starts
        simulation.dispatch()
        assert len(decision.starts) == simulation.status().starts - before
