"""A network that begins as an order: before it learns, it decides as the order does."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from shunter.agents.common.masking import greedy_actions, masked_distribution
from shunter.agents.networks import NetworkOptions, build
from shunter.agents.networks.residual import OrderResidual
from shunter.envs.layout import Layout
from tests.agents.observing import JOB_LAYOUT, random_jobs

GAP = JOB_LAYOUT.job_features.index("order_gap")
HELD = JOB_LAYOUT.job_features.index("held_back")


def _ordered_jobs(samples: int) -> tuple[Tensor, Tensor]:
    """Returns observations whose rows come in order, those held back last, as environments fill them."""
    observations, masks = random_jobs(samples)
    jobs = JOB_LAYOUT.split(observations)["jobs"]
    random = torch.Generator().manual_seed(4)
    present = jobs[..., 0]
    gaps = torch.rand(present.shape, generator=random).sort(dim=1, descending=True).values
    gaps[:, 0] = 1.0
    # Far behind the first, scores differ no more.
    gaps[gaps < 0.3] = 0.0
    jobs[..., GAP] = gaps * present
    held = torch.rand(samples, 1, generator=random) * (JOB_LAYOUT.window + 3)
    jobs[..., HELD] = (torch.arange(JOB_LAYOUT.window) >= held) * present
    return observations, masks


def _rule(observations: Tensor, masks: Tensor) -> list[int]:
    """Returns the first job that is allowed and not held back; else *wait*; else the first allowed."""
    held = JOB_LAYOUT.split(observations)["jobs"][..., HELD] > 0
    actions = []
    for allowed, kept in zip(masks.tolist(), held.tolist(), strict=True):
        rows = [row for row in range(JOB_LAYOUT.window) if allowed[row + 1]]
        eligible = [row for row in rows if not kept[row]]
        if eligible:
            actions.append(eligible[0] + 1)
        else:
            actions.append(0 if allowed[0] else rows[0] + 1)
    return actions


@pytest.mark.parametrize("kind", ["kernel", "mlp", "attention"])
@pytest.mark.parametrize("temperature", [0.1, 1.0, 10.0])
def test_at_first_it_decides_as_the_order_does(kind: str, temperature: float) -> None:
    observations, masks = _ordered_jobs(300)
    network = build(NetworkOptions(kind=kind, order_temperature=temperature), JOB_LAYOUT)
    expected = _rule(observations, masks)
    assert greedy_actions(network(observations, masks)[0], masks).tolist() == expected
    assert min(expected) == 0
    assert len(set(expected)) > 5


def test_logits_of_the_order() -> None:
    layout = Layout("pick-job", window=4, lookahead_size=1)
    observations = torch.zeros(1, layout.observation_size)
    jobs = layout.split(observations)["jobs"]
    jobs[0, :, GAP] = torch.tensor([1.0, 0.9, 0.5, 0.9])
    jobs[0, 3, HELD] = 1
    network = build(NetworkOptions(order_temperature=0.5), layout)
    assert isinstance(network, OrderResidual)
    logits, _ = network(observations, torch.ones(1, 5, dtype=torch.bool))
    assert logits[0].tolist() == pytest.approx([-5.0, 0.0, -0.8, -4.0, -10.0], abs=1e-6)
    colder = build(NetworkOptions(order_temperature=2.0), layout)
    assert colder(observations, torch.ones(1, 5, dtype=torch.bool))[0][0, 3].item() == pytest.approx(-12.0)
    # Distances count from the best that is allowed, so that *wait* is as unlikely when the first may not be chosen.
    behind, _ = network(observations, torch.tensor([[True, False, True, True, True]]))
    assert behind[0, [0, 2, 3, 4]].tolist() == pytest.approx([-5.0, 0.0, -3.2, -10.0], abs=1e-6)


def test_it_can_learn_to_depart_from_the_order() -> None:
    observations, masks = _ordered_jobs(50)
    network = build(NetworkOptions(order_temperature=1.0), JOB_LAYOUT)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.05)
    several = masks.sum(dim=1) > 1
    last = JOB_LAYOUT.window - masks.flip(1).int().argmax(dim=1)
    for _ in range(60):
        optimizer.zero_grad()
        (-masked_distribution(network(observations, masks)[0], masks).log_probs_of(last).mean()).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    learned = greedy_actions(network(observations, masks)[0], masks)[several]
    departed = (learned != torch.tensor(_rule(observations, masks))[several]).float().mean()
    assert departed > 0.3
