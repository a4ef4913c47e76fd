"""A network that begins as something that decides already, and learns where to depart from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

import torch
from torch import Tensor, nn

from shunter.agents.networks.base import Network
from shunter.agents.networks.hosts import free_parts, split_hosts

if TYPE_CHECKING:
    from shunter.agents.networks.base import Batch
    from shunter.envs.layout import Layout

LARGEST_GAP: Final = 16.0
"""The distance of scores at which the feature ``order_gap`` ends."""
LEAST_ELIGIBLE: Final = -12.0
"""The least logit of a job that the order would let run; so low that even a long queue of them is hardly ever drawn
from."""
WAIT: Final = -5.0
"""The logit of *wait*: behind the best job, near enough to be tried now and then."""
HELD_BACK: Final = -10.0
"""The logit of a job that the order holds back: behind *wait*."""
GRID: Final = 2.0**14
"""Free cores are rounded to this part of the largest host's, so that hosts that have the same are the same."""
MEMORY: Final = 2.0**-10
"""Free memory decides between hosts with the same free cores, and weighs less than one core does."""


@dataclass(frozen=True)
class ResidualBatch:
    """What the inner network reads, and what it begins as says."""

    inner: Batch
    beginning: Tensor
    """(samples, actions): logits."""

    @property
    def masks(self) -> Tensor:
        """(samples, actions): True where an action is allowed."""
        return self.inner.masks

    def select(self, indices: Tensor) -> ResidualBatch:
        """Returns the batch of some of the samples, in the order given."""
        return ResidualBatch(self.inner.select(indices), self.beginning.index_select(0, indices))


class Residual(Network):
    """Adds what a network says to the logits of its beginning.

    The network's last policy layers start at zero: before the first step the best action is the beginning's.
    """

    def __init__(self, inner: Network, layout: Layout, temperature: float) -> None:
        super().__init__()
        self.inner = inner
        self._layout = layout
        self._temperature = temperature
        # Weights and biases: then the network adds exactly nothing at first.
        for layer in inner.policy_layers():
            for parameter in layer.parameters():
                nn.init.zeros_(parameter)

    def beginning(self, observations: Tensor, masks: Tensor) -> Tensor:
        """Returns what the beginning alone says of each action."""
        raise NotImplementedError

    def pack(self, observations: Tensor, masks: Tensor) -> ResidualBatch:
        """Returns what the inner network reads, and what the beginning says."""
        return ResidualBatch(self.inner.pack(observations, masks), self.beginning(observations, masks))

    def evaluate(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Returns logits and values."""
        residual = cast("ResidualBatch", batch)
        logits, values = self.inner.evaluate(residual.inner)
        beginning = residual.beginning if self.inner.heads == 1 else residual.beginning.unsqueeze(2)
        return logits + beginning, values

    def policy_layers(self) -> tuple[nn.Linear, ...]:
        """Returns the inner network's."""
        return self.inner.policy_layers()

    def value_layer(self) -> nn.Linear:
        """Returns the inner network's."""
        return self.inner.value_layer()


class OrderResidual(Residual):
    """Begins with the first job in the order that is allowed and not held back."""

    def __init__(self, inner: Network, layout: Layout, temperature: float) -> None:
        super().__init__(inner, layout, temperature)
        self._gap = layout.job_features.index("order_gap")
        self._held_back = layout.job_features.index("held_back")

    def beginning(self, observations: Tensor, masks: Tensor) -> Tensor:
        """Returns what the order alone says of each action; the best of those allowed has 0."""
        jobs = self._layout.split(observations)["jobs"]
        held_back = jobs[..., self._held_back] > 0
        gap = jobs[..., self._gap]
        # Distances are measured from the best job that may be chosen now, which need not be the first in the order.
        nearest = torch.where(masks[:, 1:] & ~held_back, gap, 0.0).amax(dim=1, keepdim=True)
        eligible = (self._temperature * LARGEST_GAP * (gap - nearest)).clamp_min(LEAST_ELIGIBLE)
        order = torch.where(held_back, HELD_BACK, eligible)
        return torch.cat([torch.full_like(order[:, :1], WAIT), order], dim=1)


class HostResidual(Residual):
    """Begins with the host that has the fewest free cores, of these the least free memory, of these the first."""

    def beginning(self, observations: Tensor, masks: Tensor) -> Tensor:
        """Returns what best-fit alone says of each host; the best of those allowed has about 0."""
        cores, memory = free_parts(split_hosts(observations)[0]).unbind(dim=2)
        cores = (cores * GRID).round() / GRID
        least = torch.where(masks, cores, torch.inf).amin(dim=1, keepdim=True)
        return -self._temperature * (cores - least + MEMORY * memory)
