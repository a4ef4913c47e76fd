"""PickHost: what is drawn, what is seen, and what a choice does."""

from __future__ import annotations

import numpy as np
import pytest

from shunter.envs import PickHostEnv, PickHostOptions, RewardOptions, pick_host_vector
from shunter.envs.pick_host import drawn_log
from tests.envs.small import allowed_action

OPTIONS = PickHostOptions(num_hosts=4, max_jobs_per_step=3, episode_length=30)


def test_amounts_lie_in_their_ranges() -> None:
    logs = [drawn_log(OPTIONS, episode) for episode in range(20)]
    for column, (low, high) in {
        "cores_per_task": OPTIONS.job_cores,
        "memory_mb_per_task": OPTIONS.job_memory_mb,
        "run_s": OPTIONS.job_run_s,
    }.items():
        values = np.concatenate([log.workload.jobs[column].to_numpy() for log in logs])
        assert low <= values.min() < values.max() <= high
        assert np.array_equal(values, np.rint(values))
        assert values.mean() == pytest.approx((low + high) / 2, rel=0.1)
    nodes = [node for log in logs for node in log.cluster.nodes]
    assert {node.cores for node in nodes} <= set(range(16, 33))
    assert {(node.memory_mb or 0) / 1024 for node in nodes} <= set(range(64, 129))
    assert len({node.cores for node in nodes}) > 10


def test_jobs_arrive_in_seconds_at_most_so_many_in_each() -> None:
    submit_s = np.concatenate(
        [drawn_log(OPTIONS, episode).workload.jobs["submit_s"].to_numpy() for episode in range(20)]
    )
    assert set(submit_s) == set(range(30))
    for episode in range(20):
        _, counts = np.unique(drawn_log(OPTIONS, episode).workload.jobs["submit_s"], return_counts=True)
        assert counts.max() <= 3


def test_an_episode_is_a_function_of_seed_and_number() -> None:
    first, second = drawn_log(OPTIONS, 0), drawn_log(OPTIONS, 1)
    assert first.workload.jobs.equals(drawn_log(OPTIONS, 0).workload.jobs)
    assert not first.workload.jobs.equals(second.workload.jobs)
    assert first.cluster.content_sha256 != second.cluster.content_sha256
    other = drawn_log(PickHostOptions(num_hosts=4, max_jobs_per_step=3, episode_length=30, seed=1), 0)
    assert not first.workload.jobs.equals(other.workload.jobs)


def test_there_is_always_a_job() -> None:
    options = PickHostOptions(num_hosts=1, max_jobs_per_step=1, episode_length=1)
    assert [len(drawn_log(options, episode).workload) for episode in range(20)] == [1] * 20


def test_a_choice_puts_the_head_of_the_queue_on_the_host() -> None:
    env = PickHostEnv(num_hosts=4, max_jobs_per_step=3, episode_length=30, episodes=5)
    observation, info = env.reset(options={"episode": 3})
    log = drawn_log(OPTIONS, 3)
    nodes = log.cluster.nodes
    most_cores, most_memory = max(node.cores for node in nodes), max(node.memory_mb or 0 for node in nodes)
    before = sum(len(drawn_log(OPTIONS, episode).workload) for episode in range(3))
    expected = [[0, 0, node.cores / most_cores, (node.memory_mb or 0) / most_memory] for node in nodes]
    assert np.allclose(env.layout.split(observation)["hosts"], expected)
    random, chosen = np.random.default_rng(0), []
    ended = False
    while not ended:
        job = log.workload.jobs.row(int(info["jobs"][0]) - before, named=True)
        asks = [job["cores_per_task"] / most_cores, job["memory_mb_per_task"] / most_memory]
        assert np.allclose(env.layout.split(observation)["job"], asks)
        use = env.layout.split(observation)["hosts"]
        room = [
            node.cores * (1 - host[0]) + 1e-3 >= job["cores_per_task"] for node, host in zip(nodes, use, strict=True)
        ]
        assert not (env.action_masks() & ~np.array(room)).any()
        action = int(allowed_action(info["action_mask"][None], random)[0])
        chosen.append(action)
        observation, _, ended, _, info = env.step(action)
    placed = env.vector.simulation(0).snapshot()
    assert placed.nodes.tolist() == chosen
    assert len(chosen) == len(log.workload)


def test_the_clock_moves_until_there_is_a_host() -> None:
    options = PickHostOptions(num_hosts=1, episode_length=20, host_cores=(4, 4))
    vector = pick_host_vector(options, RewardOptions("wait"), num_envs=1, episodes=1, autoreset=False)
    arrays = vector.step_arrays()
    vector.reset_into(arrays.observations, arrays.masks)
    while not arrays.terminated[0]:
        assert arrays.masks[0].tolist() == [True]
        vector.step_into(np.zeros(1, dtype=np.int32), arrays)
    states = vector.simulation(0).job_states()
    assert (np.diff(states.start_ms) >= 0).all(), "first come, first served"
    assert arrays.totals[0, 1] > 10, "they had to wait"
