"""A network that says what it was told to say."""

from __future__ import annotations

import torch
from torch import Tensor

from shunter.agents.networks.base import Batch, Network


class Fixed(Network):
    """Has its logits and values as parameters, whatever it sees."""

    def __init__(self, logits: Tensor, values: Tensor) -> None:
        super().__init__()
        self.logits, self.values = torch.nn.Parameter(logits), torch.nn.Parameter(values)

    def evaluate(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Returns them."""
        return self.logits, self.values
