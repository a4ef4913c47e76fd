"""PPO learns: it comes close to what brute force finds, and does not where there is nothing to see."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from shunter.agents.algorithms import PpoOptions
from shunter.agents.learned_policy import LearnedPolicy
from shunter.agents.networks import NetworkOptions, build
from shunter.agents.ppo import Ppo
from shunter.agents.training.checkpoint_files import PolicyRecord
from shunter.envs.pick_job import PickJobOptions
from tests.agents import toy

STEPS = 12_000
OPTIONS = PpoOptions(num_envs=64, rollout_steps=16, minibatch=256, learning_rate=3e-3, gamma=1.0, lr_schedule="linear")


def _closed_gap(kind: str, *, shuffled: bool = False) -> float:
    """Returns which part of the way from chance to the optimum the learned policy goes, on jobs it has not seen."""
    torch.set_num_threads(1)
    options = NetworkOptions(kind=kind)
    ppo = Ppo(toy.Toy(64, seed=1, shuffled=shuffled), build(options, toy.LAYOUT, seed=1), OPTIONS, steps=STEPS, seed=1)
    while ppo.steps < STEPS:
        ppo.update()
    environment = PickJobOptions(window=toy.LAYOUT.window, lookahead_size=toy.LAYOUT.lookahead_size)
    policy = LearnedPolicy(ppo.network, PolicyRecord(toy.LAYOUT, environment, options))
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


@pytest.mark.parametrize("kind", ["kernel", "mlp", "attention"])
def test_it_closes_nine_tenths_of_the_gap_between_chance_and_the_optimum(kind: str) -> None:
    assert 0.9 < _closed_gap(kind) < 1.0 + 1e-9


def test_it_learns_nothing_from_observations_of_other_environments() -> None:
    assert _closed_gap("kernel", shuffled=True) < 0.5
