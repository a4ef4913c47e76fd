"""Opens random scenes in the core, drives them step by step, and shows what came of it."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shunter.model.cluster import Cluster
from shunter.model.schedule import Outcome, Phase, RejectReason
from shunter.model.workload import Workload
from shunter.policies.scheduler import Scheduler, resolve_scheduler
from shunter.simulation import Simulation
from tests.properties.core_adapter import cluster_of, workload_of
from tests.properties.observed import Observed, ObservedJob
from tests.properties.strategies import Scene
from tests.reference.model import DEVICE_MILLI, Config

_OUTCOMES = [Outcome.__members__.get(phase.name, Outcome.UNFINISHED) for phase in Phase]
"""By the number of a job's phase."""


def settings_of(config: Config) -> Scheduler:
    """Returns a configuration of the reference as one way to schedule."""
    assert isinstance(config.policy, str)
    return resolve_scheduler(
        policy=config.policy,
        dispatch=config.dispatch,
        # first-available brings its own placement and refuses any other.
        placement=None if config.policy == "first-available" else config.placement,
        estimate=config.estimate,
        missing_request="run-time" if config.missing_request_ms is None else config.missing_request_ms / 1000,
        reserve_by=config.reserve_by,
        kill_at_request=config.kill_at_request,
        max_wait_s=None if config.max_wait_ms is None else config.max_wait_ms / 1000,
        size_by=config.size_by,
        scan_depth=config.scan_depth,
        seed=config.seed,
        preemption_overhead_s=config.preemption_overhead_ms / 1000,
        preemption_overhead_per_gb_s=config.preemption_overhead_per_gb_ms / 1000,
        preempted_progress="kept" if config.keep_progress else "lost",
        min_run_s=config.minimum_run_ms / 1000,
        mtbf_s=None if config.mtbf_ms is None else config.mtbf_ms / 1000,
        mttr_s=None if config.mttr_ms is None else config.mttr_ms / 1000,
        failed_progress="kept" if config.failure_keeps_progress else "lost",
    )


@lru_cache(maxsize=4)
def tables_of(scene: Scene) -> tuple[Workload, Cluster]:
    """Returns a scene as the core knows it; a scene is opened several times in a row."""
    return workload_of(scene.jobs), cluster_of(scene.nodes, scene.rules)


def open_scene(scene: Scene, config: Config) -> Simulation:
    """Opens a simulation of a scene, at its beginning."""
    return Simulation(*tables_of(scene), settings_of(config))


def reopen(scene: Scene, saved: bytes) -> Simulation:
    """Restores a saved simulation of a scene."""
    return Simulation.restore(*tables_of(scene), saved)


def state_of(simulation: Simulation) -> dict[str, Any]:
    """Returns all that a simulation shows of its state, to be compared as a whole."""
    parts = {**vars(simulation.job_states()), **vars(simulation.snapshot()), **vars(simulation.estimates())}
    shown = {name: part.tolist() if isinstance(part, np.ndarray) else part for name, part in parts.items()}
    return {**shown, "status": simulation.status(), "waiting": simulation.waiting().tolist()}


def finish(simulation: Simulation) -> dict[str, Any]:
    """Runs to the end and returns the last state."""
    assert simulation.run()
    return state_of(simulation)


def observe(simulation: Simulation) -> Observed:
    """Returns what became of each job."""
    states, eligible_ms = simulation.job_states(), simulation.eligible_ms()
    return [
        ObservedJob(
            _known(states.start_ms[job], states.phase[job]),
            _known(states.end_ms[job], states.phase[job], Outcome.CANCELLED),
            _OUTCOMES[states.phase[job]],
            RejectReason(states.reject_reason[job]),
            nodes_of(simulation, job),
            _known(eligible_ms[job], states.phase[job]),
        )
        for job in range(len(states.phase))
    ]


def _known(time_ms: np.int64, phase: np.uint8, *more: Outcome) -> int | None:
    """A submit time may be negative, so that only the phase tells whether a time is there."""
    return int(time_ms) if _OUTCOMES[phase] in (Outcome.COMPLETED, Outcome.KILLED, *more) else None


def nodes_of(simulation: Simulation, job: int) -> tuple[tuple[int, int], ...]:
    """Returns the (node, tasks) pairs of a job, by node number."""
    placed = simulation.snapshot()
    places = slice(placed.node_offsets[job], placed.node_offsets[job + 1])
    return tuple(sorted(zip(placed.nodes[places].tolist(), placed.tasks[places].tolist(), strict=True)))


def running_jobs(simulation: Simulation) -> list[int]:
    """Returns the jobs that run now."""
    places: NDArray[np.intp] = np.flatnonzero(simulation.job_states().phase == Phase.RUNNING)
    return [int(job) for job in places]


def check_resources(scene: Scene, simulation: Simulation) -> None:
    """Asserts that the running jobs hold all their tasks, and no node or device more than it has."""
    cores, memory, devices = Counter[int](), Counter[int](), Counter[int]()
    placed = simulation.snapshot()
    for job in running_jobs(simulation):
        asked, nodes = scene.jobs[job], nodes_of(simulation, job)
        assert sum(tasks for _, tasks in nodes) == asked.tasks
        for node, tasks in nodes:
            cores[node] += tasks * asked.cores_milli
            memory[node] += tasks * (asked.memory_mb or 0)
        held = slice(placed.device_offsets[job], placed.device_offsets[job + 1])
        assert placed.millis[held].sum() == asked.tasks * asked.gpu_milli
        for device, milli in zip(placed.devices[held].tolist(), placed.millis[held].tolist(), strict=True):
            devices[device] += milli
    for number, has in enumerate(scene.nodes):
        assert cores[number] <= has.cores_milli
        assert has.memory_mb is None or memory[number] <= has.memory_mb
    assert all(milli <= DEVICE_MILLI for milli in devices.values())
    free_cores = sum(node.cores_milli for node in scene.nodes) - cores.total()
    assert simulation.status().free_cores == free_cores / 1000


def disturb(simulation: Simulation, random: Random) -> None:
    """Does what no rule would: stops a running job, or starts a waiting one, now and then."""
    running = running_jobs(simulation)
    if running and random.random() < 0.3:
        simulation.preempt(random.choice(running))
    fitting = [int(job) for job in simulation.waiting() if simulation.fits(int(job))]
    if fitting and random.random() < 0.3:
        simulation.start(random.choice(fitting))


def drive(simulation: Simulation, decisions: int, random: Random | None = None) -> None:
    """Makes some decisions, fewer if it is over before, disturbed if there is a source of chance."""
    for _ in range(decisions):
        if not simulation.advance():
            return
        if random is not None:
            disturb(simulation, random)
        simulation.dispatch()
