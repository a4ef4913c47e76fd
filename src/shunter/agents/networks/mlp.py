"""A plain network on the flat observation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch.nn.functional as functional
from torch import Tensor, nn

from shunter.agents.networks.base import CroppedNetwork, activation, tower

if TYPE_CHECKING:
    from shunter.agents.networks import NetworkOptions
    from shunter.envs.layout import Layout


class Mlp(CroppedNetwork):
    """Two towers, for the policy and for the value, whose first layers are one multiplication."""

    takes_heads = True

    def __init__(self, layout: Layout, options: NetworkOptions) -> None:
        super().__init__(layout)
        hidden, function = options.layers_hidden, options.activation
        self.first = nn.Linear(layout.observation_size, 2 * hidden[0])
        self.activation = activation(function)
        self.policy_tower = tower([*hidden], function)
        self.value_tower = tower([*hidden], function)
        self.logits = nn.Linear(hidden[-1], layout.actions)
        self.value = nn.Linear(hidden[-1], 1)

    def evaluate_cropped(self, observations: Tensor, rows: int) -> tuple[Tensor, Tensor]:
        """Returns logits and values; what is zero would add nothing, so its weights are left out as well."""
        weight = self.first.weight[:, : observations.shape[1]]
        hidden = self.activation(functional.linear(observations, weight, self.first.bias))
        policy, value = hidden.chunk(2, dim=1)
        logits = self.logits(self.policy_tower(policy))
        if self.heads > 1:
            logits = logits.view(len(logits), -1, self.heads)
        return logits, self.value(self.value_tower(value)).squeeze(1)

    def policy_layers(self) -> tuple[nn.Linear, ...]:
        """Returns the policy's last layer."""
        return (self.logits,)

    def value_layer(self) -> nn.Linear:
        """Returns the value's last layer."""
        return self.value
