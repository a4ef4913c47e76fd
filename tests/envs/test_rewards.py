"""Rewards add up to the objectives, computed from the schedule by the formulas of the document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from shunter.envs import NativeVectorEnv, PickHostOptions, PickJobOptions, RewardOptions, pick_host_vector
from shunter.envs.log_source import episode_windows
from shunter.envs.pick_host import drawn_log
from shunter.envs.rewards import HIGHER_IS_BETTER, OBJECTIVES, TOTALS
from shunter.errors import InputError
from shunter.model.cluster import Cluster
from shunter.model.log import Log
from shunter.policies.scheduler import resolve_scheduler
from shunter.simulation.simulation import Simulation
from tests.envs.formulas import Ran, objectives, ran_jobs
from tests.envs.small import ALL, MODES, crowded_log, play, vector_of

LOG = crowded_log(8)
WINDOWS = episode_windows(LOG, ALL)
EPISODE = 9
FIRST = int(WINDOWS.simulated_first[EPISODE])


def sign(name: str) -> float:
    return 1.0 if name in HIGHER_IS_BETTER else -1.0


def played(
    reward: Mapping[str, float] | str,
    seed: int = 0,
    **keywords: Any,  # noqa: ANN401 - passed on as they came
) -> tuple[NativeVectorEnv, list[float]]:
    """Plays the episode at random; other keywords are those of the reward."""
    vector = vector_of(LOG, reward=RewardOptions(reward, **keywords))
    return vector, play(vector, EPISODE, seed)[1]


def ran(vector: NativeVectorEnv) -> list[Ran]:
    return ran_jobs(LOG, vector.simulation(0), FIRST, ALL.warmup)


def of_policy(
    policy: str, dispatch: str, logarithms: bool = False, log: Log = LOG, first: int = FIRST
) -> dict[str, float]:
    """Returns the objectives of a policy on the same jobs."""
    jobs = log.workload.window(first, WINDOWS.simulated_length)
    simulation = Simulation(jobs, log.cluster, resolve_scheduler(policy=policy, dispatch=dispatch))
    simulation.run()
    return objectives(log, ran_jobs(log, simulation, first, ALL.warmup), logarithms)


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("name", OBJECTIVES)
def test_the_sum_of_rewards_is_the_objective(name: str, log: bool) -> None:
    vector, rewards = played(name, log=log)
    assert sum(rewards) == pytest.approx(sign(name) * objectives(LOG, ran(vector), log)[name], rel=1e-9)


@pytest.mark.parametrize("mode", MODES)
def test_totals_are_the_objectives_whatever_the_mode(mode: str) -> None:
    options = PickJobOptions(mode=mode, window=6, lookahead_size=4)
    vector = vector_of(LOG, options=options, reward=RewardOptions({"wait": 0.5, "balance": -2.0}, log=True))
    arrays, rewards = play(vector, EPISODE)
    totals = dict(zip(TOTALS, arrays.totals[0].tolist(), strict=True))
    jobs = ran(vector)
    assert {name: totals[name] for name in OBJECTIVES} == pytest.approx(objectives(LOG, jobs), rel=1e-9)
    assert totals["reward"] == pytest.approx(sum(rewards))
    assert totals["max_wait_s"] == pytest.approx(max(job.wait_s for job in jobs if job.measured))
    assert totals["measured_jobs"] == totals["started_jobs"] == sum(job.measured for job in jobs)
    assert totals["elapsed_s"] == pytest.approx(totals["makespan"])


def test_weights_are_a_sum() -> None:
    vector, rewards = played({"wait": 0.5, "utilization": 10.0, "queue": -2.0})
    values = objectives(LOG, ran(vector))
    expected = -0.5 * values["wait"] + 10 * values["utilization"] + 2 * values["queue"]
    assert sum(rewards) == pytest.approx(expected)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_final_gives_everything_at_the_end(name: str) -> None:
    for log in (False, True):
        _, dense = played(name, log=log, seed=4)
        _, final = played(name, log=log, seed=4, timing="final")
        assert set(final[:-1]) == {0.0}
        assert final[-1] == pytest.approx(sum(dense))


def test_dense_credit_comes_while_jobs_wait() -> None:
    _, rewards = played("wait")
    assert all(reward <= 0 for reward in rewards)
    assert sum(reward < 0 for reward in rewards[:-1]) > 3


@pytest.mark.parametrize("name", [name for name in OBJECTIVES if name != "completion"])
def test_scale_divides_by_what_a_policy_gets(name: str) -> None:
    for log in (False, True):
        _, plain = played(name, log=log, seed=2)
        _, scaled = played(name, log=log, seed=2, scale="sjf/easy")
        by = of_policy("sjf", "easy", log)[name]
        assert by > 0
        assert sum(scaled) == pytest.approx(sum(plain) / by)


def test_an_objective_of_0_scales_nothing() -> None:
    # On one node there is no variance over nodes.
    log = crowded_log(8, hosts=1)
    sums = [
        sum(play(vector_of(log, reward=RewardOptions({"balance": 1.0, "wait": 1.0}, scale=scale)), EPISODE)[1])
        for scale in ("none", "fcfs/greedy")
    ]
    assert np.isfinite(sums).all()
    assert sums[0] != sums[1]


@pytest.mark.parametrize("name", OBJECTIVES)
def test_relative_subtracts_what_a_policy_gets(name: str) -> None:
    for log in (False, True):
        _, plain = played(name, log=log, seed=2)
        _, relative = played(name, log=log, seed=2, relative_to="fcfs/strict")
        assert sum(relative) == pytest.approx(sum(plain) - sign(name) * of_policy("fcfs", "strict", log)[name])


def test_doing_as_a_policy_does_is_worth_0_relative_to_it() -> None:
    reward = RewardOptions({"bounded_slowdown": 1.0, "wait": 1.0, "balance": 1.0}, relative_to="sjf/easy")
    rewards, _ = in_order("sjf", reward)
    assert sum(rewards) == pytest.approx(0.0, abs=1e-9)


def test_as_long_as_a_policy_is_followed_every_step_is_worth_0_relative_to_it() -> None:
    for policy in ("sjf/easy", "order"):
        reward = RewardOptions({"bounded_slowdown": 1.0, "wait": 1.0}, log=True, relative_to=policy)
        followed, waits = in_order("sjf", reward)
        assert followed == pytest.approx([0.0] * len(followed), abs=1e-9)
        assert waits > 0  # Else nothing could have been worth anything.
    other, _ = in_order("fcfs", RewardOptions(log=True, relative_to="sjf/easy"))
    assert np.abs(other).max() > 0.01


def test_logarithms_may_count_in_some_objectives_alone() -> None:
    both = {"bounded_slowdown": 1.0, "wait": 1.0}
    values = objectives(LOG, ran(played("wait")[0]))
    logs = objectives(LOG, ran(played("wait")[0]), logarithms=True)
    _, rewards = played(both, log=("bounded_slowdown",))
    assert sum(rewards) == pytest.approx(-logs["bounded_slowdown"] - values["wait"])
    with pytest.raises(InputError, match="makespan"):
        RewardOptions(both, log=("makespan",))


def in_order(order: str, reward: RewardOptions) -> tuple[list[float], float]:
    """Returns the reward of each step of an episode in which the first job allowed is chosen, and the mean wait."""
    vector = vector_of(LOG, options=PickJobOptions(order=order, window=40), reward=reward)
    arrays = vector.step_arrays()
    vector.reset_into(arrays.observations, arrays.masks, np.array([EPISODE]))
    rewards = []
    while not arrays.terminated[0]:
        first = int(arrays.masks[0, 1:].argmax()) + 1 if arrays.masks[0, 1:].any() else 0
        vector.step_into(np.array([first], dtype=np.int32), arrays)
        rewards.append(float(arrays.rewards[0]))
    return rewards, float(arrays.totals[0, TOTALS.index("wait")])


def test_bounds_cost_what_they_are_missed_by() -> None:
    _, plain = played("queue", seed=1)
    vector, bounded = played(
        "queue", seed=1, scale="none", relative_to="sjf", bounds={"wait": 0.5, "utilization": 1.5}, bound_weight=3.0
    )
    values, policy = objectives(LOG, ran(vector)), of_policy("sjf", "easy")
    wait = max(values["wait"] / (0.5 * policy["wait"]) - 1, 0)
    utilization = max(1 - values["utilization"] / (1.5 * policy["utilization"]), 0)
    assert wait > 0
    assert utilization > 0
    missed = sum(plain) + policy["queue"] - sum(bounded)
    assert missed == pytest.approx(3.0 * (wait + utilization))
    assert bounded[:-1] == pytest.approx(played("queue", seed=1, relative_to="sjf")[1][:-1])


def test_bounds_are_of_seconds_even_where_logarithms_are_rewarded() -> None:
    _, plain = played("wait", log=True, scale="sjf")
    vector, bounded = played("wait", log=True, scale="sjf", bounds={"wait": 0.5})
    missed = objectives(LOG, ran(vector))["wait"] / (0.5 * of_policy("sjf", "easy")["wait"]) - 1
    assert sum(plain) - sum(bounded) == pytest.approx(missed)
    assert missed > 0


def test_bounds_that_are_held_cost_nothing() -> None:
    loose = {"wait": 1000.0, "utilization": 0.01}
    _, plain = played("queue", scale="fcfs/easy")
    _, bounded = played("queue", scale="fcfs/easy", bounds=loose, bound_weight=3.0)
    assert plain == bounded


def test_rejected_jobs_do_not_count() -> None:
    small = Log(LOG.workload, Cluster.from_nodes(LOG.cluster.nodes[:1], "one"))
    vector = vector_of(small, reward=RewardOptions("wait", relative_to="fcfs/easy"))
    arrays, rewards = play(vector, EPISODE)
    first = int(episode_windows(small, ALL).simulated_first[EPISODE])
    jobs = ran_jobs(small, vector.simulation(0), first, ALL.warmup)
    assert 0 < sum(job.measured for job in jobs) < ALL.length
    wait_s = arrays.totals[0, TOTALS.index("wait")]
    assert wait_s == pytest.approx(objectives(small, jobs)["wait"])
    assert sum(rewards) == pytest.approx(of_policy("fcfs", "easy", log=small, first=first)["wait"] - wait_s)


@pytest.mark.parametrize("relative_to", [None, "fcfs/strict"])
def test_rewards_of_hosts(relative_to: str | None) -> None:
    options = PickHostOptions(num_hosts=3, episode_length=12, host_cores=(4, 8))
    reward = RewardOptions({"wait": 1.0, "balance": 100.0}, relative_to=relative_to)
    vector = pick_host_vector(options, reward, num_envs=1, episodes=3, autoreset=False)
    arrays, rewards = play(vector, 2)
    log = drawn_log(options, 2)
    # Episodes are drawn for themselves, and stand one behind the other in the core's table.
    values = objectives(log, ran_jobs(log, vector.simulation(0), 0, 0, late_s=2 * options.episode_length))
    expected = values["wait"] + 100 * values["balance"]
    if relative_to:
        simulation = Simulation(log.workload, log.cluster, resolve_scheduler(dispatch="strict"))
        simulation.run()
        policy = objectives(log, ran_jobs(log, simulation, 0, 0))
        expected -= policy["wait"] + 100 * policy["balance"]
    assert values["wait"] > 0
    assert sum(rewards) == pytest.approx(-expected)
    assert arrays.totals[0, TOTALS.index("balance")] == pytest.approx(values["balance"])
