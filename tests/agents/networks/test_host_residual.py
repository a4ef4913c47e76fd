"""A network that begins as best-fit: before it learns, it decides as the placement does."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from shunter.agents.common.masking import greedy_actions, masked_distribution
from shunter.agents.learned_policy import LearnedPolicy
from shunter.agents.networks import NetworkOptions, build
from shunter.agents.networks.residual import HostResidual
from shunter.agents.training.checkpoint_files import PolicyRecord
from shunter.envs.layout import Layout
from shunter.envs.pick_host import PickHostOptions, host_scheduler
from tests.agents.observing import HOST_LAYOUT, random_hosts
from tests.agents.trying import host_trials

METRICS = ("mean_wait_s", "makespan_s", "core_utilization")


@pytest.mark.parametrize(("kind", "temperature"), [("hosts", 1.0), ("mlp", 50.0)])
def test_at_first_it_plays_as_best_fit_does(kind: str, temperature: float) -> None:
    options = PickHostOptions(num_hosts=12, host_cores=(8, 16), max_jobs_per_step=13, episode_length=30)
    network = NetworkOptions(kind=kind, order_temperature=temperature)
    policy = LearnedPolicy(build(network, options.layout), PolicyRecord(options.layout, options, network, {}))
    trials = host_trials(options, episodes=3)
    (learned,) = trials.of_policy(policy, METRICS)
    (native,) = trials.of_schedulers([host_scheduler("best-fit")], METRICS)
    (other,) = trials.of_schedulers([host_scheduler("first-fit")], METRICS)
    trials.close()
    for name in METRICS:
        np.testing.assert_allclose(learned[name], native[name], rtol=1e-12, err_msg=name)
    assert not np.allclose(native["mean_wait_s"], other["mean_wait_s"])


def test_cores_come_first_then_memory_then_the_number() -> None:
    layout = Layout("pick-host", num_hosts=5)
    observations = torch.zeros(1, layout.observation_size)
    parts = layout.split(observations)
    # 6, 3, 3, 3 and 2 of 24 cores are free. The third and fourth host have the same free memory, the second more.
    parts["hosts"][0] = torch.tensor(
        [[0.75, 0, 1, 1], [0.75, 0.25, 0.5, 1], [0.875, 0.5, 1, 1], [0.75, 0, 0.5, 0.5], [11 / 12, 0, 1, 1]]
    )
    network = build(NetworkOptions(kind="hosts", order_temperature=24.0), layout)
    assert isinstance(network, HostResidual)
    masks = torch.ones(1, 5, dtype=torch.bool)
    order = []
    while masks.any():
        order.append(int(greedy_actions(network(observations, masks)[0], masks)))
        masks[0, order[-1]] = False
    assert order == [4, 2, 3, 1, 0]
    logits, _ = network(observations, torch.ones(1, 5, dtype=torch.bool))
    # One core of 24 counts as one at the temperature 24.
    assert logits[0].tolist() == pytest.approx([-4, -1, -1, -1, 0], abs=0.03)


@pytest.mark.parametrize("order", [1, -1])
def test_rounding_does_not_tell_hosts_apart_that_have_the_same_room(order: int) -> None:
    layout = Layout("pick-host", num_hosts=16)
    observations = torch.zeros(1, layout.observation_size)
    cores = torch.arange(16, 32)
    cores = cores if order > 0 else cores.flip(0)
    hosts = layout.split(observations)["hosts"]
    hosts[0, :, 0], hosts[0, :, 2], hosts[0, :, 3] = (cores - 3) / cores, cores / 31, 1.0
    network = build(NetworkOptions(kind="hosts", order_temperature=24.0), layout)
    masks = torch.ones(1, 16, dtype=torch.bool)
    assert int(greedy_actions(network(observations, masks)[0], masks)) == 0


def test_it_can_learn_to_depart_from_best_fit() -> None:
    observations, masks = random_hosts(50)
    network = build(NetworkOptions(kind="hosts", order_temperature=4.0), HOST_LAYOUT)
    before = greedy_actions(network(observations, masks)[0], masks)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.02)
    room = HOST_LAYOUT.split(observations)["hosts"][..., 3]
    largest = torch.where(masks, room, -1.0).argmax(dim=1)
    for _ in range(60):
        optimizer.zero_grad()
        (-masked_distribution(network(observations, masks)[0], masks).log_probs_of(largest).mean()).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    learned = greedy_actions(network(observations, masks)[0], masks)
    assert (learned == largest).float().mean() > (before == largest).float().mean() + 0.2
