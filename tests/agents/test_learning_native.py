"""PyTorch's PPO learns in the native environments: two nodes, few jobs, and brute force that knows the best."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from shunter.agents.learned_policy import LearnedPolicy
from shunter.agents.networks import NetworkOptions, build
from shunter.agents.ppo import Ppo
from shunter.agents.training.checkpoint_files import PolicyRecord
from shunter.envs.pick_job import PickJobOptions, pick_job_vector
from shunter.envs.rewards import RewardOptions
from tests.agents import toy
from tests.agents.groups import OPTIONS, closed_host_gap, groups, totals

if TYPE_CHECKING:
    from shunter.envs.vector import NativeVectorEnv


def _trained(vector: NativeVectorEnv, kind: str, steps: int) -> LearnedPolicy:
    torch.set_num_threads(1)
    options = NetworkOptions(kind=kind)
    ppo = Ppo(vector, build(options, vector.layout, seed=1), OPTIONS, steps=steps, seed=1)
    while ppo.steps < steps:
        ppo.update()
    return LearnedPolicy(ppo.network, PolicyRecord(vector.layout, vector.options, options))


def test_it_closes_nine_tenths_of_the_gap_in_pick_job() -> None:
    options = PickJobOptions(mode="feasible", window=6, lookahead_size=2, estimate="perfect")
    reward = RewardOptions(reward="slowdown")
    log, windows, _ = groups(300, seed=1)
    with_autoreset = pick_job_vector([log], [windows], options, reward, num_envs=64, seed=1)
    policy = _trained(with_autoreset, "kernel", 12_000)
    log, windows, run_s = groups(100, seed=2)
    unseen = pick_job_vector([log], [windows], options, reward, num_envs=100)
    reached = totals(unseen, np.arange(100), policy.actions, "slowdown").mean() - 1
    chance, optimum = (np.mean([rule(each) for each in run_s]) for rule in (toy.at_random, toy.optimum))
    assert reached > optimum - 1e-9
    assert (chance - reached) / (chance - optimum) > 0.9


def test_it_closes_nine_tenths_of_the_gap_in_pick_host() -> None:
    assert 0.9 < closed_host_gap(lambda vector: _trained(vector, "hosts", 12_000)) < 1.0 + 1e-9


def test_a_saved_state_goes_on_bit_for_bit() -> None:
    log, windows, _ = groups(50, seed=1)

    def fresh() -> Ppo:
        options = PickJobOptions(window=6, lookahead_size=2)
        vector = pick_job_vector([log], [windows], options, RewardOptions(), num_envs=64, seed=1, max_steps=3)
        return Ppo(vector, build(NetworkOptions(), vector.layout, seed=1), OPTIONS, steps=10_000, seed=1)

    torch.set_num_threads(1)
    first, second = fresh(), fresh()
    first.update()
    policy = first.policy_tensors()
    second.load_state(policy, first.state(), "here")
    figures, resumed = first.update(), second.update()
    assert {**figures, "steps_per_s": 0} == {**resumed, "steps_per_s": 0}
    other = second.policy_tensors()
    assert all(np.array_equal(tensor, other[name]) for name, tensor in first.policy_tensors().items())
    assert any(not np.array_equal(tensor, other[name]) for name, tensor in policy.items())
