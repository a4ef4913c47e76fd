"""A decision from any state: it is what the simulation does then, and nothing of the future is in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.model.schedule import Phase
from shunter.model.snapshot import Snapshot
from shunter.policies.scheduler import Scheduler
from shunter.simulation import Decision, Simulation, decide
from tests.properties.core_adapter import cluster_of, workload_of
from tests.properties.crowds import crowd, crowd_config
from tests.properties.strategies import DISPATCHES, ESTIMATES, GATED, MOVING, POLICIES, SECOND_MS, Scene
from tests.reference.model import Config
from tests.simulation.driving import observe, settings_of, tables_of
from tests.support import examples

PREEMPTIVE = ["srtf", "las", "las?first_s=3600", "srsf", "gittins", "gittins?bins=5&shortest_s=1&growth=2&decay=0.8"]
BLIND = ["requested", "last-two", "history"]
"""Estimates that see no run time of a job that has not ended."""
SEEDS = st.integers(0, 2**63 - 1)


MOST_STOPS = 100
"""In one scene: where nodes fail before jobs end, thousands of instants would be like each other."""


def instants(simulation: Simulation, random: Random) -> Iterator[None]:
    """Drives a simulation, and stops at some of the instants at which a decision is due."""
    left = MOST_STOPS
    while left and simulation.advance():
        if random.random() < 0.25:
            left -= 1
            yield
        simulation.dispatch()


def random_way(random: Random, dispatch: str, estimates: list[str]) -> tuple[Scene, Config, dict[str, Any]]:
    """Draws a scene and one way to schedule it."""
    scene = crowd(random)
    policy = random.choice([*POLICIES, *MOVING, *GATED, *(PREEMPTIVE if dispatch == "greedy" else [])])
    config = replace(
        crowd_config(random, dispatch),
        policy=policy,
        estimate=random.choice(estimates),
        missing_request_ms=4000,
        reserve_by=random.choice(["requested", "estimate"]),
        kill_at_request=random.random() < 0.3,
        scan_depth=random.choice([2, 3, 1000, 1000]),
        max_wait_ms=random.choice([None, None, 4000, 9000]),
        keep_progress=random.random() < 0.5,
        preemption_overhead_ms=random.choice([0, 500]),
        preemption_overhead_per_gb_ms=random.choice([0, 0, 300_000]),
    )
    failing = {"mtbf_s": 12.0, "mttr_s": 4.0} if random.random() < 0.4 else {}
    return scene, config, failing


def scheduler_of(config: Config, failing: dict[str, Any]) -> Scheduler:
    """Returns a configuration, with failures, as one way to schedule."""
    return settings_of(config).changed(**failing) if failing else settings_of(config)


def runs_since(simulation: Simulation, now_ms: int, stops_before: int) -> dict[int, tuple[list[int], list[int]]]:
    """Returns the nodes and tasks of all runs that began at an instant, those that were stopped afterwards included."""
    told, stops = simulation.snapshot(), simulation.stops()
    runs = {}
    for place in range(stops_before, len(stops.job)):
        if stops.start_ms[place] == now_ms:
            span = slice(stops.node_offsets[place], stops.node_offsets[place + 1])
            runs[int(stops.job[place])] = (stops.nodes[span].tolist(), stops.tasks[span].tolist())
    for job, (phase, start_ms) in enumerate(zip(told.phase.tolist(), told.start_ms.tolist(), strict=True)):
        if phase not in (Phase.FUTURE, Phase.WAITING, Phase.REJECTED) and start_ms == now_ms:
            span = slice(told.node_offsets[job], told.node_offsets[job + 1])
            runs[job] = (told.nodes[span].tolist(), told.tasks[span].tolist())
    return runs


def check_is_done(decision: Decision, simulation: Simulation, dispatch: str, order: list[int] | None = None) -> None:
    """Asserts that a simulation does at this instant what was decided, by its own order or by one of the caller's."""
    before, stops_before = simulation.job_states(), len(simulation.stops().job)
    now_ms = simulation.snapshot().now_ms
    fork = simulation.fork()
    fork.dispatch(order)
    is_committed = dispatch.startswith("committed")
    while fork.status().starts - simulation.status().starts < len(decision.starts):
        # A committed rule chooses one job at a time, and fills in others as the clock moves. By the last start more may
        # have happened: jobs have ended, or were stopped since their nodes failed, and others have started.
        assert is_committed
        if not fork.advance():
            break
        left = [job for job in order or [] if fork.job_states().phase[job] == Phase.WAITING]
        fork.dispatch(left or None)
    after = fork.job_states()
    stopped = {job for job in range(len(after.phase)) if after.preemptions[job] > before.preemptions[job]}
    # Others may have begun at this instant too, but earlier: they run already, or have ended at once.
    runs = runs_since(fork, now_ms, stops_before)
    began = {job: run for job, run in runs.items() if before.phase[job] == Phase.WAITING or job in stopped}
    assert set(decision.starts) <= set(began)
    assert set(decision.stops) <= stopped
    if not is_committed and not stopped:
        assert set(decision.starts) == set(began)
    for job, place in decision.starts.items():
        assert (list(place.nodes), list(place.tasks)) == began[job]
    held = {job: time_ms for job, time_ms in enumerate(after.reserved_ms.tolist()) if time_ms >= 0}
    for job in held.keys() & decision.reservations.keys():
        assert decision.reservations[job].start_s == held[job] / 1000
    assert set(held) <= set(decision.reservations) | set(decision.starts) or is_committed


def with_another_future(scene: Scene, snapshot: Snapshot, random: Random) -> Scene:
    """Returns the scene with other run times of jobs that have not ended, and other arrivals to come."""
    jobs, now_ms = [], snapshot.now_ms
    for job, phase in zip(scene.jobs, snapshot.phase.tolist(), strict=True):
        if phase in (Phase.FUTURE, Phase.WAITING, Phase.RUNNING):
            job = replace(job, run_ms=random.choice([1, 500, 3 * SECOND_MS, 60 * SECOND_MS]))
        if phase == Phase.FUTURE:
            now_ms += random.choice([0, 1, 700, 5 * SECOND_MS])
            job = replace(job, submit_ms=now_ms)
        jobs.append(job)
    return replace(scene, jobs=tuple(jobs))


@pytest.mark.every(4)
@pytest.mark.parametrize("dispatch", DISPATCHES)
@given(seed=SEEDS)
@examples(40)
def test_decisions_are_what_the_simulation_does(dispatch: str, seed: int) -> None:
    check_decisions(Random(seed), dispatch)


def check_decisions(random: Random, dispatch: str) -> int:
    """Asserts that decisions in a random scene are what the simulation does; returns how many were looked at."""
    scene, config, failing = random_way(random, dispatch, ESTIMATES)
    scheduler = scheduler_of(config, failing)
    simulation = Simulation(*tables_of(scene), scheduler)
    tried = 0
    for _ in instants(simulation, random):
        decision = simulation.decide()
        check_is_done(decision, simulation, dispatch)
        assert decide(simulation.snapshot(), *tables_of(scene), scheduler) == decision
        tried += 1
    return tried


@pytest.mark.every(4)
@pytest.mark.parametrize("dispatch", DISPATCHES)
def test_there_is_much_to_decide(dispatch: str) -> None:
    random = Random(f"done {dispatch}")
    assert sum(check_decisions(random, dispatch) for _ in range(15)) > 15


@pytest.mark.every(3)
@pytest.mark.parametrize("dispatch", DISPATCHES)
@given(seed=SEEDS)
@examples(40)
def test_what_is_loaded_goes_on_the_same(dispatch: str, seed: int) -> None:
    random = Random(seed)
    scene, config, failing = random_way(random, dispatch, ESTIMATES)
    simulation = Simulation(*tables_of(scene), scheduler_of(config, failing))
    for _ in instants(simulation, random):
        loaded = Simulation(*tables_of(scene), scheduler_of(config, failing))
        loaded.load(Snapshot.from_json(simulation.snapshot().to_json()))
        fork = simulation.fork()
        for each in (fork, loaded):
            each.dispatch()
            assert each.run()
        assert loaded.job_states().end_ms.tolist() == fork.job_states().end_ms.tolist()
        assert loaded.job_states().start_ms.tolist() == fork.job_states().start_ms.tolist()
        assert loaded.job_states().preemptions.tolist() == fork.job_states().preemptions.tolist()
        assert observe(loaded) == observe(fork)


@given(seed=SEEDS)
@examples(40)
def test_nodes_are_as_a_snapshot_tells(seed: int) -> None:
    random = Random(seed)
    scene, config, _ = random_way(random, random.choice(DISPATCHES), ESTIMATES)
    scheduler = scheduler_of(config, {"mtbf_s": 2.0, "mttr_s": 2.0})
    simulation = Simulation(*tables_of(scene), scheduler)
    while simulation.advance() and simulation.status().running == 0:
        snapshot = simulation.snapshot()
        told = replace(snapshot, down=np.array([random.randrange(2) for _ in scene.nodes], np.uint8))
        loaded = Simulation(*tables_of(scene), scheduler)
        loaded.load(told)
        assert loaded.snapshot().down.tolist() == told.down.tolist()
        simulation.dispatch()


@pytest.mark.every(3)
@pytest.mark.parametrize("dispatch", DISPATCHES)
@given(seed=SEEDS)
@examples(40)
def test_the_future_does_not_matter_to_decisions(dispatch: str, seed: int) -> None:
    random = Random(seed)
    scene, config, failing = random_way(random, dispatch, BLIND)
    scheduler = scheduler_of(config, failing)
    simulation = Simulation(*tables_of(scene), scheduler)
    for _ in instants(simulation, random):
        snapshot = simulation.snapshot()
        other = with_another_future(scene, snapshot, random)
        tables = workload_of(other.jobs), cluster_of(other.nodes)
        assert decide(snapshot, *tables, scheduler) == simulation.decide()
