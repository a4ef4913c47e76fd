"""A decision from any state: it is what the simulation does then, and nothing of the future is in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from shunter.model.snapshot import Snapshot
from shunter.policies.scheduler import Scheduler
from shunter.simulation import Decision, Simulation
from shunter.simulation.decide import decide
from tests.properties.core_adapter import cluster_of, workload_of
from tests.properties.crowds import crowd, crowd_config
from tests.properties.strategies import DISPATCHES, ESTIMATES, GATED, MOVING, POLICIES, SECOND_MS, Scene
from tests.reference.model import Config
from tests.simulation.driving import observe, settings_of, tables_of

PREEMPTIVE = ["srtf", "las"]
BLIND = ["requested", "last-two", "history"]
"""Estimates that see no run time of a job that has not ended."""
RUNNING, ENDED = 2, 3


def instants(simulation: Simulation, random: Random) -> Iterator[None]:
    """Drives a simulation, and stops at some of the instants at which a decision is due."""
    while simulation.advance():
        if random.random() < 0.25:
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
    )
    failing = {"mtbf_s": 12.0, "mttr_s": 4.0} if random.random() < 0.4 else {}
    return scene, config, failing


def scheduler_of(config: Config, failing: dict[str, Any]) -> Scheduler:
    """Returns a configuration, with failures, as one way to schedule."""
    return settings_of(config).changed(**failing) if failing else settings_of(config)


def check_is_done(decision: Decision, simulation: Simulation) -> None:
    """Asserts that a simulation does at this instant what was decided."""
    before, now_ms = simulation.job_states(), round(1000 * decision.now_s)
    fork = simulation.fork()
    fork.dispatch()
    is_committed = any(held.start_s is None for held in decision.reservations.values())
    while fork.status().starts - simulation.status().starts < len(decision.starts):
        # A committed rule chooses one job at a time.
        assert fork.advance()
        fork.dispatch()
    after = fork.job_states()
    started = {
        job
        for job in range(len(after.phase))
        if after.phase[job] >= RUNNING and after.latest_start_ms[job] == now_ms and before.phase[job] in (1, RUNNING)
        if before.phase[job] == 1 or after.preemptions[job] > before.preemptions[job]
    }
    assert set(decision.starts) <= started or is_committed
    stopped = {job for job in range(len(after.phase)) if after.preemptions[job] > before.preemptions[job]}
    assert set(decision.stops) <= stopped
    if not is_committed and not stopped:
        assert set(decision.starts) == started
    placed = fork.snapshot()
    for job, place in decision.starts.items():
        span = slice(placed.node_offsets[job], placed.node_offsets[job + 1])
        assert place.nodes == tuple(placed.nodes[span].tolist())
        assert place.tasks == tuple(placed.tasks[span].tolist())
    held = {job: time_ms for job, time_ms in enumerate(after.reserved_ms.tolist()) if time_ms >= 0}
    for job in held.keys() & decision.reservations.keys():
        assert decision.reservations[job].start_s == held[job] / 1000
    assert set(held) <= set(decision.reservations) | set(decision.starts) or is_committed


def with_another_future(scene: Scene, snapshot: Snapshot, random: Random) -> Scene:
    """Returns the scene with other run times of jobs that have not ended, and other arrivals to come."""
    jobs, now_ms = [], snapshot.now_ms
    for job, phase in zip(scene.jobs, snapshot.phase.tolist(), strict=True):
        if phase < ENDED:
            job = replace(job, run_ms=random.choice([1, 500, 3 * SECOND_MS, 60 * SECOND_MS]))
        if phase == 0:
            now_ms += random.choice([0, 1, 700, 5 * SECOND_MS])
            job = replace(job, submit_ms=now_ms)
        jobs.append(job)
    return replace(scene, jobs=tuple(jobs))


@pytest.mark.parametrize("dispatch", DISPATCHES)
def test_decisions_are_what_the_simulation_does(dispatch: str) -> None:
    random = Random(f"done {dispatch}")
    tried = 0
    for _ in range(40):
        scene, config, failing = random_way(random, dispatch, ESTIMATES)
        scheduler = scheduler_of(config, failing)
        simulation = Simulation(*tables_of(scene), scheduler)
        for _ in instants(simulation, random):
            decision = simulation.decide()
            check_is_done(decision, simulation)
            assert decide(simulation.snapshot(), *tables_of(scene), scheduler) == decision
            tried += 1
    assert tried > 40


@pytest.mark.parametrize("dispatch", DISPATCHES)
def test_what_is_loaded_goes_on_the_same(dispatch: str) -> None:
    random = Random(f"on {dispatch}")
    for _ in range(40):
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


@pytest.mark.parametrize("dispatch", DISPATCHES)
def test_the_future_does_not_matter_to_decisions(dispatch: str) -> None:
    random = Random(f"future {dispatch}")
    tried = 0
    for _ in range(40):
        scene, config, failing = random_way(random, dispatch, BLIND)
        scheduler = scheduler_of(config, failing)
        simulation = Simulation(*tables_of(scene), scheduler)
        for _ in instants(simulation, random):
            snapshot = simulation.snapshot()
            other = with_another_future(scene, snapshot, random)
            tables = workload_of(other.jobs), cluster_of(other.nodes)
            assert decide(snapshot, *tables, scheduler) == simulation.decide()
            tried += 1
    assert tried > 40
