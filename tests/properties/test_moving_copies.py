"""What moves is part of the state: uses, what was learned, orders. Copies continue alike, and preemption is charged."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shunter.simulation import Simulation
from tests.properties.core_adapter import cluster_of, workload_of
from tests.properties.strategies import (
    ESTIMATES,
    GATED,
    LEARNED_ESTIMATES,
    MOVING,
    Scene,
    random_configs,
    random_scenes,
)
from tests.reference.model import Config
from tests.simulation.driving import disturb, drive, observe, open_scene, reopen, settings_of, state_of
from tests.simulation.test_preemption import check_preempted
from tests.support import examples

POLICIES = ["sjf", "saf", *MOVING, *GATED]
ENDED = [3, 4]
"""The numbers of a job's phase if it was completed or killed."""

decisions = st.integers(0, 12)
seeds = st.integers(0, 2**32)


def shown(simulation: Simulation) -> dict[str, Any]:
    """Returns all that a simulation shows, the estimates and the order included."""
    estimates = simulation.estimates()
    told = {"estimate_ms": estimates.estimate_ms.tolist(), "basis": estimates.basis.tolist()}
    return {**state_of(simulation), **told}


def check_continue_alike(simulations: list[Simulation], seed: int) -> None:
    """Asserts that simulations show the same now and after every decision, whatever is done to all of them."""
    goes_on = True
    randoms = [Random(seed) for _ in simulations]
    while goes_on:
        first, *others = [shown(simulation) for simulation in simulations]
        assert all(other == first for other in others)
        goes_on, *others_go_on = [simulation.advance() for simulation in simulations]
        assert all(other == goes_on for other in others_go_on)
        for simulation, random in zip(simulations, randoms, strict=True):
            # Without a bound, jobs that lose their progress could be stopped for ever.
            if goes_on and simulation.status().starts < 40:
                disturb(simulation, random)
            simulation.dispatch()


@examples(100)
@given(
    scene=random_scenes(),
    config=random_configs(policies=POLICIES, estimates=ESTIMATES),
    count=decisions,
    seed=seeds,
)
def test_forks_and_bytes_continue_alike(scene: Scene, config: Config, count: int, seed: int) -> None:
    original = open_scene(scene, replace(config, preemption_overhead_ms=500))
    drive(original, count, Random(seed))
    check_continue_alike([original, original.fork(), reopen(scene, original.serialize())], seed)


@examples(60)
@given(
    scene=random_scenes(),
    config=random_configs(policies=POLICIES, estimates=LEARNED_ESTIMATES),
    first=st.integers(1, 7),
)
def test_bytes_of_a_window_continue_alike(scene: Scene, config: Config, first: int) -> None:
    """What was known of the jobs before the window is known again."""
    workload = workload_of(scene.jobs)
    window, cluster = workload.window(min(first, len(workload) - 1)), cluster_of(scene.nodes)
    original = Simulation(window, cluster, settings_of(config))
    drive(original, 3)
    check_continue_alike([original, Simulation.restore(window, cluster, original.serialize())], first)


@examples(120)
@given(
    scene=random_scenes(),
    config=random_configs(dispatches=["strict", "greedy", "easy"], policies=POLICIES, estimates=ESTIMATES),
    count=decisions,
)
def test_a_snapshot_continues_the_run(scene: Scene, config: Config, count: int) -> None:
    """Who has used what, and how long jobs ran, can be told from when they started and ended."""
    original, loaded = open_scene(scene, config), open_scene(scene, config)
    drive(original, count)
    snapshot = original.snapshot()
    # In which order a user's jobs ended at one instant, no cluster tells.
    ends = [(scene.jobs[job].user, snapshot.end_ms[job]) for job in np.flatnonzero(np.isin(snapshot.phase, ENDED))]
    assume(len(set(ends)) == len(ends))
    loaded.load(snapshot)
    waiting = original.waiting()
    assert loaded.waiting().tolist() == waiting.tolist()
    seen, told = original.estimates(), loaded.estimates()
    assert told.estimate_ms[waiting].tolist() == seen.estimate_ms[waiting].tolist()
    for simulation in (original, loaded):
        assert simulation.run()
    assert observe(loaded) == observe(original)


@pytest.mark.parametrize("keep_progress", [True, False])
@examples(60)
@given(
    scene=random_scenes(),
    config=random_configs(
        dispatches=["strict", "greedy", "easy", "conservative", "2"], policies=POLICIES, estimates=ESTIMATES
    ),
    seed=seeds,
    overhead_ms=st.sampled_from([0, 700, 4000]),
)
def test_preemption_equals_the_reference(
    keep_progress: bool, scene: Scene, config: Config, seed: int, overhead_ms: int
) -> None:
    config = replace(config, keep_progress=keep_progress, preemption_overhead_ms=overhead_ms)
    check_preempted(scene, config, Random(seed))
