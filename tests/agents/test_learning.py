"""Agents learn: they come close to what brute force finds, and do not where there is nothing to see."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from shunter.agents.algorithms import D3qnOptions, PpoOptions, ReinforceOptions, SacOptions
from shunter.agents.d3qn import D3qn
from shunter.agents.learned_policy import LearnedPolicy
from shunter.agents.networks import NetworkOptions, build
from shunter.agents.ppo import Ppo
from shunter.agents.reinforce import Reinforce
from shunter.agents.sac import Sac
from shunter.agents.training.checkpoint_files import PolicyRecord
from shunter.envs.pick_job import PickJobOptions
from tests.agents import toy

PPO_OPTIONS = PpoOptions(
    num_envs=64, rollout_steps=16, minibatch=256, learning_rate=3e-3, gamma=1.0, lr_schedule="linear"
)
D3QN_OPTIONS = D3qnOptions(
    num_envs=32,
    rollout_steps=16,
    learn_after=500,
    minibatch=128,
    gradient_steps=2,
    target_every=100,
    learning_rate=3e-3,
    gamma=1.0,
    lr_schedule="linear",
)
SAC_OPTIONS = SacOptions(
    num_envs=32,
    rollout_steps=16,
    learn_after=500,
    minibatch=128,
    gradient_steps=2,
    target_entropy=0.1,
    learning_rate=3e-3,
    gamma=1.0,
    lr_schedule="linear",
)
REINFORCE_OPTIONS = ReinforceOptions(num_envs=128, learning_rate=1e-2, gamma=1.0, lr_schedule="linear")
AGENTS: dict[str, tuple[type[Any], Any, int]] = {
    "ppo": (Ppo, PPO_OPTIONS, 12_000),
    "d3qn": (D3qn, D3QN_OPTIONS, 12_000),
    "rainbow": (D3qn, replace(D3QN_OPTIONS, rainbow=True), 12_000),
    "sac": (Sac, SAC_OPTIONS, 12_000),
    "reinforce": (Reinforce, REINFORCE_OPTIONS, 40_000),
}
"""The class, the options, and after how many steps it has learned."""


def _closed_gap(agent: str, kind: str = "kernel", *, shuffled: bool = False) -> float:
    """Returns which part of the way from chance to the optimum the learned policy goes, on jobs it has not seen."""
    torch.set_num_threads(1)
    network = NetworkOptions(kind=kind)
    learns, options, steps = AGENTS[agent]
    environments = toy.Toy(options.num_envs, seed=1, shuffled=shuffled)
    learner = learns(environments, build(network, toy.LAYOUT, seed=1), options, steps=steps, seed=1)
    while learner.steps < steps:
        learner.update()
    environment = PickJobOptions(window=toy.LAYOUT.window, lookahead_size=toy.LAYOUT.lookahead_size)
    policy = LearnedPolicy(learner.network, PolicyRecord(toy.LAYOUT, environment, network))
    unseen = toy.Toy(200, seed=99, shuffled=shuffled)
    arrays = unseen.step_arrays()
    unseen.reset_into(arrays.observations, arrays.masks)
    jobs = unseen.run_s.copy()
    for _ in range(toy.JOBS):
        unseen.step_into(policy.actions(arrays.observations, arrays.masks), arrays)
    assert arrays.terminated.all()
    reached = arrays.totals[:, toy.COST].mean()
    chance, optimum = (np.mean([rule(each) for each in jobs]) for rule in (toy.at_random, toy.optimum))
    return float((chance - reached) / (chance - optimum))


@pytest.mark.every(3)
@pytest.mark.parametrize("kind", ["kernel", "mlp", "attention"])
def test_ppo_closes_nine_tenths_of_the_gap_between_chance_and_the_optimum(kind: str) -> None:
    assert 0.9 < _closed_gap("ppo", kind) < 1.0 + 1e-9


@pytest.mark.every(4)
@pytest.mark.parametrize("agent", [name for name in AGENTS if name != "ppo"])
def test_so_does_every_other_agent(agent: str) -> None:
    assert 0.9 < _closed_gap(agent) < 1.0 + 1e-9


@pytest.mark.every(5)
@pytest.mark.parametrize("agent", AGENTS)
def test_it_learns_nothing_from_observations_of_other_environments(agent: str) -> None:
    assert _closed_gap(agent, shuffled=True) < 0.5
