"""What all networks share: how they are called, how batches are cut, how weights begin."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import torch
from torch import Tensor, nn


class Batch(Protocol):
    """Observations in the form in which a network reads them; made once, cut into minibatches many times."""

    @property
    def masks(self) -> Tensor:
        """(samples, actions): True where an action is allowed."""
        ...

    def select(self, indices: Tensor) -> Batch:
        """Returns the batch of some of the samples, in the order given."""
        ...


@dataclass(frozen=True)
class DenseBatch:
    """Observations as they are."""

    observations: Tensor
    """(samples, observation size)."""
    masks: Tensor
    """(samples, actions)."""

    def select(self, indices: Tensor) -> DenseBatch:
        """Returns the batch of some of the samples, in the order given."""
        return DenseBatch(self.observations.index_select(0, indices), self.masks.index_select(0, indices))


class Network(nn.Module):
    """Scores every action of an observation, and says what the observation is worth."""

    def pack(self, observations: Tensor, masks: Tensor) -> Batch:
        """Returns observations (samples, size) and masks (samples, actions) in the form that `evaluate` reads."""
        return DenseBatch(observations, masks)

    def evaluate(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Returns logits (samples, actions) and values (samples,); the logits of forbidden actions mean nothing."""
        raise NotImplementedError

    def forward(self, observations: Tensor, masks: Tensor) -> tuple[Tensor, Tensor]:
        """Returns logits (samples, actions) and values (samples,); the logits of forbidden actions mean nothing."""
        return self.evaluate(self.pack(observations, masks))

    def policy_layers(self) -> tuple[nn.Linear, ...]:
        """Returns the last layers of the policy: at zero, all actions are alike."""
        raise NotImplementedError

    def value_layer(self) -> nn.Linear:
        """Returns the last layer of the value."""
        raise NotImplementedError


def activation(name: str) -> nn.Module:
    """Returns the function between two layers."""
    return nn.ReLU() if name == "relu" else nn.Tanh()


def tower(sizes: list[int], function: str) -> nn.Sequential:
    """Returns layers from one size to the next, each followed by the activation."""
    layers: list[nn.Module] = []
    for size, following in pairwise(sizes):
        layers += [nn.Linear(size, following), activation(function)]
    return nn.Sequential(*layers)


def initialize(network: Network, seed: int) -> None:
    """Gives all layers orthogonal weights: the same for the same seed.

    The last layers of the policy begin near zero, so that a young policy prefers nothing.
    """
    generator = torch.Generator().manual_seed(seed)
    gains = dict.fromkeys(network.policy_layers(), 0.01) | {network.value_layer(): 1.0}
    for module in network.modules():
        if isinstance(module, nn.Linear):
            nn.init.orthogonal_(module.weight, gains.get(module, math.sqrt(2)), generator=generator)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
