"""Policies that choose jobs and types of GPUs: how they begin, learn, schedule and decide."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shunter
from shunter import Cluster, InputError, Schedule, Workload, read_cluster, read_workload
from shunter.agents.learned_policy import load_policy
from shunter.agents.networks import NetworkOptions
from shunter.envs import make_vec
from shunter.envs.network import NativeNetwork
from shunter.policies.scheduler import resolve_scheduler
from shunter.simulation import Simulation, decide, simulate
from tests.agents.small_training import SMALL
from tests.agents.untrained import opinionated, write_pair_policy

JOBS = "generate:helios-like?jobs=400&nodes=3&seed=5&kinds=gavel-like&load=1.2"
PAIR_SCORE = "pairs?estimate=1&slower=0.5&lost_slower=1&accept=0.4&accept_wait=0.05"


@cache
def workload() -> Workload:
    return read_workload(JOBS)


@cache
def cluster() -> Cluster:
    return read_cluster("gavel-like")


def same(one: Schedule, other: Schedule) -> bool:
    arrays = ("start_s", "end_s", "outcome", "placement_nodes", "placement_offsets")
    return all(np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True) for name in arrays)


@pytest.mark.parametrize("network", ["kernel", "attention"])
@pytest.mark.parametrize("order", ["sjf", "linear?estimate=1&wait=0.01", PAIR_SCORE])
def test_a_network_that_begins_as_its_order_schedules_as_it_does_on_the_fastest_type(
    tmp_path: Path, order: str, network: str
) -> None:
    begins = NetworkOptions(kind=network, order_temperature=16.0)
    checkpoint = write_pair_policy(tmp_path / "best", cluster().gpu_types, order=order, window=400, network=begins)
    learned = simulate(workload(), cluster(), policy=checkpoint)
    classic = simulate(workload(), cluster(), policy=order, dispatch="greedy", placement="fastest")
    assert same(learned, classic)


def test_the_network_decides(tmp_path: Path) -> None:
    checkpoint = write_pair_policy(tmp_path / "best", cluster().gpu_types, change=opinionated, order="sjf")
    learned = simulate(workload(), cluster(), policy=checkpoint)
    assert not same(learned, simulate(workload(), cluster(), policy="sjf", dispatch="greedy", placement="fastest"))


def test_a_decision_about_a_snapshot_is_that_of_the_simulation(tmp_path: Path) -> None:
    checkpoint = write_pair_policy(tmp_path / "best", cluster().gpu_types, order="sjf", window=400)
    simulation = Simulation(
        workload(), cluster(), resolve_scheduler(policy="sjf", dispatch="greedy", placement="fastest")
    )
    scheduler, started = resolve_scheduler(policy=checkpoint), 0
    for _ in range(60):
        assert simulation.advance()
        decision = decide(simulation.snapshot(), workload(), cluster(), scheduler)
        waiting = set(simulation.waiting().tolist())
        simulation.dispatch()
        assert set(decision.starts) == waiting - set(simulation.waiting().tolist())
        started += len(decision.starts)
    assert started


def tuned_file(folder: Path) -> Path:
    """Returns a score over pairs with the prices of types, as tuning writes it."""
    file = folder / "tuned.toml"
    lines = [
        *["[policy]", 'kind = "pairs"', "estimate = 1.0", "lost_price = 1.0", "accept = 0.2", "accept_wait = 0.02"],
        *["[pairs]", 'kind = "price"', "[pairs.prices]", "V100 = 3.0", "P100 = 2.0", "K80 = 1.0"],
    ]
    file.write_text("\n".join(lines) + "\n")
    return file


def test_training_begins_as_a_tuned_score_over_pairs(tmp_path: Path) -> None:
    file = tuned_file(tmp_path)
    sections = SMALL | {
        "environment": {"kind": "pick-job-and-type", "window": 400},
        "reward": {"reward": {"turnaround": 1.0}, "scale": "order", "relative_to": "order"},
        "network": {},
        "data": {},
    }
    arguments: dict[str, Any] = {"cluster": "gavel-like", "out": tmp_path / "run", "steps": 64, "config": sections}
    run = shunter.train(JOBS, init=file, **arguments)
    first = simulate(workload(), cluster(), policy=str(run.folder / "initial"))
    tuned = simulate(workload(), cluster(), policy=str(file), dispatch="greedy", placement="fastest")
    assert same(first, tuned)
    assert not same(first, simulate(workload(), cluster(), policy="sjf", dispatch="greedy", placement="fastest"))
    # What types cost a job is told of its pairs.
    options = load_policy(str(run.folder)).options
    assert options.scheduler.pairs.prices == {"V100": 3.0, "P100": 2.0, "K80": 1.0}


@pytest.mark.parametrize("kind", ["kernel", "attention", "mlp"])
def test_the_core_scores_pairs_as_pytorch_does(tmp_path: Path, kind: str) -> None:
    network = NetworkOptions(kind=kind, hidden=(8,), order_temperature=2.0)
    types = cluster().gpu_types
    checkpoint = write_pair_policy(tmp_path / "best", types, network=network, change=opinionated, window=6)
    env = make_vec("shunter/PickJobAndType-v0", 8, workload=workload(), cluster=cluster(), window=6, length=60)
    arrays, random = env.step_arrays(), np.random.default_rng(1)
    env.reset_into(arrays.observations, arrays.masks)
    for _ in range(40):
        drawn = np.where(arrays.masks, random.random(arrays.masks.shape), -1.0).argmax(axis=1)
        env.step_into(drawn.astype(np.int32), arrays)
    given = arrays.observations.copy(), arrays.masks.copy()
    logits, values = NativeNetwork.load(Path(checkpoint)).evaluate(*given)
    theirs, their_values = load_policy(checkpoint).evaluator.evaluate(*given)
    np.testing.assert_allclose(np.where(given[1], logits, 0), np.where(given[1], theirs, 0), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(values, their_values, rtol=1e-4, atol=1e-4)
    env.close()


@pytest.mark.every(4)
@pytest.mark.parametrize("algorithm", ["ppo", "reinforce", "d3qn", "sac"])
def test_every_algorithm_trains(tmp_path: Path, algorithm: str) -> None:
    sections = SMALL | {
        "environment": {"kind": "pick-job-and-type", "window": 6, "order": "sjf"},
        "reward": {"reward": {"turnaround": 1.0}, "scale": "order", "relative_to": "order"},
        "training": SMALL["training"] | {"algorithm": algorithm},
        "data": {},
    }
    sections = {name: table for name, table in sections.items() if name != "ppo" or algorithm == "ppo"}
    run = shunter.train(JOBS, cluster="gavel-like", out=tmp_path / "run", steps=192, config=sections)
    assert load_policy(str(run.folder)).kind == "pick-job-and-type"
    learned = simulate(workload(), cluster(), policy=str(run.folder))
    assert learned.settings.dispatch == "greedy"
    assert np.isfinite(learned.start_s).any()


def test_a_policy_is_for_the_types_that_it_was_trained_on(tmp_path: Path) -> None:
    checkpoint = write_pair_policy(tmp_path / "best", ("A", "B", "C"), order="sjf")
    with pytest.raises(InputError, match="chooses among the GPUs A, B, C, in this order; the cluster has"):
        simulate(workload(), cluster(), policy=checkpoint)
