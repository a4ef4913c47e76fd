"""Deep Q-learning: targets, losses and the slower network by hand; parts that can be switched off; resuming."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from shunter.agents.algorithms import D3qnOptions
from shunter.agents.common.experience import Transitions
from shunter.agents.d3qn import D3qn, quantile_loss
from shunter.agents.networks import NetworkOptions, build
from shunter.agents.networks.base import DenseBatch
from shunter.agents.networks.heads import head_layers
from tests.agents import toy
from tests.agents.fixed import Fixed

OPTIONS = D3qnOptions(num_envs=8, rollout_steps=8, learn_after=32, minibatch=16, replay_size=400, target_every=5)


def _d3qn(options: D3qnOptions = OPTIONS, kind: str = "kernel") -> D3qn:
    environments = toy.Toy(options.num_envs, seed=1)
    return D3qn(environments, build(NetworkOptions(kind=kind), toy.LAYOUT, seed=2), options, steps=10_000, seed=3)


def _drawn() -> Transitions:
    """Two transitions: one that goes on, and one whose episode has ended."""
    batch = DenseBatch(torch.zeros(2, 1), torch.tensor([[True, True, False], [True, True, True]]))
    return Transitions(
        batch,
        actions=torch.tensor([0, 2]),
        returns=torch.tensor([1.0, -2.0]),
        next_batch=batch,
        discounts=torch.tensor([0.5, 0.0]),
        weights=torch.ones(2),
        places=np.zeros(2, np.uint64),
    )


# Without dueling: values are scores. The third action is the best to both, but the first sample forbids it.
CHOOSES = torch.tensor([[1.0, 3.0, 9.0], [0.0, 0.0, 0.0]])
JUDGES = torch.tensor([[7.0, 4.0, 99.0], [5.0, 5.0, 5.0]])


@pytest.mark.parametrize(("double", "following"), [(True, 4.0), (False, 7.0)])
def test_what_actions_turned_out_to_be_worth(double: bool, following: float) -> None:
    agent = _d3qn(replace(OPTIONS, dueling=False, double=double))
    agent._online, agent._target = Fixed(CHOOSES, torch.zeros(2)), Fixed(JUDGES, torch.zeros(2))
    # Double: the network that learns takes the second action, which the slower one finds worth 4.
    assert agent._targets(_drawn()).squeeze(1).tolist() == [1.0 + 0.5 * following, -2.0]


def test_the_quantile_loss_by_hand() -> None:
    expected = torch.tensor([[0.0, 2.0]], requires_grad=True)
    targets = torch.tensor([[1.0, 3.0]])
    # Errors, target by quantile: 1 and −1; 3 and 1. Huber: 0.5, 0.5, 2.5, 0.5. Quantiles 0.25 and 0.75: what is too low
    # weighs as the quantile, what is too high as the rest.
    by_hand = (0.25 * 0.5 + 0.25 * 2.5) / 2 + (0.25 * 0.5 + 0.75 * 0.5) / 2
    loss = quantile_loss(expected, targets, torch.tensor([0.25, 0.75]))
    assert loss.tolist() == pytest.approx([by_hand])
    loss.sum().backward()  # type: ignore[no-untyped-call]
    # The first quantile is too low for both targets; of the second, one pulls down by 0.25 and one up by 0.75.
    assert expected.grad is not None
    assert expected.grad.tolist()[0] == pytest.approx([-0.25, (0.25 - 0.75) / 2])


def test_quantiles_are_learned() -> None:
    """A distribution that is known, wide beside what counts as a small error: steps find its own quantiles."""
    generator = torch.Generator().manual_seed(0)
    quantiles = (torch.arange(8) + 0.5) / 8
    expected = torch.zeros(1, 8, requires_grad=True)
    optimizer = torch.optim.Adam([expected], lr=1.0)
    for step in range(3000):
        targets = 100 * torch.rand(1, 64, generator=generator)
        optimizer.param_groups[0]["lr"] = 1 - step / 3000
        optimizer.zero_grad()
        quantile_loss(expected, targets, quantiles).sum().backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    assert expected.detach()[0].tolist() == pytest.approx((100 * quantiles).tolist(), abs=1.5)


def test_the_slower_network_catches_up_now_and_then() -> None:
    agent = _d3qn()

    def apart() -> float:
        pairs = zip(agent._online.parameters(), agent._target.parameters(), strict=True)
        return float(sum((one - other).detach().abs().sum() for one, other in pairs))

    while not agent._experience.is_enough:
        agent._experience.play(lambda seen, masks: agent._act(seen, masks, 1.0))
    seen = []
    for _ in range(2 * OPTIONS.target_every):
        agent._learn(0.4)
        seen.append(apart() == 0)
    assert seen == [step % OPTIONS.target_every == 0 for step in range(1, 2 * OPTIONS.target_every + 1)]


def test_exploring_falls_and_noise_does_without_it() -> None:
    exploration = OPTIONS.schedules(1000)["exploration"]
    assert [round(exploration.at(step), 3) for step in (0, 150, 300, 1000)] == [1.0, 0.51, 0.02, 0.02]
    noisy = D3qnOptions(noisy=True).schedules(1000)
    assert [noisy["exploration"].at(step) for step in (0, 1000)] == [0.0, 0.0]
    assert [noisy["importance_exponent"].at(step) for step in (0, 1000)] == [0.4, 1.0]


def test_rainbow_switches_on_what_is_not_switched_off() -> None:
    chosen = {
        (rainbow, noisy): (options.is_distributional, options.is_noisy)
        for rainbow in (False, True)
        for noisy in (None, False, True)
        for options in [D3qnOptions(rainbow=rainbow, noisy=noisy)]
    }
    assert chosen == {
        (False, None): (False, False),
        (False, False): (False, False),
        (False, True): (False, True),
        (True, None): (True, True),
        (True, False): (True, False),
        (True, True): (True, True),
    }


@pytest.mark.parametrize(
    "options", [OPTIONS, replace(OPTIONS, rainbow=True), replace(OPTIONS, prioritized=False, dueling=False)]
)
def test_a_resumed_training_goes_on_as_if_nothing_had_happened(options: D3qnOptions) -> None:
    whole, first, second = _d3qn(options), _d3qn(options), _d3qn(options)
    for _ in range(6):
        whole.update()
    for _ in range(3):
        first.update()
    second.load_state(first.policy_tensors(), first.state(), "here")
    for _ in range(3):
        second.update()
    assert second.steps == whole.steps
    pairs = zip(whole.state().tensors.items(), second.state().tensors.items(), strict=True)
    assert all(name == other and np.array_equal(one, two) for (name, one), (other, two) in pairs)
    tensors = whole.policy_tensors()
    assert all(np.array_equal(value, tensors[name]) for name, value in second.policy_tensors().items())


def test_it_decides_by_a_plain_network() -> None:
    agent = _d3qn(replace(OPTIONS, rainbow=True))
    for _ in range(6):
        agent.update()
    observations = torch.rand(5, toy.LAYOUT.observation_size)
    masks = torch.ones(5, toy.LAYOUT.actions, dtype=torch.bool)
    for _, layer in head_layers(agent._online):
        layer.quiet()
    values = agent._values(agent._online, agent._online.pack(observations, masks)).mean(dim=2)
    plain = build(NetworkOptions(), toy.LAYOUT)
    plain.load_state_dict(agent.network.state_dict())
    assert torch.equal(plain(observations, masks)[0].argmax(dim=1), values.argmax(dim=1))


def test_figures_tell_of_values_and_of_play() -> None:
    agent = _d3qn()
    agent.update()
    figures = agent.update()
    assert {"loss", "td_error", "q_value", "gradient_norm", "replay", "exploration", "return"} <= figures.keys()
    assert figures["replay"] > OPTIONS.learn_after
    assert figures["invalid_share"] == 0
