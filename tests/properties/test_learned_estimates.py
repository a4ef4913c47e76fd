"""Estimates that are noisy, or learned from the jobs that have ended: the core gives the reference's schedule."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.simulation import Simulation, WindowRunner
from tests.properties import observed
from tests.properties.core_adapter import cluster_of, workload_of
from tests.properties.crowds import crowd, crowd_config
from tests.properties.strategies import (
    DISPATCHES,
    ESTIMATES,
    LEARNED_ESTIMATES,
    Scene,
    random_configs,
    random_scenes,
)
from tests.reference.model import Config, RefJob
from tests.reference.simulator import simulate
from tests.simulation.driving import observe, settings_of
from tests.support import examples

BY_ESTIMATE = ["sjf", "saf", "srf", "f1", "hybrid", "wfp3", "linear?hold_share=0.2&hold_from_s=2&reserve_below=-9.4"]
PRIOR = """
[estimate]
kind = "posterior"
user_decay = 1
decay = 0.7
user_strength = 1.5
request_strength = 0.5
size_strength = 3
mean_run_s = [0.7, 1.1, 2.5, 6, 3]
mean_inverse = [0.09, 0.08, 0.06, 0.05, 0.07]
"""
"""Requests of 8 s and more are the last bin but one; the last is for jobs without a request."""


def check_equal(scene: Scene, config: Config, before: tuple[RefJob, ...] = ()) -> None:
    """Asserts that both simulators give the same schedule, and saw the same estimates when jobs started."""
    window = workload_of([*before, *scene.jobs]).window(len(before))
    simulation = Simulation(window, cluster_of(scene.nodes), settings_of(config))
    assert simulation.run()
    result = simulate(scene.jobs, scene.nodes, config, before)
    assert observe(simulation) == observed.observe(result)
    seen_ms = simulation.estimates().estimate_ms.tolist()
    started = [job for job, start_ms in enumerate(result.start_ms) if start_ms is not None]
    assert {job: seen_ms[job] for job in started} == {job: result.estimate_ms[job] for job in started}


def of_one_user(scene: Scene) -> Scene:
    """Returns the scene with jobs of one user, whose run times are few, so that many end at once."""
    jobs = tuple(replace(job, user="ann", run_ms=job.run_ms // 5000 * 5000) for job in scene.jobs)
    return replace(scene, jobs=jobs)


def in_the_past(scene: Scene, begin_ms: int, gap_ms: int, waits_ms: list[int | None]) -> tuple[RefJob, ...]:
    """Returns a scene's jobs as they were logged before a moment, the last one submitted so long before it."""
    shift_ms = begin_ms - gap_ms - scene.jobs[-1].submit_ms
    return tuple(
        replace(job, submit_ms=job.submit_ms + shift_ms, logged_wait_ms=waits_ms[place % len(waits_ms)])
        for place, job in enumerate(scene.jobs)
    )


@pytest.mark.every(6)
@pytest.mark.parametrize("dispatch", DISPATCHES)
@pytest.mark.parametrize("estimate", ["noisy", *LEARNED_ESTIMATES])
def test_estimate_and_dispatch_in_crowds(estimate: str, dispatch: str) -> None:
    random = Random(f"{estimate} {dispatch}")
    for _ in range(15):
        config = replace(
            crowd_config(random, dispatch),
            policy=random.choice(BY_ESTIMATE),
            estimate=estimate,
            reserve_by=random.choice(["requested", "estimate"]),
        )
        check_equal(crowd(random), config)


@examples(250)
@given(scene=random_scenes(), config=random_configs(estimates=ESTIMATES))
def test_everything_at_once(scene: Scene, config: Config) -> None:
    check_equal(scene, config)


@examples(120)
@given(
    scene=random_scenes(),
    config=random_configs(policies=BY_ESTIMATE, estimates=LEARNED_ESTIMATES),
    kill_at_request=st.booleans(),
    depth=st.sampled_from([1, 3, 1000]),
)
def test_what_is_learned(scene: Scene, config: Config, kill_at_request: bool, depth: int) -> None:
    check_equal(scene, replace(config, kill_at_request=kill_at_request, scan_depth=depth))


@examples(80)
@given(scene=random_scenes(), config=random_configs(policies=BY_ESTIMATE))
def test_a_prior_from_a_file(tmp_path_factory: pytest.TempPathFactory, scene: Scene, config: Config) -> None:
    path: Path = tmp_path_factory.getbasetemp() / "prior.toml"
    path.write_text(PRIOR)
    check_equal(scene, replace(config, estimate=str(path)))


@pytest.mark.every(6)
@pytest.mark.parametrize("dispatch", DISPATCHES)
@pytest.mark.parametrize("estimate", LEARNED_ESTIMATES)
def test_jobs_that_end_at_once(estimate: str, dispatch: str) -> None:
    """They are learned from in the order in which they started."""
    random = Random(f"at once {estimate} {dispatch}")
    for _ in range(20):
        config = replace(crowd_config(random, dispatch), policy=random.choice(BY_ESTIMATE), estimate=estimate)
        check_equal(of_one_user(crowd(random)), config)


@pytest.mark.every(4)
@pytest.mark.parametrize("estimate", ESTIMATES)
@examples(60)
@given(
    scene=random_scenes(),
    past=random_scenes(),
    config=random_configs(),
    gap_ms=st.sampled_from([0, 0, 2000, 9000]),
    waits_ms=st.lists(st.sampled_from([None, 0, 1000, 4000]), min_size=3, max_size=3),
)
def test_what_is_known_before_a_window(
    estimate: str, scene: Scene, past: Scene, config: Config, gap_ms: int, waits_ms: list[int | None]
) -> None:
    """The jobs before the first one simulated teach what had ended in reality by then; draws go by the whole log."""
    config = replace(config, estimate=estimate)
    before = in_the_past(past, scene.jobs[0].submit_ms, gap_ms, waits_ms)
    check_equal(scene, config, before)
    windows = WindowRunner(workload_of([*before, *scene.jobs]), cluster_of(scene.nodes))
    results = windows.run(settings_of(config), [len(before)], len(scene.jobs))
    starts_ms = simulate(scene.jobs, scene.nodes, config, before).start_ms
    assert results.start_ms[0].tolist() == [-1 if start_ms is None else start_ms for start_ms in starts_ms]
