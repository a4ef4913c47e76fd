"""Copies of a simulation, by fork, bytes or snapshot, continue like the original."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter import InputError
from shunter.native import CoreError
from shunter.simulation import Simulation
from tests.properties.crowds import crowd, crowd_config
from tests.properties.strategies import DISPATCHES, ESTIMATES, POLICIES, Scene, random_configs, random_scenes
from tests.reference.model import Config, RefJob, RefNode
from tests.simulation.driving import (
    check_resources,
    disturb,
    drive,
    finish,
    observe,
    open_scene,
    reopen,
    state_of,
)
from tests.support import examples

anything = random_configs(estimates=ESTIMATES)
decisions = st.integers(0, 12)
seeds = st.integers(0, 2**32)
overheads_ms = st.sampled_from([0, 0, 500, 3000])

PAIR = Scene((RefNode(4000),), (RefJob(0, 5000, tasks=3), RefJob(0, 3000, tasks=2), RefJob(1000, 2000, tasks=4)))
"""The second job waits for the first, the third for the second."""


def check_copy(copy: Simulation, original: Simulation, random: Random | None) -> None:
    """Asserts that a copy is in the original's state, stays in it while the original goes on, and then follows."""
    before = state_of(original)
    assert state_of(copy) == before
    again = Random(0) if random is None else Random(random.random())
    resumed = again.getstate()
    drive(original, 3, again if random else None)
    assert state_of(copy) == before
    again.setstate(resumed)
    drive(copy, 3, again if random else None)
    assert state_of(copy) == state_of(original)
    assert finish(copy) == finish(original)


@examples(60)
@given(scene=random_scenes(), config=anything, count=decisions)
def test_a_fork_does_not_change_the_run(scene: Scene, config: Config, count: int) -> None:
    original = open_scene(scene, config)
    drive(original, count)
    fork = original.fork()
    finish(fork)
    assert finish(original) == state_of(fork) == finish(open_scene(scene, config))


@examples(60)
@given(scene=random_scenes(), config=anything, count=decisions, seed=seeds, overhead_ms=overheads_ms)
def test_a_fork_is_independent(scene: Scene, config: Config, count: int, seed: int, overhead_ms: int) -> None:
    original, random = open_scene(scene, replace(config, preemption_overhead_ms=overhead_ms)), Random(seed)
    drive(original, count, random)
    check_copy(original.fork(), original, random)


@examples(60)
@given(scene=random_scenes(), config=anything, count=decisions, is_due=st.booleans())
def test_bytes_continue_the_run(scene: Scene, config: Config, count: int, is_due: bool) -> None:
    original = open_scene(scene, config)
    drive(original, count)
    dispatch_is_due = is_due and original.advance()
    restored = reopen(scene, original.serialize())
    if dispatch_is_due:
        restored.dispatch()
    assert finish(restored) == finish(open_scene(scene, config))


@examples(80)
@given(
    scene=random_scenes(),
    config=anything,
    count=decisions,
    seed=seeds,
    overhead_ms=overheads_ms,
    keep_progress=st.booleans(),
)
def test_bytes_hold_what_was_done_from_outside(
    scene: Scene, config: Config, count: int, seed: int, overhead_ms: int, keep_progress: bool
) -> None:
    """Preempted jobs, jobs started out of turn, commitments and reservations, wherever the run is stopped."""
    config = replace(config, preemption_overhead_ms=overhead_ms, keep_progress=keep_progress)
    original, random = open_scene(scene, config), Random(seed)
    drive(original, count, random)
    if original.advance():
        disturb(original, random)
    check_copy(reopen(scene, original.serialize()), original, random)


@pytest.mark.parametrize("dispatch", DISPATCHES)
def test_copies_of_disturbed_crowds(dispatch: str) -> None:
    random = Random(dispatch)
    for _ in range(12):
        scene, config = crowd(random), crowd_config(random, dispatch)
        config = replace(config, policy=random.choice(POLICIES), estimate=random.choice(ESTIMATES))
        original = open_scene(scene, config)
        drive(original, random.randrange(10), random)
        check_copy(reopen(scene, original.serialize()), original.fork(), random)
        check_copy(original.fork(), original, random)


@examples(60)
@given(scene=random_scenes(), config=anything, count=decisions, seed=seeds)
def test_bytes_are_the_same_again(scene: Scene, config: Config, count: int, seed: int) -> None:
    original = open_scene(scene, config)
    drive(original, count, Random(seed))
    saved = original.serialize()
    assert reopen(scene, saved).serialize() == saved


def test_bytes_hold_a_commitment() -> None:
    original = open_scene(PAIR, Config(dispatch="committed-backfill"))
    drive(original, 2)
    restored = reopen(PAIR, original.serialize())
    # The second job was committed before the third came, though that would be first by now.
    assert original.status().waiting == 1
    assert finish(restored) == finish(original)


def test_bytes_hold_reservations() -> None:
    original = open_scene(PAIR, Config(dispatch="conservative"))
    drive(original, 2)
    reserved_ms = original.job_states().reserved_ms.tolist()
    assert reserved_ms[1:] == [5000, 8000]
    assert reopen(PAIR, original.serialize()).job_states().reserved_ms.tolist() == reserved_ms


def test_a_job_started_out_of_turn_loses_its_reservation() -> None:
    original = open_scene(PAIR, Config(dispatch="conservative"))
    drive(original, 1)
    assert original.job_states().reserved_ms[1] == 5000
    original.preempt(0)
    original.start(1)
    restored = reopen(PAIR, original.serialize())
    assert state_of(restored) == state_of(original)


def test_bytes_hold_what_a_preempted_job_has_left() -> None:
    original = open_scene(PAIR, Config(preemption_overhead_ms=500))
    drive(original, 1)
    assert original.advance()
    original.preempt(0)
    restored = reopen(PAIR, original.serialize())
    restored.dispatch()
    assert restored.run()
    # One of its five seconds has been run; the other four, and the overhead, follow at once.
    assert restored.job_states().end_ms[0] == 5500


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "text"])
def test_damaged_bytes_are_refused(damage: str) -> None:
    saved = open_scene(PAIR, Config()).serialize()
    flipped = bytearray(saved)
    flipped[len(saved) // 2] ^= 1
    damaged = {"cut": saved[:-8], "flipped": bytes(flipped), "empty": b"", "text": b"not a saved simulation"}
    with pytest.raises(InputError, match="the saved state is"):
        reopen(PAIR, damaged[damage])


def test_bytes_of_another_workload_or_cluster_are_refused() -> None:
    saved = open_scene(PAIR, Config()).serialize()
    for other in (replace(PAIR, jobs=PAIR.jobs[:2]), replace(PAIR, nodes=(RefNode(5000),))):
        with pytest.raises(InputError, match="belongs to other jobs or another cluster"):
            reopen(other, saved)


@examples(80)
@given(scene=random_scenes(), config=anything, count=decisions)
def test_a_snapshot_continues_the_run(scene: Scene, config: Config, count: int) -> None:
    original, loaded = open_scene(scene, config), open_scene(scene, config)
    drive(original, count)
    loaded.load(original.snapshot())
    check_resources(scene, loaded)
    finish(loaded)
    finish(original)
    assert observe(loaded) == observe(original)


def test_a_snapshot_is_not_loaded_into_a_run() -> None:
    original = open_scene(PAIR, Config())
    drive(original, 1)
    with pytest.raises(InputError, match="has not begun"):
        original.load(original.snapshot())


def test_a_snapshot_that_cannot_be_is_refused() -> None:
    original = open_scene(PAIR, Config(dispatch="greedy"))
    drive(original, 1)
    told = original.snapshot()
    both = replace(
        told,
        phase=told.phase.copy(),
        start_ms=told.start_ms.copy(),
        node_offsets=told.node_offsets.copy(),
        nodes=told.nodes.repeat(2),
        tasks=told.tasks.repeat(2),
    )
    both.phase[1], both.start_ms[1], both.node_offsets[2:], both.tasks[1] = 2, 0, 2, 2
    with pytest.raises(InputError, match="do not have room"):
        open_scene(PAIR, Config()).load(both)


def test_a_closed_simulation_is_refused() -> None:
    simulation = open_scene(PAIR, Config())
    simulation.close()
    simulation.close()
    with pytest.raises(CoreError):
        simulation.run()
