"""Nodes that fail inside of environments: episodes go as simulations with the same failures do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shunter.envs import PickHostEnv, PickHostOptions, PickJobEnv, PickJobOptions
from shunter.envs.kinds import environment_from, environment_table
from shunter.envs.single import SingleEnv
from shunter.errors import InputError
from shunter.metrics.table import compute_metrics
from shunter.model.schedule import Schedule
from shunter.simulation import simulate
from tests.agents.untrained import write_policy
from tests.envs.small import crowded_log

OFTEN: dict[str, Any] = {"mtbf_s": 400.0, "mttr_s": 60.0}
LOG = crowded_log(jobs=60, hosts=3)
LIKE = {"reserve": "easy", "feasible": "greedy", "committed": "committed", "committed-backfill": "committed-backfill"}
"""The dispatch rule that one follows by always choosing the first job."""


def played_by_the_order(env: SingleEnv) -> dict[str, float]:
    """Plays the one episode of a log, always by the first row that is not held back; returns its totals."""
    observation, info = env.reset(options={"episode": 0})
    held_back = env.layout.job_features.index("held_back")
    while True:
        mask = info["action_mask"]
        rows = env.layout.split(observation)["jobs"][:, held_back] == 0
        allowed = mask[1:] & rows
        observation, _, terminated, _, info = env.step(int(allowed.argmax()) + 1 if allowed.any() else 0)
        assert not info["invalid_action"]
        if terminated:
            totals: dict[str, float] = info["totals"]
            return totals


def same_schedule(env: SingleEnv, schedule: Schedule) -> bool:
    """Returns whether an episode that is over went as a schedule did, stop by stop."""
    simulation = env.vector.simulation(0)
    states, stops = simulation.job_states(), simulation.stops()
    assert schedule.stops is not None
    assert len(schedule.stops) > 5
    return (
        np.array_equal(states.start_ms, schedule.start_ms)
        and np.array_equal(states.end_ms, schedule.end_ms)
        and np.array_equal(stops.job, schedule.stops.job)
        and np.array_equal(stops.end_ms / 1000, schedule.stops.end_s)
    )


@pytest.mark.parametrize("progress", ["lost", "kept"])
@pytest.mark.parametrize("mode", LIKE)
def test_the_order_played_is_the_order_simulated(mode: str, progress: str) -> None:
    conditions: dict[str, Any] = {**OFTEN, "failed_progress": progress, "seed": 5}
    env = PickJobEnv(LOG.workload, LOG.cluster, part=(0, 1), length=60, mode=mode, order="sjf", **conditions)
    totals = played_by_the_order(env)
    schedule = simulate(LOG.workload, LOG.cluster, policy="sjf", dispatch=LIKE[mode], **conditions)
    assert same_schedule(env, schedule)
    metrics = compute_metrics(schedule)
    for name, metric in {
        "wait": "mean_wait_s",
        "turnaround": "mean_turnaround_s",
        "bounded_slowdown": "mean_bounded_slowdown",
        "makespan": "makespan_s",
        "queue": "mean_queue_length",
        "max_wait_s": "max_wait_s",
    }.items():
        assert totals[name] == pytest.approx(metrics[metric]), name


def test_another_seed_draws_other_failures() -> None:
    ends = []
    for seed in (5, 5, 6):
        env = PickJobEnv(LOG.workload, LOG.cluster, part=(0, 1), length=60, seed=seed, **OFTEN)
        played_by_the_order(env)
        ends.append(env.vector.simulation(0).job_states().end_ms.tolist())
    assert ends[0] == ends[1] != ends[2]


@pytest.mark.parametrize("log", [False, True])
def test_rewards_relative_to_the_order_are_0_for_the_order(log: bool) -> None:
    """What the order's own schedule costs is counted as the environment counts it, stops and all."""
    reward = {
        "bounded_slowdown": 1.0,
        "turnaround": 0.1,
        "wait": 0.1,
        "slowdown": 1.0,
        "utilization": 1.0,
        "queue": 1.0,
    }
    keywords: dict[str, Any] = {"part": (0, 1), "length": 60, "reward": reward, "relative_to": "order", "log": log}
    env = PickJobEnv(LOG.workload, LOG.cluster, **keywords, **OFTEN)
    assert played_by_the_order(env)["reward"] == pytest.approx(0.0, abs=1e-6)


def test_the_first_host_played_is_first_fit_simulated() -> None:
    played: dict[str, Any] = {"part": (0, 1), "length": 60, "reward": {"balance": 1.0, "wait": 1.0}}
    env = PickHostEnv(workload=LOG.workload, cluster=LOG.cluster, seed=3, relative_to="order", **played, **OFTEN)
    _, info = env.reset(options={"episode": 0})
    terminated = False
    while not terminated:
        _, _, terminated, _, info = env.step(int(info["action_mask"].argmax()))
    assert same_schedule(env, simulate(LOG.workload, LOG.cluster, dispatch="strict", seed=3, **OFTEN))
    assert info["totals"]["reward"] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("kind", [PickJobOptions, PickHostOptions])
def test_options_are_written_down_and_read_again(kind: Any) -> None:  # noqa: ANN401 - a class
    options = kind(mtbf_s="30d", mttr_s="2h", failed_progress="kept")
    assert (options.mtbf_s, options.mttr_s) == (30 * 86_400.0, 7200.0)
    assert environment_from(environment_table(options), "here") == options
    assert options.scheduler.settings.mtbf_s == 30 * 86_400.0


@pytest.mark.parametrize("kind", [PickJobOptions, PickHostOptions])
def test_mistakes(kind: Any) -> None:  # noqa: ANN401 - a class
    with pytest.raises(InputError, match=r"--mttr \(mttr_s\) is not given; give both or none"):
        kind(mtbf_s=60.0)
    with pytest.raises(InputError, match=r"unknown failed_progress 'gone'; .* kept, lost"):
        kind(failed_progress="gone")


def test_a_learned_policy_schedules_where_nodes_fail(tmp_path: Path) -> None:
    """One that does as its order does gets the order's schedule, with metrics over windows included."""
    from shunter.comparison.bench import Bench
    from shunter.model.windows import Windows
    from shunter.policies.scheduler import resolve_scheduler

    checkpoint = write_policy(tmp_path / "best", order="sjf")
    learned = simulate(LOG.workload, LOG.cluster, policy=checkpoint, **OFTEN)
    order = simulate(LOG.workload, LOG.cluster, policy="sjf", **OFTEN)
    assert learned.stops is not None
    assert len(learned.stops) > 5
    assert np.array_equal(learned.end_s, order.end_s)
    bench = Bench.on(LOG, Windows.whole(len(LOG.workload)), 1)
    (one,), (other,) = (bench.run(resolve_scheduler(policy=name, **OFTEN)) for name in (checkpoint, "sjf"))
    assert np.array_equal(one.held_ms, other.held_ms)
    assert np.array_equal(one.lost_ms, other.lost_ms)
    assert one.lost_ms.any()
