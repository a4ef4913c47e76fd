"""PPO learns in the native environments: two nodes, few jobs, and brute force that knows the best."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import torch

from shunter.agents.algorithms import PpoOptions
from shunter.agents.learned_policy import LearnedPolicy
from shunter.agents.networks import NetworkOptions, build
from shunter.agents.ppo import Ppo
from shunter.agents.training.checkpoint_files import PolicyRecord
from shunter.envs.pick_host import PickHostOptions, pick_host_vector
from shunter.envs.pick_job import PickJobOptions, pick_job_vector
from shunter.envs.rewards import TOTALS, RewardOptions
from shunter.model.cluster import Cluster, Node
from shunter.model.log import Log
from shunter.model.windows import Windows
from shunter.model.workload import Workload
from tests.agents import toy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.envs.vector import NativeVectorEnv

OPTIONS = PpoOptions(num_envs=64, rollout_steps=16, minibatch=256, learning_rate=3e-3, gamma=1.0, lr_schedule="linear")

Decide = Callable[["NDArray[np.float32]", "NDArray[np.bool_]"], "NDArray[np.int32]"]


def _trained(vector: NativeVectorEnv, kind: str, steps: int) -> LearnedPolicy:
    torch.set_num_threads(1)
    options = NetworkOptions(kind=kind)
    ppo = Ppo(vector, build(options, vector.layout, seed=1), OPTIONS, steps=steps, seed=1)
    while ppo.steps < steps:
        ppo.update()
    return LearnedPolicy(ppo.network, PolicyRecord(vector.layout, vector.options, options))


def _totals(vector: NativeVectorEnv, episodes: NDArray[np.int64], decide: Decide, total: str) -> NDArray[np.float64]:
    """Returns a total of one episode in each environment."""
    arrays = vector.step_arrays()
    vector.reset_into(arrays.observations, arrays.masks, episodes)
    found = np.full(vector.num_envs, np.nan)
    while np.isnan(found).any():
        vector.step_into(decide(arrays.observations, arrays.masks), arrays)
        ended = np.isnan(found) & (arrays.terminated | arrays.truncated)
        found[ended] = arrays.totals[ended, TOTALS.index(total)]
    return found


def _log(episodes: int, seed: int) -> tuple[Log, Windows, NDArray[np.float64]]:
    """Returns groups of jobs that arrive together, each group a window, on two nodes of one core."""
    run_s = np.random.default_rng(seed).choice(toy.RUN_S, (episodes, toy.JOBS)).astype(np.float64)
    submit_s = np.repeat(np.arange(episodes) * 1000.0, toy.JOBS)
    jobs = pl.DataFrame({"submit_s": submit_s, "run_s": run_s.ravel(), "cores_per_task": 1.0})
    cluster = Cluster.from_nodes((Node("a", 1.0), Node("b", 1.0)), "two nodes")
    first = (np.arange(episodes) * toy.JOBS).astype(np.uintp)
    windows = Windows(first, np.zeros(episodes, np.int64), length=toy.JOBS, warmup=0)
    return Log(Workload.from_frame(jobs, name="groups"), cluster), windows, run_s


def test_it_closes_nine_tenths_of_the_gap_in_pick_job() -> None:
    options = PickJobOptions(mode="feasible", window=6, lookahead_size=2, estimate="perfect")
    reward = RewardOptions(reward="slowdown")
    log, windows, _ = _log(300, seed=1)
    with_autoreset = pick_job_vector([log], [windows], options, reward, num_envs=64, seed=1)
    policy = _trained(with_autoreset, "kernel", 12_000)
    log, windows, run_s = _log(100, seed=2)
    unseen = pick_job_vector([log], [windows], options, reward, num_envs=100)
    reached = _totals(unseen, np.arange(100), policy.actions, "slowdown").mean() - 1
    chance, optimum = (np.mean([rule(each) for each in run_s]) for rule in (toy.at_random, toy.optimum))
    assert reached > optimum - 1e-9
    assert (chance - reached) / (chance - optimum) > 0.9


def test_it_closes_nine_tenths_of_the_gap_in_pick_host() -> None:
    hosts = {"num_hosts": 2, "host_cores": (12, 12), "episode_length": 1, "max_jobs_per_step": 6, "job_run_s": (60, 60)}
    reward = RewardOptions(reward="balance")

    def vector(seed: int, num_envs: int, episodes: int) -> NativeVectorEnv:
        options = PickHostOptions(**hosts, job_cores=(2, 2), seed=seed)  # type: ignore[arg-type]
        return pick_host_vector(options, reward, num_envs=num_envs, seed=seed, episodes=episodes)

    policy = _trained(vector(1, 64, 200), "hosts", 12_000)
    plans = np.array(list(product((0, 1), repeat=6)), np.int32)
    unseen = vector(2, len(plans), 20)
    reached, optimum, chance = [], [], []
    for episode in np.arange(20):
        places = np.full(len(plans), episode)
        steps = iter(plans.T)
        outcomes = _totals(unseen, places, lambda *_, steps=steps: np.ascontiguousarray(next(steps)), "balance")
        optimum.append(outcomes.min())
        chance.append(outcomes.mean())
        reached.append(_totals(unseen, places, policy.actions, "balance")[0])
    assert (np.array(reached) > np.array(optimum) - 1e-9).all()
    assert (np.mean(chance) - np.mean(reached)) / (np.mean(chance) - np.mean(optimum)) > 0.9


def test_a_saved_state_goes_on_bit_for_bit() -> None:
    log, windows, _ = _log(50, seed=1)

    def fresh() -> Ppo:
        options = PickJobOptions(window=6, lookahead_size=2)
        vector = pick_job_vector([log], [windows], options, RewardOptions(), num_envs=64, seed=1, max_steps=3)
        return Ppo(vector, build(NetworkOptions(), vector.layout, seed=1), OPTIONS, steps=10_000, seed=1)

    torch.set_num_threads(1)
    first, second = fresh(), fresh()
    first.update()
    policy = {name: tensor.clone() for name, tensor in first.policy_tensors().items()}
    second.load_state(policy, first.state(), "here")
    figures, resumed = first.update(), second.update()
    assert {**figures, "steps_per_s": 0} == {**resumed, "steps_per_s": 0}
    other = second.policy_tensors()
    assert all(torch.equal(tensor, other[name]) for name, tensor in first.policy_tensors().items())
    assert any(not torch.equal(tensor, other[name]) for name, tensor in policy.items())
