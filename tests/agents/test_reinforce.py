"""REINFORCE: returns of whole episodes, baselines, one gradient step, and resuming."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from shunter.agents.algorithms import ReinforceOptions
from shunter.agents.networks import NetworkOptions, build
from shunter.agents.reinforce import Episodes, Reinforce
from tests.agents import toy

OPTIONS = ReinforceOptions(num_envs=8, gamma=0.5)


def _agent(options: ReinforceOptions = OPTIONS) -> Reinforce:
    environments = toy.Toy(options.num_envs, seed=1)
    return Reinforce(environments, build(NetworkOptions(), toy.LAYOUT, seed=2), options, steps=10_000, seed=3)


def _episodes() -> Episodes:
    """Two environments, three steps; the second one's episode is over after two."""
    rewards = np.array([[1.0, 10.0], [2.0, 20.0], [4.0, 99.0]])
    alive = np.array([[True, True], [True, True], [True, False]])
    seen = np.zeros((3, 2, 1), np.float32)
    return Episodes(seen, np.ones((3, 2, 2), np.bool_), np.zeros((3, 2), np.int32), rewards, alive, {})


def test_returns_end_with_the_episode() -> None:
    assert _episodes().returns(0.5).tolist() == [[1 + 1 + 1, 10 + 10], [2 + 2, 20], [4, 0]]


def test_every_environment_plays_one_episode() -> None:
    agent = _agent()
    episodes = agent._play()
    assert episodes.rewards.shape == (toy.JOBS, 8)
    assert episodes.alive.all()
    assert episodes.figures["episodes"] == 8
    assert agent.update()["episodes"] == 8
    assert agent.steps == 8 * toy.JOBS


def test_baselines() -> None:
    episodes = _episodes()
    returns = episodes.returns(0.5)
    targets = torch.zeros(5)
    assert _agent()._baselines(returns, episodes.alive, targets) is None
    none = _agent(replace(OPTIONS, baseline="none"))._baselines(returns, episodes.alive, targets)
    assert none is not None
    assert none.tolist() == [0.0] * 5
    # Before the first update returns are in the units of the reward. At the third step one environment is left.
    mean = _agent(replace(OPTIONS, baseline="mean"))._baselines(returns, episodes.alive, targets)
    assert mean is not None
    assert mean.tolist() == [11.5, 11.5, 12.0, 12.0, 4.0]


@pytest.mark.parametrize("baseline", ["none", "mean"])
def test_the_value_is_learned_only_where_it_is_the_baseline(baseline: str) -> None:
    agent, other = _agent(replace(OPTIONS, baseline=baseline)), _agent()
    for one in (agent, other):
        one.update()
    fresh = build(NetworkOptions(), toy.LAYOUT, seed=2).value_layer().weight
    assert torch.equal(agent.network.value_layer().weight, fresh)
    assert not torch.equal(other.network.value_layer().weight, fresh)


def test_the_size_of_minibatches_changes_nothing() -> None:
    one, other = _agent(), _agent(replace(OPTIONS, minibatch=5))
    for agent in (one, other):
        agent.update()
    pairs = zip(one.network.parameters(), other.network.parameters(), strict=True)
    assert all(torch.allclose(first, second, rtol=1e-4, atol=1e-6) for first, second in pairs)


def test_a_resumed_training_goes_on_as_if_nothing_had_happened() -> None:
    whole, first, second = _agent(), _agent(), _agent()
    for _ in range(6):
        whole.update()
    for _ in range(3):
        first.update()
    second.load_state(first.policy_tensors(), first.state(), "here")
    for _ in range(3):
        second.update()
    assert second.steps == whole.steps
    for one, other in (
        (whole.policy_tensors(), second.policy_tensors()),
        (whole.state().tensors, second.state().tensors),
    ):
        assert all(np.array_equal(value, other[name]) for name, value in one.items())
