"""A network that begins as the order by which the window is sorted, and learns where to depart from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch
from torch import Tensor

from shunter.agents.networks.residual import Residual

if TYPE_CHECKING:
    from shunter.agents.networks.base import Network
    from shunter.envs.layout import Layout

LARGEST_GAP: Final = 16.0
"""The distance of scores at which the feature ``order_gap`` ends."""
LEAST_ELIGIBLE: Final = -12.0
"""No job that the order would let run falls below this; so low that a long queue of them is hardly ever drawn from."""
WAIT: Final = -5.0
"""*wait* comes behind the best of them, near enough to be tried now and then,"""
HELD_BACK: Final = -10.0
"""and what the order holds back comes behind *wait*."""


class OrderResidual(Residual):
    """Begins with the first job in the order that is allowed and not held back."""

    def __init__(self, inner: Network, layout: Layout, temperature: float) -> None:
        super().__init__(inner)
        self._layout = layout
        self._temperature = temperature
        self._gap = layout.job_features.index("order_gap")
        self._held_back = layout.job_features.index("held_back")

    def beginning(self, observations: Tensor, masks: Tensor) -> Tensor:
        """Returns what the order alone says of each action; the best of those allowed has 0."""
        jobs = self._layout.split(observations)["jobs"]
        held_back = jobs[..., self._held_back] > 0
        gap = jobs[..., self._gap]
        nearest = torch.where(masks[:, 1:] & ~held_back, gap, 0.0).amax(dim=1, keepdim=True)
        eligible = (self._temperature * LARGEST_GAP * (gap - nearest)).clamp_min(LEAST_ELIGIBLE)
        order = torch.where(held_back, HELD_BACK, eligible)
        return torch.cat([torch.full_like(order[:, :1], WAIT), order], dim=1)
