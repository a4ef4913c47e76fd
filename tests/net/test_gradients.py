"""The core's gradients of PPO's loss are those of PyTorch's autograd, and those of small differences."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from shunter.agents.algorithms import PpoOptions
from shunter.agents.common.masking import masked_distribution
from shunter.agents.networks import NetworkOptions
from shunter.agents.networks.base import Batch, Network
from shunter.agents.networks.residual import Residual, ResidualBatch
from shunter.agents.ppo import Ppo, Samples
from shunter.errors import InputError
from tests.net.pairs import INSTRUCTIONS, Pair, double_precision, evaluated, exact_copy, gradient, use
from tests.net.played import Observations, played

TOLERANCE = 1e-4
"""Of the largest gradient in a tensor of weights."""
COUNT = 150

LOSSES: dict[str, dict[str, Any]] = {
    "plain": {"clip": 0.2, "value_clip": None, "value_weight": 0.5, "entropy_weight": 0.01, "exploration": 0.0},
    "value clip": {"clip": 0.1, "value_clip": 0.2, "value_weight": 1.0, "entropy_weight": 0.0, "exploration": 0.0},
    "exploring": {"clip": 0.2, "value_clip": None, "value_weight": 0.5, "entropy_weight": 0.3, "exploration": 0.3},
    "everything": {"clip": 0.3, "value_clip": 0.1, "value_weight": 0.7, "entropy_weight": 0.05, "exploration": 0.02},
}
NETWORKS: list[tuple[str, str, dict[str, Any]]] = [
    ("kernel", "long-queues", {}),
    ("kernel", "own-features", {"hidden": (5, 3), "activation": "tanh", "order_temperature": 1.0}),
    ("kernel", "without-slots", {"hidden": (9, 6, 17)}),
    ("kernel", "blind", {"hidden": (7,)}),
    ("mlp", "long-queues", {}),
    ("mlp", "own-features", {"hidden": (5, 3, 9), "activation": "tanh"}),
    ("mlp", "twenty-hosts", {"hidden": (7,), "order_temperature": 4.0}),
    ("attention", "long-queues", {"hidden": (32, 64)}),
    ("attention", "own-features", {"hidden": (6, 5), "heads": 3, "blocks": 2, "activation": "tanh"}),
    ("attention", "without-slots", {"hidden": (6, 5), "heads": 2, "order_temperature": 4.0}),
    ("attention", "few-nodes", {"hidden": (10,), "heads": 2}),
    ("hosts", "twenty-hosts", {}),
    ("hosts", "fifty-hosts", {"hidden": (5, 3), "activation": "tanh", "order_temperature": 4.0}),
    ("hosts", "seven-hosts", {"hidden": (6, 17, 9, 5)}),
    ("hosts", "seven-hosts", {"hidden": (7,), "activation": "tanh"}),
]
IDS = ["-".join([kind, source, *map(str, more.values())]) for kind, source, more in NETWORKS]


@dataclass(frozen=True, eq=False)
class Steps:
    """Steps to learn from."""

    seen: Observations
    taken: NDArray[np.int32]
    numbers: NDArray[np.float32]
    """(samples, 4): old log-probability, advantage, return, old value."""


def _steps(network: Network, seen: Observations, exploration: float) -> Steps:
    """Returns steps of which some have moved beyond every clip, in both directions, and others have not."""
    random = np.random.default_rng(11)
    count = len(seen.masks)
    taken = (random.random(seen.masks.shape) * seen.masks).argmax(axis=1)
    with torch.inference_mode():
        logits, values = evaluated(network, seen)
        now = masked_distribution(logits, torch.from_numpy(seen.masks), exploration)
        log_probs = now.log_probs_of(torch.from_numpy(taken)).numpy()
    # Clear of the edges, where the gradient of one side would be as good as that of the other.
    moved = random.choice([-0.5, -0.05, 0.0, 0.05, 0.5], count) + random.uniform(-0.01, 0.01, count)
    off = random.choice([-0.6, -0.05, 0.0, 0.05, 0.6], count) + random.uniform(-0.01, 0.01, count)
    advantages, returns = random.normal(size=count), random.normal(size=count)
    numbers = np.stack([log_probs - moved, advantages, returns, values.numpy() - off], axis=1)
    return Steps(seen, taken.astype(np.int32), numbers.astype(np.float32))


def _packed(network: Network, seen: Observations) -> Batch:
    observations, masks = torch.from_numpy(seen.observations), torch.from_numpy(seen.masks)
    if isinstance(network, Residual):
        inner = network.inner.pack(observations.double(), masks)
        return ResidualBatch(inner, network.beginning(observations, masks).double())
    return network.pack(observations.double(), masks)


def _by_autograd(network: Network, steps: Steps, loss: dict[str, Any]) -> tuple[dict[str, Tensor], float]:
    """Returns the gradient of the loss that `Ppo` has, and the loss; in double precision."""
    options = PpoOptions(clip=loss["clip"], value_clip=loss["value_clip"], value_weight=loss["value_weight"])
    columns = torch.from_numpy(steps.numbers).double().unbind(dim=1)
    with double_precision():
        samples = Samples(_packed(network, steps.seen), torch.from_numpy(steps.taken).long(), *columns)
        # The loss needs nothing else of a training, which could not be had without environments.
        holder: Any = SimpleNamespace(_options=options, network=network)
        found, _ = Ppo._loss(holder, samples, loss["entropy_weight"], loss["exploration"])
        network.zero_grad()
        found.backward()  # type: ignore[no-untyped-call]
    zeros = {name: torch.zeros_like(weight) for name, weight in network.named_parameters()}
    grads = {name: weight.grad for name, weight in network.named_parameters() if weight.grad is not None}
    return zeros | grads, found.item()


def _native_loss(loss: dict[str, Any]) -> dict[str, float]:
    # The core takes a number below 0 for no limit.
    return loss | {"value_clip": -1.0 if loss["value_clip"] is None else loss["value_clip"]}


@pytest.mark.every(12)
@pytest.mark.parametrize("instructions", INSTRUCTIONS)
@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize(("kind", "source", "more"), NETWORKS, ids=IDS)
def test_gradients_are_those_of_autograd(
    kind: str, source: str, more: dict[str, Any], loss: dict[str, Any], instructions: str
) -> None:
    seen = played(source).of_choices().first(COUNT)
    pair = Pair.of(NetworkOptions(kind=kind, **more), seen.layout, seed=4)
    use(pair.native, instructions)
    network = exact_copy(pair.torch)
    steps = _steps(network, seen, loss["exploration"])
    expected, expected_loss = _by_autograd(network, steps, loss)
    found, found_loss = gradient(pair.native, seen, steps.taken, steps.numbers, _native_loss(loss))
    assert found_loss == pytest.approx(expected_loss, rel=TOLERANCE, abs=TOLERANCE)
    assert found.keys() == expected.keys()
    for name, by_autograd in expected.items():
        largest = float(by_autograd.abs().max()) if by_autograd.numel() else 0.0
        # Where rounding is all there is, as in a bias that no probability depends on, there is nothing to compare.
        np.testing.assert_allclose(
            found[name], by_autograd.numpy(), rtol=0, atol=TOLERANCE * largest + 1e-7, err_msg=name
        )


def test_the_steps_meet_every_branch_of_the_loss() -> None:
    seen = played("own-features").of_choices().first(COUNT)
    network = exact_copy(Pair.of(NetworkOptions(), seen.layout, seed=4).torch)
    steps = _steps(network, seen, 0.3)
    with torch.inference_mode():
        logits, values = evaluated(network, seen)
    now = masked_distribution(logits, torch.from_numpy(seen.masks), 0.3)
    log_probs = now.log_probs_of(torch.from_numpy(steps.taken).long())
    old, advantages, returns, old_values = steps.numbers.T
    ratio, better = np.exp(log_probs.numpy() - old), advantages > 0
    clip = LOSSES["everything"]["clip"]
    for moved in (ratio > 1 + clip, ratio < 1 - clip, np.abs(ratio - 1) < clip):
        assert (moved & better).any()
        assert (moved & ~better).any()
    limit = LOSSES["everything"]["value_clip"]
    change = values.numpy() - old_values
    clipped = np.square(old_values + change.clip(-limit, limit) - returns) > np.square(values.numpy() - returns)
    for far in (change > limit, change < -limit):
        assert (far & clipped).any()
        assert (far & ~clipped).any()


SMOOTH: list[tuple[str, str, dict[str, Any]]] = [
    ("kernel", "own-features", {"hidden": (9, 5)}),
    ("mlp", "few-nodes", {"hidden": (9, 5)}),
    ("attention", "own-features", {"hidden": (6, 5), "heads": 2, "blocks": 2}),
    ("hosts", "seven-hosts", {"hidden": (9, 5)}),
]
STEP = 0.02
"""How far weights are moved, along a direction of length 1; then half as far."""


@pytest.mark.every(4)
@pytest.mark.parametrize("exploration", [0.0, 0.2])
@pytest.mark.parametrize(("kind", "source", "more"), SMOOTH, ids=[kind for kind, _, _ in SMOOTH])
def test_gradients_are_the_slopes_of_the_core_s_own_loss(
    kind: str, source: str, more: dict[str, Any], exploration: float
) -> None:
    # Without corners: a difference across one has no slope to agree with.
    loss = {"clip": 100.0, "value_clip": -1.0, "value_weight": 0.5, "entropy_weight": 0.1, "exploration": exploration}
    seen = played(source).of_choices().first(60)
    pair = Pair.of(NetworkOptions(kind=kind, activation="tanh", **more), seen.layout, seed=6)
    steps = _steps(exact_copy(pair.torch), seen, exploration)
    weights, _ = pair.native.get()

    def loss_at(name: str, change: NDArray[np.float32]) -> float:
        pair.native.set(weights | {name: weights[name] + change})
        return gradient(pair.native, seen, steps.taken, steps.numbers, loss)[1]

    def central(name: str, direction: NDArray[np.float32], step: float) -> float:
        return (loss_at(name, step * direction) - loss_at(name, -step * direction)) / (2 * step)

    slopes, _ = gradient(pair.native, seen, steps.taken, steps.numbers, loss)
    compared = 0
    for name, slope in slopes.items():
        if not slope.size:
            continue
        steepest = np.zeros_like(slope)
        steepest.flat[np.abs(slope).argmax()] = 1.0
        along = slope / max(float(np.linalg.norm(slope)), 1e-12)
        for direction in (steepest, along):
            expected = float((slope * direction).sum())
            # Richardson's way from two steps to none: it takes out the loss's third derivative.
            found = (4 * central(name, direction, STEP / 2) - central(name, direction, STEP)) / 3
            # The loss is a mean of numbers of single precision near 1, so that it is true to about 1e-7, and a slope to
            # a hundred times that.
            assert found == pytest.approx(expected, rel=1e-3, abs=3e-5), name
            compared += abs(expected) > 1e-3
    # Else the tolerance would be all that was tested.
    assert compared > len(slopes)


def test_an_action_that_is_not_allowed_is_refused() -> None:
    seen = played("few-nodes").of_choices().first(5)
    pair = Pair.of(NetworkOptions(), seen.layout)
    taken = np.full(5, seen.layout.actions, np.int32)
    numbers = np.zeros((5, 4), np.float32)
    with pytest.raises(InputError, match="is not allowed"):
        gradient(pair.native, seen, taken, numbers, _native_loss(LOSSES["plain"]))
