"""A site's rules in copies, windows and decisions, and beside jobs that are held, stopped, or lose their nodes."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.simulation import WindowRunner, decide
from tests.properties import observed
from tests.properties.condition_strategies import with_conditions
from tests.properties.rule_strategies import ruled_scenes
from tests.properties.strategies import ESTIMATES, GATED, MOVING, Scene, random_configs
from tests.properties.test_moving_copies import check_continue_alike
from tests.properties.test_rules import DISPATCHES
from tests.reference.model import Config
from tests.reference.simulator import simulate
from tests.simulation.driving import drive, observe, open_scene, reopen, settings_of, tables_of
from tests.simulation.test_preemption import run_preempting
from tests.support import examples

POLICIES = ["sjf", "saf", *MOVING, *GATED]
STOPPING = ["srtf", "srsf", "las", "las?first_s=3600", "gittins?bins=5&shortest_s=1&growth=2&decay=0.8"]


@examples(40)
@given(
    scene=ruled_scenes(),
    config=random_configs(dispatches=DISPATCHES, policies=POLICIES, estimates=ESTIMATES),
    count=st.integers(0, 12),
    seed=st.integers(0, 2**32),
)
def test_forks_and_bytes_continue_alike(scene: Scene, config: Config, count: int, seed: int) -> None:
    original = open_scene(scene, replace(config, preemption_overhead_ms=500))
    drive(original, count, Random(seed))
    check_continue_alike([original, original.fork(), reopen(scene, original.serialize())], seed)


@examples(60)
@given(
    scene=ruled_scenes(),
    config=random_configs(dispatches=["strict", "greedy"], policies=POLICIES),
    count=st.integers(0, 14),
)
def test_a_snapshot_continues_the_run(scene: Scene, config: Config, count: int) -> None:
    original, loaded = open_scene(scene, config), open_scene(scene, config)
    drive(original, count)
    loaded.load(original.snapshot())
    assert loaded.waiting().tolist() == original.waiting().tolist()
    for simulation in (original, loaded):
        assert simulation.run()
    assert observe(loaded) == observe(original)


@examples(30)
@given(scene=ruled_scenes(), config=random_configs(dispatches=DISPATCHES))
def test_a_decision_is_what_the_simulation_does(scene: Scene, config: Config) -> None:
    simulation, tables = open_scene(scene, config), tables_of(scene)
    while simulation.advance():
        decision = decide(simulation.snapshot(), *tables, settings_of(config))
        before, waited = simulation.status().starts, set(simulation.waiting().tolist())
        simulation.dispatch()
        assert len(decision.starts) == simulation.status().starts - before
        assert set(decision.waiting) == waited - set(decision.starts)


@examples(40)
@given(
    scene=ruled_scenes(),
    config=random_configs(dispatches=DISPATCHES, estimates=ESTIMATES),
    first=st.integers(1, 7),
    length=st.integers(1, 7),
)
def test_windows(scene: Scene, config: Config, first: int, length: int) -> None:
    first = min(first, len(scene.jobs) - 1)
    length = min(length, len(scene.jobs) - first)
    before, jobs = scene.jobs[:first], scene.jobs[first : first + length]
    wanted = simulate(jobs, scene.nodes, replace(config, rules=scene.rules), before)
    found = WindowRunner(*tables_of(scene)).run(settings_of(config), [first], length)
    assert found.start_ms[0].tolist() == [-1 if start_ms is None else start_ms for start_ms in wanted.start_ms]


def check_equal(scene: Scene, config: Config) -> None:
    """Asserts that both simulators give the same schedule, whatever stops jobs."""
    simulation = open_scene(scene, config)
    assert simulation.run()
    assert observe(simulation) == observed.observe(
        simulate(scene.jobs, scene.nodes, replace(config, rules=scene.rules))
    )


@pytest.mark.parametrize("policy", STOPPING)
@examples(30)
@given(scene=ruled_scenes(), config=random_configs(dispatches=["greedy"], estimates=["requested", "last-two"]))
def test_policies_that_stop_jobs(policy: str, scene: Scene, config: Config) -> None:
    """Who is stopped gives back what it has of limits."""
    check_equal(scene, replace(config, policy=policy, minimum_run_ms=2000, preemption_overhead_ms=700))


@examples(60)
@given(data=st.data(), config=random_configs(dispatches=DISPATCHES, policies=POLICIES))
def test_jobs_that_are_held(data: st.DataObject, config: Config) -> None:
    scene = data.draw(with_conditions(data.draw(ruled_scenes()), "all"))
    check_equal(scene, config)


@examples(60)
@given(scene=ruled_scenes(), config=random_configs(dispatches=DISPATCHES), keeps=st.booleans())
def test_nodes_that_fail(scene: Scene, config: Config, keeps: bool) -> None:
    check_equal(scene, replace(config, mtbf_ms=60_000, mttr_ms=5000, failure_keeps_progress=keeps))


@examples(40)
@given(
    scene=ruled_scenes(),
    config=random_configs(dispatches=DISPATCHES, policies=POLICIES),
    seed=st.integers(0, 2**32),
)
def test_jobs_that_are_preempted(scene: Scene, config: Config, seed: int) -> None:
    config = replace(config, preemption_overhead_ms=700)
    simulation = open_scene(scene, config)
    script = run_preempting(scene, simulation, Random(seed))
    result = simulate(scene.jobs, scene.nodes, replace(config, preempt=script, rules=scene.rules))
    assert observe(simulation) == observed.observe(result)
