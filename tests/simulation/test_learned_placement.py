"""A learned policy as a placement: copies, windows, decisions, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from shunter import Cluster, InputError, Workload, read_workload, simulate
from shunter.model.cluster import Node
from shunter.policies.scheduler import Scheduler, resolve_scheduler
from shunter.simulation import Simulation, WindowRunner, decide
from tests.agents.untrained import most_free_cores, opinionated, write_host_policy, write_policy
from tests.properties.crowds import crowd, crowd_config
from tests.properties.strategies import DISPATCHES
from tests.simulation.driving import drive, finish, open_scene, reopen, state_of

CLUSTER = Cluster.from_nodes(
    tuple(Node(f"n{number}", cores) for number, cores in enumerate((16, 8, 8, 24, 16))), "five"
)


@pytest.fixture(scope="module")
def workload() -> Workload:
    """Jobs of several tasks each, that crowd the nodes."""
    return read_workload("generate:lublin?seed=3&jobs=250&cores=64&load=1.2&requests=factor")


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A policy that prefers some hosts to others, for reasons of its own."""
    return write_host_policy(tmp_path_factory.mktemp("runs") / "hosts" / "best", change=opinionated)


def placed_by(placement: str, dispatch: str = "easy", policy: str = "fcfs") -> Scheduler:
    return resolve_scheduler(policy=policy, dispatch=dispatch, placement=placement)


@pytest.mark.parametrize("dispatch", DISPATCHES)
def test_copies_go_on_like_the_original(hosts: str, dispatch: str) -> None:
    random = Random(dispatch)
    for _ in range(4):
        scene, config = crowd(random), replace(crowd_config(random, dispatch), placement=hosts)
        original = open_scene(scene, config)
        drive(original, 5)
        fork, restored = original.fork(), reopen(scene, original.serialize())
        assert state_of(fork) == state_of(restored) == state_of(original)
        assert finish(fork) == finish(restored) == finish(original) == finish(open_scene(scene, config))


def test_a_saved_state_has_its_policy_with_it(tmp_path: Path, workload: Workload) -> None:
    folder = tmp_path / "best"
    flat: dict[str, Any] = {"kind": "mlp", "num_hosts": 5, "activation": "tanh", "order_temperature": 3.0}
    for network in ({}, flat):
        policy = write_host_policy(folder, change=opinionated, **network)
        simulation = Simulation(workload, CLUSTER, placed_by(policy))
        simulation.run(80)
        saved = simulation.serialize()
        # The run goes on, and has other weights.
        write_host_policy(folder, change=most_free_cores)
        restored = Simulation.restore(workload, CLUSTER, saved)
        simulation.run()
        restored.run()
        assert restored.serialize() == simulation.serialize()
    damaged = bytearray(saved)
    damaged[200] ^= 1
    with pytest.raises(InputError, match="checksum"):
        Simulation.restore(workload, CLUSTER, bytes(damaged))


def test_windows_do_not_depend_on_threads(hosts: str, workload: Workload) -> None:
    scheduler, first = placed_by(hosts), [0, 30, 100, 150]
    results = [WindowRunner(workload, CLUSTER).run(scheduler, first, 100, threads) for threads in (1, 2)]
    assert np.array_equal(results[0].start_ms, results[1].start_ms)
    for place, begin in enumerate(first):
        alone = Simulation(workload.window(begin, 100), CLUSTER, scheduler)
        alone.run()
        assert np.array_equal(alone.job_states().start_ms, results[0].start_ms[place])


@pytest.mark.every(4)
@pytest.mark.parametrize("dispatch", ["strict", "easy", "conservative", "2"])
def test_a_decision_is_what_the_simulation_does(hosts: str, workload: Workload, dispatch: str) -> None:
    scheduler = placed_by(hosts, dispatch=dispatch)
    simulation = Simulation(workload, CLUSTER, scheduler)
    starts = 0
    while simulation.advance():
        decision = decide(simulation.snapshot(), workload, CLUSTER, scheduler)
        assert decision == simulation.decide()
        starts += len(decision.starts)
        simulation.dispatch()
        placed = simulation.snapshot()
        for job, place in decision.starts.items():
            assert place.nodes == tuple(placed.nodes[placed.node_offsets[job] : placed.node_offsets[job + 1]].tolist())
    assert starts > 100


def test_it_is_what_the_run_folder_says_and_stays_so(tmp_path: Path, workload: Workload) -> None:
    run = tmp_path / "first"
    write_host_policy(run / "best", change=most_free_cores)
    scheduler = placed_by(str(run))
    assert scheduler.settings.placement == str(run)
    assert (scheduler.placement.label, scheduler.placement.file) == ("first", run / "best" / "policy.json")
    assert scheduler.files == {"placement": run / "best" / "policy.json"}
    before = simulate(workload, CLUSTER, scheduler)
    write_host_policy(run / "best", change=opinionated)
    assert simulate(workload, CLUSTER, scheduler).content_sha256 == before.content_sha256
    assert simulate(workload, CLUSTER, placed_by(str(run))).content_sha256 != before.content_sha256


def test_what_it_refuses(tmp_path: Path, workload: Workload, hosts: str) -> None:
    jobs = write_policy(tmp_path / "jobs" / "best")
    with pytest.raises(InputError, match=r"policy\.json: this policy chooses jobs, not hosts; give it as --po"):
        resolve_scheduler(placement=jobs)
    with pytest.raises(InputError, match=r"this policy chooses hosts \(pick-host\), not jobs; give it as --placement"):
        resolve_scheduler(policy=hosts)
    with pytest.raises(
        InputError, match="placement 'runs/none': there is no such folder or file; expected a name, the f"
    ):
        resolve_scheduler(placement="runs/none")
    with pytest.raises(InputError, match=r"no checkpoint here \(no policy\.json in it"):
        resolve_scheduler(placement=str(tmp_path))
    flat = write_host_policy(tmp_path / "flat", kind="mlp", num_hosts=4)
    with pytest.raises(
        InputError, match="the placement's network reads 4 hosts, and the cluster has 5; a network of the"
    ):
        simulate(workload, CLUSTER, placement=flat)
    (Path(flat) / "policy.safetensors").write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"policy\.safetensors: is not the file that policy\.json was written with"):
        resolve_scheduler(placement=flat)


def test_a_policy_that_chooses_jobs_beside_one_that_chooses_hosts(
    tmp_path: Path, workload: Workload, hosts: str
) -> None:
    """Trained with another placement, it starts the same jobs as its order does with this one."""
    jobs = write_policy(tmp_path / "jobs", order="sjf", mode="reserve", placement="pack")
    both = resolve_scheduler(policy=jobs, placement=hosts)
    assert (both.settings.policy, both.settings.placement) == (jobs, hosts)
    plain = placed_by(hosts, policy="sjf")
    assert simulate(workload, CLUSTER, both).content_sha256 == simulate(workload, CLUSTER, plain).content_sha256
    trained_with_it = resolve_scheduler(policy=write_policy(tmp_path / "other", order="sjf", placement=hosts))
    assert trained_with_it.settings.placement == hosts
    assert (
        simulate(workload, CLUSTER, trained_with_it).content_sha256 == simulate(workload, CLUSTER, plain).content_sha256
    )
    with pytest.raises(InputError, match="was trained with placement pack, but placement is spread; leave --placement"):
        resolve_scheduler(policy=jobs, placement="spread")
