"""A checkpoint asked from a snapshot decides what it decides in its simulation, or in its environment."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from shunter import Cluster, InputError, Workload, read_workload
from shunter.agents.learned_policy import load_policy
from shunter.envs import PickHostOptions, RewardOptions
from shunter.envs.learned import checkpoint_options, network_of, open_windows, order_alone
from shunter.envs.network import NativeNetwork
from shunter.envs.pick_host import drawn_log, pick_host_vector
from shunter.envs.playing import PlayStep, play
from shunter.envs.vector import NativeVectorEnv
from shunter.errors import OutOfTimeError
from shunter.model.cluster import Node
from shunter.model.log import Log
from shunter.model.snapshot import Snapshot
from shunter.model.windows import Windows
from shunter.policies.checkpoint import Checkpoint
from shunter.policies.scheduler import resolve_scheduler
from shunter.simulation import Decision, Simulation, decide
from tests.agents.untrained import LUBLIN, opinionated, write_host_policy, write_policy

NODES = Cluster.from_nodes(tuple(Node(f"n{number}", 16.0) for number in range(4)), "four")


@cache
def workload() -> Workload:
    return read_workload(LUBLIN).window(100, 120)


class Watch:
    """Keeps what a policy sees and does while it plays an episode, and the states in which it does."""

    def __init__(self, vector: NativeVectorEnv) -> None:
        self.vector = vector
        self.snapshots: list[Snapshot] = []
        self.steps: list[tuple[bytes, bytes, int]] = []
        self.ended: list[Simulation] = []

    def seen(self, step: PlayStep) -> None:
        """Takes one step."""
        self.snapshots.append(self.vector.simulation(0).snapshot())
        self.steps.append((step.observations[0].tobytes(), step.masks[0].tobytes(), int(step.actions[0])))

    def play(self, checkpoint: str) -> NDArray[np.int64]:
        """Plays the episode; returns when jobs have started."""
        network = load_policy(checkpoint).evaluator
        play(network, self.vector, finished=lambda _, simulation: self.ended.append(simulation), seen=self.seen)
        return self.ended[0].job_states().start_ms

    def first_steps(self) -> list[int]:
        """Returns the steps before which the clock has moved."""
        times = [None, *(snapshot.now_ms for snapshot in self.snapshots)]
        return [place for place in range(len(self.steps)) if times[place + 1] != times[place]]


def check_steps(watch: Watch, place: int, decision: Decision) -> None:
    """Asserts that a policy was shown, and answered, what it was shown in its environment from a step on."""
    answers = [(one.observation.tobytes(), one.mask.tobytes(), one.action) for one in decision.answers]
    assert answers == watch.steps[place : place + len(answers)]
    assert answers


@pytest.mark.parametrize("mode", ["reserve", "feasible", "committed", "committed-backfill"])
def test_a_policy_that_chooses_jobs(tmp_path: Path, mode: str) -> None:
    checkpoint = write_policy(
        tmp_path / "best", begins_as_order=False, change=opinionated, mode=mode, order="wfp3", estimate="posterior"
    )
    scheduler = resolve_scheduler(policy=checkpoint, max_wait_s=40_000.0)
    log = Log(workload(), NODES)
    with open_windows(log, Windows.whole(len(workload())), scheduler) as vector:
        watch = Watch(vector)
        start_ms = watch.play(checkpoint)
    choices = 0
    for place in watch.first_steps()[::2][:25]:
        snapshot = watch.snapshots[place]
        decision = decide(snapshot, workload(), NODES, scheduler)
        check_steps(watch, place, decision)
        now = set(np.flatnonzero(start_ms == snapshot.now_ms).tolist())
        assert set(decision.starts) <= now
        assert "committed" in mode or set(decision.starts) == now
        choices += len(decision.answers)
    assert choices > 3


@pytest.mark.parametrize("mode", ["reserve", "committed-backfill"])
def test_one_call_of_the_core_decides_the_same(tmp_path: Path, mode: str) -> None:
    """It tells nothing of what was shown, and may be given a time."""
    checkpoint = write_policy(tmp_path / "best", begins_as_order=False, change=opinionated, mode=mode, order="sjf")
    scheduler = resolve_scheduler(policy=checkpoint)
    order, network = order_alone(scheduler), NativeNetwork.load(Path(checkpoint))
    simulation, starts = Simulation(workload(), NODES, order), 0
    while simulation.advance():
        decision = decide(simulation.snapshot(), workload(), NODES, scheduler)
        told = network.decide(simulation, workload(), budget_us=60_000_000)
        assert told == replace(decision, answers=())
        starts += len(told.starts)
        if decision.answers:
            with pytest.raises(OutOfTimeError, match="no decision within 1 microseconds"):
                network.decide(simulation, workload(), budget_us=1)
        simulation.dispatch()
    assert starts > 5


def test_a_policy_is_read_once_until_it_changes(tmp_path: Path) -> None:
    checkpoint = resolve_scheduler(policy=write_policy(tmp_path / "best")).policy
    assert isinstance(checkpoint, Checkpoint)
    options = checkpoint_options(checkpoint)
    network = network_of(checkpoint, options)
    assert network_of(checkpoint, options) is network
    write_policy(tmp_path / "best", change=opinionated)
    again = network_of(checkpoint, options)
    assert isinstance(network, NativeNetwork)
    assert isinstance(again, NativeNetwork)
    before, after = (one.get()[0] for one in (network, again))
    assert any((before[name] != after[name]).any() for name in before)


def test_a_policy_that_chooses_hosts(tmp_path: Path) -> None:
    checkpoint = write_host_policy(tmp_path / "best", change=opinionated)
    options = load_policy(checkpoint).options
    assert isinstance(options, PickHostOptions)
    vector = pick_host_vector(options, RewardOptions(), num_envs=1, episodes=1, autoreset=False)
    watch = Watch(vector)
    start_ms = watch.play(checkpoint)
    log = drawn_log(options, 0)
    scheduler = resolve_scheduler(policy=checkpoint, hosts=True)
    placed = watch.ended[0].snapshot()
    for place in watch.first_steps():
        snapshot = watch.snapshots[place]
        decision = decide(snapshot, log.workload, log.cluster, scheduler)
        check_steps(watch, place, decision)
        assert set(decision.starts) == set(np.flatnonzero(start_ms == snapshot.now_ms).tolist())
        for job, where in decision.starts.items():
            assert where.nodes == (int(placed.nodes[placed.node_offsets[job]]),)
        assert json.loads(decision.to_json())["answers"][0]["mask"] == decision.answers[0].mask.tolist()


def test_a_policy_that_chooses_hosts_is_asked_for_and_has_as_many_as_it_knows(tmp_path: Path) -> None:
    checkpoint = write_host_policy(tmp_path / "best")
    with pytest.raises(InputError, match="this policy chooses hosts"):
        resolve_scheduler(policy=checkpoint)
    scheduler = resolve_scheduler(policy=checkpoint, hosts=True)
    assert (scheduler.settings.dispatch, scheduler.settings.policy) == ("strict", checkpoint)
    few = Cluster.from_nodes(NODES.nodes[:3], "three")
    snapshot = Simulation(workload(), few, resolve_scheduler(dispatch="strict")).snapshot()
    with pytest.raises(InputError, match="the policy chooses among 4 hosts; the cluster has 3"):
        decide(snapshot, workload(), few, scheduler)
