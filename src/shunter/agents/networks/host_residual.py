"""A network that begins as the placement best-fit and learns where to depart from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import torch
from torch import Tensor, nn

from shunter.agents.networks.base import Network
from shunter.agents.networks.hosts import free_parts, split_hosts
from shunter.agents.networks.residual import ResidualBatch

if TYPE_CHECKING:
    from shunter.agents.networks.base import Batch

GRID: Final = 2.0**14
"""Free cores are rounded to this part of the largest host's, so that hosts that have the same are the same."""
MEMORY: Final = 2.0**-10
"""Free memory decides between hosts with the same free cores, and weighs less than one core does."""


class HostResidual(Network):
    """Adds what a network says to logits that prefer the host with the least room.

    The network's last policy layers start at zero: before the first step the best action is that of best-fit, the host
    with the fewest free cores, of these the one with the least free memory, of these the first.
    """

    def __init__(self, inner: Network, temperature: float) -> None:
        super().__init__()
        self.inner = inner
        self._temperature = temperature
        for layer in inner.policy_layers():
            for parameter in layer.parameters():
                nn.init.zeros_(parameter)

    def pack(self, observations: Tensor, masks: Tensor) -> ResidualBatch:
        """Returns what the inner network reads, and what best-fit says."""
        return ResidualBatch(self.inner.pack(observations, masks), self.placement_logits(observations, masks))

    def evaluate(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Returns logits and values."""
        residual = cast("ResidualBatch", batch)
        logits, values = self.inner.evaluate(residual.inner)
        return logits + residual.order, values

    def placement_logits(self, observations: Tensor, masks: Tensor) -> Tensor:
        """Returns what best-fit alone says of each host; the best of those allowed has about 0."""
        cores, memory = free_parts(split_hosts(observations)[0]).unbind(dim=2)
        cores = (cores * GRID).round() / GRID
        least = torch.where(masks, cores, torch.inf).amin(dim=1, keepdim=True)
        return -self._temperature * (cores - least + MEMORY * memory)

    def policy_layers(self) -> tuple[nn.Linear, ...]:
        """Returns the inner network's."""
        return self.inner.policy_layers()

    def value_layer(self) -> nn.Linear:
        """Returns the inner network's."""
        return self.inner.value_layer()
