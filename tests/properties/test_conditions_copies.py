"""Jobs that are held or leave, in copies, windows, environments, and beside jobs that are stopped."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from shunter.model.schedule import Outcome
from shunter.simulation import WindowRunner, decide
from tests.properties.condition_strategies import conditional_scenes, with_conditions
from tests.properties.core_adapter import cluster_of, workload_of
from tests.properties.environment_adapter import Play, reference_environment
from tests.properties.environment_checks import play_both
from tests.properties.environment_strategies import random_host_plays, random_plays
from tests.properties.strategies import ESTIMATES, GATED, MOVING, Scene, random_configs
from tests.properties.test_learned_estimates import check_equal
from tests.properties.test_moving_copies import check_continue_alike
from tests.reference.conservation import check_conservation
from tests.reference.environment_jobs import MODES
from tests.reference.model import Config
from tests.reference.simulator import simulate
from tests.simulation.driving import drive, observe, open_scene, reopen, settings_of
from tests.simulation.test_preemption import check_preempted
from tests.support import examples

POLICIES = ["sjf", "saf", *MOVING, *GATED]
STOPPING = ["srtf", "srsf", "las", "las?first_s=3600", "gittins?bins=5&shortest_s=1&growth=2&decay=0.8"]


@examples(30)
@given(
    scene=conditional_scenes(),
    config=random_configs(policies=POLICIES, estimates=ESTIMATES),
    count=st.integers(0, 12),
    seed=st.integers(0, 2**32),
)
def test_forks_and_bytes_continue_alike(scene: Scene, config: Config, count: int, seed: int) -> None:
    original = open_scene(scene, replace(config, preemption_overhead_ms=500))
    drive(original, count, Random(seed))
    check_continue_alike([original, original.fork(), reopen(scene, original.serialize())], seed)


@examples(50)
@given(
    scene=conditional_scenes(),
    config=random_configs(dispatches=["strict", "greedy", "easy"], policies=POLICIES),
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


@examples(20)
@given(scene=conditional_scenes(), config=random_configs(dispatches=["strict", "greedy", "easy", "2"]))
def test_a_decision_is_what_the_simulation_does(scene: Scene, config: Config) -> None:
    simulation, tables = open_scene(scene, config), (workload_of(scene.jobs), cluster_of(scene.nodes))
    while simulation.advance():
        decision = decide(simulation.snapshot(), *tables, settings_of(config))
        before = simulation.status().starts
        simulation.dispatch()
        assert len(decision.starts) == simulation.status().starts - before


@examples(30)
@given(
    scene=conditional_scenes(),
    config=random_configs(estimates=ESTIMATES),
    first=st.integers(1, 7),
    length=st.integers(1, 7),
)
def test_windows(scene: Scene, config: Config, first: int, length: int) -> None:
    """What lies before a window is over, and what lies behind it is nobody's business."""
    first = min(first, len(scene.jobs) - 1)
    length = min(length, len(scene.jobs) - first)
    before, jobs = scene.jobs[:first], scene.jobs[first : first + length]
    moved = [
        replace(job, needs=tuple((kind, other - first, delay_ms) for kind, other, delay_ms in job.needs))
        for job in jobs
    ]
    wanted = simulate(moved, scene.nodes, config, before)
    runner = WindowRunner(workload_of(scene.jobs), cluster_of(scene.nodes))
    found = runner.run(settings_of(config), [first], length)
    assert found.start_ms[0].tolist() == [-1 if start_ms is None else start_ms for start_ms in wanted.start_ms]


@examples(50)
@given(scene=conditional_scenes(), config=random_configs())
def test_conservation(scene: Scene, config: Config) -> None:
    """Nothing is lost or doubled; no job runs before it may, or with more of its array than may run at once."""
    result = simulate(scene.jobs, scene.nodes, config)
    check_conservation(scene.jobs, scene.nodes, config, result)
    assert observe_core(scene, config) == [
        (result.start_ms[job], result.end_ms[job], result.outcome[job]) for job in range(len(scene.jobs))
    ]
    for job, told in enumerate(scene.jobs):
        start_ms = result.start_ms[job]
        if start_ms is None:
            continue
        eligible_ms = result.eligible_ms[job]
        assert eligible_ms is not None
        follows = any(kind == "follows" for kind, _, _ in told.needs)
        assert follows or told.submit_ms <= eligible_ms
        assert all(time_ms is None or time_ms <= eligible_ms for time_ms in (told.begin_ms, told.release_ms))
        assert eligible_ms <= start_ms
        assert told.cancel_ms is None or start_ms < told.cancel_ms or config.dispatch.startswith("committed")
        for kind, other, delay_ms in told.needs:
            waited_for = result.start_ms[other] if kind == "after" else result.end_ms[other]
            gone = result.outcome[other] in (Outcome.REJECTED, Outcome.CANCELLED)
            assert gone if waited_for is None else waited_for + delay_ms <= eligible_ms
        if told.array is not None and told.array_limit is not None:
            alike = [one for one in range(len(scene.jobs)) if scene.jobs[one].array == told.array]
            running = [one for one in alike if runs_at(result.start_ms[one], result.end_ms[one], start_ms)]
            assert len(running) <= told.array_limit


def runs_at(start_ms: int | None, end_ms: int | None, time_ms: int) -> bool:
    """Tells whether a job runs at a time; one that ends then does not."""
    return start_ms is not None and end_ms is not None and start_ms <= time_ms < end_ms


def observe_core(scene: Scene, config: Config) -> list[tuple[int | None, int | None, object]]:
    """Returns what the core does."""
    simulation = open_scene(scene, config)
    assert simulation.run()
    return [(one.start_ms, one.end_ms, one.outcome) for one in observe(simulation)]


@pytest.mark.parametrize("keep_progress", [True, False])
@examples(20)
@given(
    scene=conditional_scenes(),
    config=random_configs(dispatches=["strict", "greedy", "easy", "conservative", "2"], policies=POLICIES),
    seed=st.integers(0, 2**32),
)
def test_preemption(keep_progress: bool, scene: Scene, config: Config, seed: int) -> None:
    check_preempted(scene, replace(config, keep_progress=keep_progress, preemption_overhead_ms=700), Random(seed))


@pytest.mark.parametrize("policy", STOPPING)
@examples(15)
@given(scene=conditional_scenes(), config=random_configs(dispatches=["greedy"], estimates=["requested", "last-two"]))
def test_policies_that_stop_jobs(policy: str, scene: Scene, config: Config) -> None:
    check_equal(scene, replace(config, policy=policy, minimum_run_ms=2000, preemption_overhead_ms=700))


def play_conditional(play: Play, seed: int) -> None:
    """Plays an episode, unless all its jobs leave before there is anything to decide."""
    play = replace(play, before=(), reward=replace(play.reward, relative_start_ms=[]))
    try:
        reference_environment(play)
    except StopIteration:
        reject()
    play_both(play, Random(seed))


@pytest.mark.every(4)
@pytest.mark.parametrize("mode", MODES)
@examples(25)
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_environments(mode: str, data: st.DataObject, seed: int) -> None:
    """A job that may not run yet does not wait: it is not seen, and costs nothing."""
    play = data.draw(random_plays(modes=[mode]))
    scene = data.draw(with_conditions(play.scene, "all"))
    play_conditional(replace(play, scene=scene), seed)


@examples(15)
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_hosts(data: st.DataObject, seed: int) -> None:
    play = data.draw(random_host_plays())
    scene = data.draw(with_conditions(play.scene, "all"))
    play_conditional(replace(play, scene=scene), seed)
