"""Rollouts: each goes on where the one before ended, and keeps what the next step would overwrite."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from shunter.agents.common.rollouts import Rollout
from shunter.envs.layout import JOB_FEATURES
from tests.agents import toy

RUN_TIME = JOB_FEATURES.index("log_estimate")


def _first_allowed(step: int, observations: Tensor, masks: Tensor) -> Tensor:
    return masks.int().argmax(dim=1)


def test_a_rollout_goes_on_where_the_one_before_ended() -> None:
    whole, halves = Rollout(toy.Toy(5), 6), Rollout(toy.Toy(5), 3)
    whole.collect(_first_allowed)
    for first in (0, 3):
        halves.collect(_first_allowed)
        assert np.array_equal(halves.observations, whole.observations[first : first + 4])
        assert np.array_equal(halves.masks, whole.masks[first : first + 4])
        assert np.array_equal(halves.rewards, whole.rewards[first : first + 3])
        assert np.array_equal(halves.terminated, whole.terminated[first : first + 3])


def test_what_is_acted_on_is_what_is_kept() -> None:
    seen = []

    def act(step: int, observations: Tensor, masks: Tensor) -> Tensor:
        seen.append((step, observations.clone(), masks.clone()))
        return _first_allowed(step, observations, masks)

    rollout = Rollout(toy.Toy(5), 3)
    rollout.collect(act)
    assert [step for step, *_ in seen] == [0, 1, 2]
    assert np.array_equal(torch.stack([observations for _, observations, _ in seen]).numpy(), rollout.observations[:3])
    assert np.array_equal(torch.stack([masks for *_, masks in seen]).numpy(), rollout.masks[:3])
    assert (rollout.actions == 1).all()


def test_a_saved_state_is_gone_back_to() -> None:
    rollout = Rollout(toy.Toy(5), 6)
    rollout.collect(_first_allowed)
    state = rollout.state()
    rollout.collect(_first_allowed)
    expected = rollout.observations.copy(), rollout.rewards.copy()
    rollout.collect(_first_allowed)
    rollout.load_state(state)
    rollout.collect(_first_allowed)
    assert np.array_equal(rollout.observations, expected[0])
    assert np.array_equal(rollout.rewards, expected[1])


def test_final_observations_of_truncated_episodes_are_kept_in_order() -> None:
    rollout = Rollout(toy.Toy(5, max_steps=2), 6)
    rollout.collect(_first_allowed)
    places = np.concatenate(rollout.truncated_at, axis=1)
    assert places.T.tolist() == [[step, one] for step in (1, 3, 5) for one in range(5)]
    observations, masks = rollout.final_observations()
    # The first job of two was taken; what is left are the last two of the four that the episode began with.
    began = toy.LAYOUT.split(rollout.observations[[0, 2, 4]])["jobs"][..., RUN_TIME].reshape(15, -1)
    left = toy.LAYOUT.split(observations)["jobs"][..., RUN_TIME]
    assert np.array_equal(left[:, :2].numpy(), began[:, 2:4])
    assert masks.sum(dim=1).tolist() == [2] * 15
    rollout.collect(_first_allowed)
    assert len(rollout.final_observations()[0]) == 15


def test_figures_are_means_over_the_episodes_that_ended() -> None:
    environments = toy.Toy(7)
    rollout = Rollout(environments, 9)
    jobs = environments.run_s.copy()
    rollout.collect(_first_allowed)
    figures = rollout.figures()
    assert figures["episodes"] == 14
    assert figures["return"] == pytest.approx(rollout.rewards[:8].sum() / 14)
    rollout = Rollout(toy.Toy(7), 4)
    rollout.collect(_first_allowed)
    expected = np.mean([toy.play(each, (0, 1, 2, 3)) for each in jobs])
    assert rollout.figures()["episode/slowdown"] == pytest.approx(expected)


def test_without_an_end_there_are_no_means() -> None:
    rollout = Rollout(toy.Toy(7), 3)
    rollout.collect(_first_allowed)
    assert rollout.figures() == {"invalid_share": 0.0, "wait_share": 0.0, "episodes": 0.0}
