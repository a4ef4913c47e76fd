"""Stopping running jobs, at moments and in numbers drawn at random, equals the reference."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter import InputError
from shunter.simulation import Simulation
from tests.properties import observed
from tests.properties.crowds import crowd, crowd_config
from tests.properties.strategies import ESTIMATES, Scene, random_configs, random_scenes
from tests.reference.model import Config, End, Preempt, RefJob, RefNode
from tests.reference.simulator import simulate
from tests.simulation.driving import check_resources, observe, open_scene, running_jobs
from tests.support import examples

DISPATCHES = ["strict", "greedy", "easy", "conservative", "2", "3"]
ALONE = Scene((RefNode(1000),), (RefJob(0, 10_000, requested_ms=12_000), RefJob(4000, 1000)))
"""The second job arrives while the first runs."""

seeds = st.integers(0, 2**32)
overheads_ms = st.sampled_from([0, 1, 700, 4000])


def run_preempting(scene: Scene, simulation: Simulation, random: Random) -> tuple[tuple[int, int], ...]:
    """Runs to the end, stops up to ten running jobs on the way, and returns the times (ms) and the jobs."""
    script: list[tuple[int, int]] = []
    last_ms: int | None = None
    while simulation.advance():
        now_ms = round(simulation.status().now_s * 1000)
        # The reference stops jobs when it comes to an instant for the first time.
        if now_ms != last_ms and len(script) < 10:
            stopped = [job for job in running_jobs(simulation) if random.random() < 0.3]
            for job in stopped:
                simulation.preempt(job)
            script += [(now_ms, job) for job in stopped]
        last_ms = now_ms
        simulation.dispatch()
        check_resources(scene, simulation)
    return tuple(script)


def check_preempted(scene: Scene, config: Config, random: Random) -> None:
    """Asserts that core and reference agree on a run in which jobs are stopped."""
    simulation = open_scene(scene, config)
    script = run_preempting(scene, simulation, random)
    result = simulate(scene.jobs, scene.nodes, replace(config, preempt=script))
    assert observe(simulation) == observed.observe(result)
    stops = Counter(event.job for event in result.events if isinstance(event, Preempt))
    ends = Counter(event.job for event in result.events if isinstance(event, End))
    preemptions = simulation.job_states().preemptions.tolist()
    assert preemptions == [stops[job] for job in range(len(scene.jobs))]
    assert stops.total() == len(script)
    assert set(ends.values()) <= {1}
    status = simulation.status()
    assert (status.waiting, status.running, status.ended) == (0, 0, len(scene.jobs))


@pytest.mark.parametrize("keep_progress", [True, False])
@examples(60)
@given(
    scene=random_scenes(), config=random_configs(DISPATCHES, estimates=ESTIMATES), seed=seeds, overhead_ms=overheads_ms
)
def test_equals_the_reference(keep_progress: bool, scene: Scene, config: Config, seed: int, overhead_ms: int) -> None:
    config = replace(config, keep_progress=keep_progress, preemption_overhead_ms=overhead_ms)
    check_preempted(scene, config, Random(seed))


@pytest.mark.every(3)
@pytest.mark.parametrize("dispatch", DISPATCHES)
def test_equals_the_reference_in_crowds(dispatch: str) -> None:
    random = Random(dispatch)
    for _ in range(40):
        config = replace(
            crowd_config(random, dispatch),
            keep_progress=random.random() < 0.5,
            preemption_overhead_ms=random.choice([0, 300, 2000]),
        )
        check_preempted(crowd(random), config, random)


@examples(40)
@given(
    scene=random_scenes(),
    config=random_configs(["committed", "committed-backfill"], estimates=ESTIMATES),
    seed=seeds,
    overhead_ms=overheads_ms,
)
def test_under_a_commitment_all_jobs_end(scene: Scene, config: Config, seed: int, overhead_ms: int) -> None:
    simulation = open_scene(scene, replace(config, preemption_overhead_ms=overhead_ms))
    run_preempting(scene, simulation, Random(seed))
    assert simulation.status().ended == len(scene.jobs)
    assert simulation.status().free_cores == sum(node.cores_milli for node in scene.nodes) / 1000


@pytest.mark.parametrize(
    ("keep_progress", "overhead_ms", "end_ms"), [(True, 0, 10_000), (True, 1500, 11_500), (False, 1500, 15_500)]
)
def test_what_is_left_to_run(keep_progress: bool, overhead_ms: int, end_ms: int) -> None:
    simulation = open_scene(ALONE, Config(keep_progress=keep_progress, preemption_overhead_ms=overhead_ms))
    simulation.run(1)
    assert simulation.advance()
    simulation.preempt(0)
    assert simulation.status().free_cores == 1.0
    simulation.dispatch()
    assert simulation.run()
    states = simulation.job_states()
    # Stopped at 4 s, it goes on at once, for it still stands before the second; its recorded start is the first.
    assert (states.start_ms[0], states.latest_start_ms[0], states.end_ms[0]) == (0, 4000, end_ms)


def test_a_job_stopped_last_of_all_is_not_forgotten() -> None:
    simulation = open_scene(replace(ALONE, jobs=ALONE.jobs[:1]), Config())
    simulation.run(1)
    simulation.preempt(0)
    assert simulation.run()
    assert simulation.status().ended == 1


def test_only_running_jobs_can_be_stopped() -> None:
    simulation = open_scene(ALONE, Config())
    with pytest.raises(InputError, match="job 0 does not run"):
        simulation.preempt(0)
    simulation.run()
    with pytest.raises(InputError, match="job 0 does not run"):
        simulation.preempt(0)
    with pytest.raises(InputError, match="job 5 is not one of"):
        simulation.preempt(5)
