"""Futures in which everything is known are what the reference simulator says, and other futures see no later day."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.model.schedule import Phase
from shunter.policies.scheduler import Scheduler
from shunter.simulation import Simulation
from shunter.simulation.foresight import NEVER, Foresight, foresee
from tests.properties.condition_strategies import conditional_scenes
from tests.properties.core_adapter import cluster_of, workload_of
from tests.properties.crowds import crowd, crowd_config
from tests.properties.observed import run_reference
from tests.properties.strategies import DISPATCHES, GATED, MOVING, POLICIES, SECOND_MS, Scene
from tests.reference.model import Config, RefJob
from tests.simulation.driving import settings_of
from tests.support import examples

RULES = [rule for rule in DISPATCHES if not rule.startswith("committed")]
SIZES = ["cores", "gpus", "cores-alone"]
"""What "auto" would choose depends on the whole log."""
KNOWN = Foresight(futures=1, run_times="logged", horizon_days=366)


def random_config(random: Random, dispatch: str) -> Config:
    """Draws one way to schedule."""
    return replace(
        crowd_config(random, dispatch),
        policy=random.choice([*POLICIES, *MOVING, *GATED]),
        estimate=random.choice(["requested", "perfect", "noisy", "last-two", "posterior", "history"]),
        missing_request_ms=4000,
        reserve_by=random.choice(["requested", "estimate"]),
        kill_at_request=random.random() < 0.3,
        scan_depth=random.choice([3, 1000]),
        max_wait_ms=random.choice([None, None, 4000]),
        size_by=random.choice(SIZES),
    )


def state_at(scene: Scene, scheduler: Scheduler, now_ms: int) -> Simulation:
    """Returns a scene at a time, at which nothing is decided yet."""
    simulation = Simulation(workload_of(scene.jobs), cluster_of(scene.nodes), scheduler)
    simulation.run_until(now_ms / 1000)
    return simulation


def random_time(scene: Scene, config: Config, random: Random) -> int:
    """Draws a time at which a job comes or ends: at others a simulation decides nothing, and an order may move."""
    ends = [seen.end_ms for seen in run_reference(scene.jobs, scene.nodes, config) if seen.end_ms is not None]
    return random.choice([*(job.submit_ms for job in scene.jobs), *ends])


@pytest.mark.every(5)
@pytest.mark.parametrize("arrivals", ["logged", "nobody"])
@pytest.mark.parametrize("dispatch", RULES)
def test_what_is_known_for_sure_is_the_reference(dispatch: str, arrivals: str) -> None:
    random = Random(f"{dispatch} {arrivals}")
    compared = 0
    for _ in range(50):
        scene, config = crowd(random), random_config(random, dispatch)
        now_ms = random_time(scene, config, random)
        simulation = state_at(scene, settings_of(config), now_ms)
        waiting = simulation.waiting()
        if not len(waiting):
            continue
        jobs = scene.jobs if arrivals == "logged" else [job for job in scene.jobs if job.submit_ms <= now_ms]
        reference = run_reference(jobs, scene.nodes, config)
        starts = foresee(simulation, waiting, replace(KNOWN, arrivals=arrivals))[0]
        assert starts.tolist() == [reference[job].start_ms for job in waiting.tolist()]
        compared += len(waiting)
    assert compared > 40


@examples(60)
@given(scene=conditional_scenes(), seed=st.integers(0, 2**32))
def test_held_jobs_start_as_in_the_reference(scene: Scene, seed: int) -> None:
    random = Random(seed)
    config = replace(random_config(random, random.choice(RULES)), policy="fcfs")
    simulation = state_at(scene, settings_of(config), random_time(scene, config, random))
    phase = simulation.snapshot().phase
    asked = np.flatnonzero((phase == Phase.WAITING) | (phase == Phase.HELD)).tolist()
    reference = run_reference(scene.jobs, scene.nodes, config)
    starts = foresee(simulation, asked, replace(KNOWN, arrivals="logged"))[0].tolist()
    assert [None if start == NEVER else start for start in starts] == [reference[job].start_ms for job in asked]


def another_future(scene: Scene, simulation: Simulation, now_ms: int, random: Random) -> Scene:
    """Returns a scene that is the same up to a time, and another one afterwards."""
    snapshot = simulation.snapshot()
    jobs: list[RefJob] = []
    for place, job in enumerate(scene.jobs):
        changed = job
        if job.submit_ms > now_ms:
            changed = replace(job, submit_ms=job.submit_ms + 100, requested_ms=9000, run_ms=8000)
        elif snapshot.phase[place] in (Phase.WAITING, Phase.RUNNING):
            ran_ms = now_ms - int(snapshot.start_ms[place]) if snapshot.phase[place] == Phase.RUNNING else 0
            changed = replace(job, run_ms=ran_ms + random.choice([1, 3, 20, 60]) * SECOND_MS)
        jobs.append(changed)
    return replace(scene, jobs=tuple(jobs))


def differs(random: Random, asked: Foresight, policies: list[str]) -> bool:
    """Tells whether another future changes what is foreseen."""
    scene = crowd(random)
    config = replace(
        random_config(random, random.choice(RULES)),
        policy=random.choice(policies),
        estimate=random.choice(["requested", "last-two", "posterior", "history"]),
    )
    scheduler, now_ms = settings_of(config), random_time(scene, config, random)
    simulation = state_at(scene, scheduler, now_ms)
    waiting = simulation.waiting()
    other = state_at(another_future(scene, simulation, now_ms, random), scheduler, now_ms)
    assert sorted(other.waiting().tolist()) == sorted(waiting.tolist())
    return bool((foresee(simulation, waiting, asked) != foresee(other, waiting, asked)).any())


@pytest.mark.every(2)
@pytest.mark.parametrize("run_times", ["drawn", "requested"])
def test_the_future_does_not_matter(run_times: str) -> None:
    random = Random(run_times)
    asked = Foresight(futures=5, run_times=run_times)
    assert not any(differs(random, asked, ["fcfs", "sjf", *MOVING]) for _ in range(50))


def test_the_future_matters_to_those_who_see_it() -> None:
    """Otherwise the test above could not fail."""
    random = Random(5)
    assert any(differs(random, Foresight(futures=1, run_times="logged"), ["fcfs"]) for _ in range(30))
