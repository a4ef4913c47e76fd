"""A network that begins as something that decides already, and learns where to depart from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from torch import Tensor, nn

from shunter.agents.networks.base import Network

if TYPE_CHECKING:
    from shunter.agents.networks.base import Batch


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

    def __init__(self, inner: Network) -> None:
        super().__init__()
        self.inner = inner
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
        return logits + residual.beginning, values

    def policy_layers(self) -> tuple[nn.Linear, ...]:
        """Returns the inner network's."""
        return self.inner.policy_layers()

    def value_layer(self) -> nn.Linear:
        """Returns the inner network's."""
        return self.inner.value_layer()
