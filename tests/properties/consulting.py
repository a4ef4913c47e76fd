"""Plays episodes by a rule that looks at nothing but observation and mask, and asks in the same states."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shunter.model.snapshot import Snapshot
from shunter.model.workload import Workload
from shunter.native import check, ffi, lib, opened, pointer
from shunter.simulation import Decision, Simulation
from shunter.simulation.decision import Answer, read_decision
from shunter.simulation.states import JobStates
from tests.properties.core_adapter import cluster_of, workload_of
from tests.properties.environment_adapter import CoreEnvironment, Play, environment_config
from tests.simulation.driving import settings_of


def chosen(observation: NDArray[np.float32], mask: NDArray[np.uint8]) -> int:
    """Returns an allowed action that the smallest change of the observation changes."""
    allowed = np.flatnonzero(mask)
    return int(allowed[zlib.crc32(observation.tobytes()) % len(allowed)])


@dataclass(frozen=True)
class Step:
    """One step of an episode: the state in which it was asked, what was shown and what was done."""

    simulation: Simulation
    snapshot: Snapshot
    jobs: tuple[int, ...]
    observation: bytes
    mask: bytes
    action: int


@dataclass(frozen=True)
class Played:
    """A whole episode."""

    steps: list[Step]
    states: JobStates
    """At its end."""
    placed: Snapshot
    """At its end."""


def play_through(play: Play) -> Played:
    """Plays an episode to its end."""
    environment, steps = CoreEnvironment(play), []
    first = len(play.before)
    while not environment.terminated[0] and environment.mask.any():
        jobs = tuple(job - first for job in environment.view()["jobs"] if job >= 0)
        action = chosen(environment.observation, environment.mask)
        simulation = environment.simulation()
        seen = (environment.observation.tobytes(), environment.mask.tobytes())
        steps.append(Step(simulation, simulation.snapshot(), jobs, *seen, action))
        environment.step(action)
    end = environment.simulation()
    return Played(steps, end.job_states(), end.snapshot())


def table_of(play: Play) -> Workload:
    """Returns an episode's jobs, as a window behind those that were before."""
    return workload_of([*play.before, *play.scene.jobs]).window(len(play.before))


def loaded(play: Play, snapshot: Snapshot) -> Simulation:
    """Returns a new simulation of an episode's jobs in the state of a snapshot."""
    simulation = Simulation(table_of(play), cluster_of(play.scene.nodes), settings_of(play.config))
    simulation.load(Snapshot.from_json(snapshot.to_json()))
    return simulation


def ask(play: Play, simulation: Simulation) -> Decision:
    """Asks in a state by the core's own functions, as a caller in C would."""
    priority = np.array([*[0.0] * len(play.before), *play.reward.priority])
    handle = simulation.open_consultation(environment_config(play), priority)
    sizes = [ffi.new("uintptr_t *") for _ in range(3)]
    check(lib.shunter_consultation_sizes(handle.number, *sizes))
    assert [size[0] for size in sizes] == [play.numbers, play.actions, play.rows]
    due, answers = ffi.new("int32_t *"), []
    while True:
        observation, mask = np.empty(play.numbers, np.float32), np.empty(play.actions, np.uint8)
        jobs = np.empty(play.rows, np.int64)
        check(lib.shunter_consultation_observe(handle.number, due, pointer(observation), pointer(mask), pointer(jobs)))
        if not due[0]:
            break
        action = chosen(observation, mask)
        answers.append(Answer(action, tuple(jobs[jobs >= 0].tolist()), observation, mask.view(np.bool_)))
        check(lib.shunter_consultation_act(handle.number, action, due))
    assert not observation.any()
    assert not mask.any()
    assert (jobs == -1).all()
    decision = opened(lib.shunter_consultation_decision, handle.number)
    return read_decision(decision, simulation.status().now_s, tuple(answers))
