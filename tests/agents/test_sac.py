"""Soft actor-critic: its targets and losses by hand, its temperature, its slower critics, and resuming."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from shunter.agents.algorithms import SacOptions
from shunter.agents.common.experience import Transitions
from shunter.agents.common.masking import masked_distribution
from shunter.agents.networks import NetworkOptions, build
from shunter.agents.networks.base import DenseBatch
from shunter.agents.sac import Sac
from tests.agents import toy
from tests.agents.fixed import Fixed

OPTIONS = SacOptions(num_envs=8, rollout_steps=8, learn_after=32, minibatch=16, replay_size=400)
MASKS = torch.tensor([[True, True, False], [True, False, False]])
PROBABILITIES = torch.tensor([[0.25, 0.75, 0.0], [1.0, 0.0, 0.0]])


def _sac(options: SacOptions = OPTIONS) -> Sac:
    environments = toy.Toy(options.num_envs, seed=1)
    return Sac(environments, build(NetworkOptions(), toy.LAYOUT, seed=2), options, steps=10_000, seed=3)


def test_what_actions_turned_out_to_be_worth() -> None:
    agent = _sac()
    agent.network = Fixed(PROBABILITIES.clamp_min(1e-9).log(), torch.zeros(2))
    # Both score alike all that is allowed, so that values of states are those of actions; the lower one counts.
    alike = torch.zeros(2, 3)
    agent._targets = nn.ModuleList([Fixed(alike, torch.tensor([4.0, 8.0])), Fixed(alike, torch.tensor([6.0, 2.0]))])
    batch = DenseBatch(torch.zeros(2, 1), MASKS)
    drawn = Transitions(
        batch,
        actions=torch.tensor([0, 0]),
        returns=torch.tensor([1.0, 1.0]),
        next_batch=batch,
        discounts=torch.tensor([0.5, 0.9]),
        weights=torch.ones(2),
        places=np.zeros(2, np.uint64),
    )
    entropy = -(0.25 * math.log(0.25) + 0.75 * math.log(0.75))
    expected = agent._expected(drawn, torch.tensor(0.2))
    assert expected.tolist() == pytest.approx([1 + 0.5 * (4 + 0.2 * entropy), 1 + 0.9 * 2], rel=1e-5)


def test_the_loss_of_the_policy() -> None:
    logits = torch.tensor([[0.0, math.log(3.0), 50.0], [0.0, 0.0, 0.0]], requires_grad=True)
    distribution = masked_distribution(logits, MASKS)
    values = torch.tensor([[1.0, 2.0, 99.0], [5.0, 99.0, 99.0]])
    loss = _sac()._policy_loss(distribution, values, torch.tensor(0.2))
    first = 0.25 * (0.2 * math.log(0.25) - 1) + 0.75 * (0.2 * math.log(0.75) - 2)
    assert loss.item() == pytest.approx((first - 5) / 2, rel=1e-5)
    loss.backward()  # type: ignore[no-untyped-call]
    assert logits.grad is not None
    # The second action is worth more; where one action is allowed, there is nothing to learn.
    assert logits.grad[0, 0] > 0 > logits.grad[0, 1]
    assert logits.grad[:, 2].tolist() == [0.0, 0.0]
    assert logits.grad[1].tolist() == pytest.approx([0.0, 0.0, 0.0], abs=1e-7)


@pytest.mark.parametrize(("entropy", "rises"), [(0.01, True), (0.6, False)])
def test_the_temperature_follows_the_entropy_that_is_wanted(entropy: float, rises: bool) -> None:
    agent = _sac(replace(OPTIONS, target_entropy=0.5))
    masks = torch.ones(4, 2, dtype=torch.bool)
    loss = agent._temperature_loss(torch.full((4,), entropy), masks)
    assert loss.item() == pytest.approx(0.1 * (entropy - 0.5 * math.log(2)), rel=1e-4)
    agent._step("temperature", loss, None)
    assert (agent._log_temperature.exp().item() > 0.1) == rises


def test_slower_critics_follow() -> None:
    agent = _sac()
    with torch.no_grad():
        for parameter in agent._critics.parameters():
            parameter.fill_(1.0)
        for parameter in agent._targets.parameters():
            parameter.fill_(0.0)
    agent._follow()
    assert all(torch.allclose(one, torch.tensor(0.005)) for one in agent._targets.parameters())


def test_critics_differ() -> None:
    one, other = (list(critic.parameters()) for critic in _sac()._critics)
    assert not torch.equal(one[0], other[0])


def test_a_temperature_can_stay_as_it_is() -> None:
    agent = _sac(replace(OPTIONS, temperature_rate=0.0, temperature=0.3))
    for _ in range(6):
        figures = agent.update()
    assert figures["temperature"] == pytest.approx(0.3)


def test_a_resumed_training_goes_on_as_if_nothing_had_happened() -> None:
    whole, first, second = _sac(), _sac(), _sac()
    for _ in range(6):
        whole.update()
    for _ in range(3):
        first.update()
    second.load_state(first.policy_tensors(), first.state(), "here")
    for _ in range(3):
        second.update()
    pairs = zip(whole.state().tensors.items(), second.state().tensors.items(), strict=True)
    assert all(name == other and np.array_equal(one, two) for (name, one), (other, two) in pairs)
    tensors = whole.policy_tensors()
    assert all(np.array_equal(value, tensors[name]) for name, value in second.policy_tensors().items())
