"""Values of about the same size, whatever the reward."""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor, nn

SMALLEST: Final = 1e-4
"""The least standard deviation: rewards that hardly differ are not blown up."""


class ValueNormalizer(nn.Module):
    """The mean and variance of all returns so far. Networks learn values in these units.

    Before the first `update` it changes nothing.
    """

    count: Tensor
    mean: Tensor
    variance: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros((), dtype=torch.float64))
        self.register_buffer("mean", torch.zeros((), dtype=torch.float64))
        self.register_buffer("variance", torch.ones((), dtype=torch.float64))

    def update(self, returns: Tensor) -> None:
        """Takes in more returns."""
        # In double precision: over millions of returns the sums of single precision stop growing.
        fresh = returns.double()
        count = self.count + fresh.numel()
        # The pairwise update of Chan, Golub and LeVeque: exact whatever the sizes of the two parts.
        shift = fresh.mean() - self.mean
        squares = self.variance * self.count + fresh.var(correction=0) * fresh.numel()
        self.variance.copy_((squares + shift**2 * self.count * fresh.numel() / count) / count)
        self.mean.add_(shift * fresh.numel() / count)
        self.count.copy_(count)

    def normalize(self, returns: Tensor) -> Tensor:
        """Returns how many standard deviations from the mean each is."""
        return ((returns - self.mean) / self._deviation).float()

    def denormalize(self, values: Tensor) -> Tensor:
        """Returns values in the units of the reward."""
        return (values * self._deviation + self.mean).float()

    @property
    def _deviation(self) -> Tensor:
        return self.variance.sqrt().clamp_min(SMALLEST)
