"""A network that begins as the placement best-fit, and learns where to depart from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch
from torch import Tensor

from shunter.agents.networks.hosts import free_parts, split_hosts
from shunter.agents.networks.residual import Residual

if TYPE_CHECKING:
    from shunter.agents.networks.base import Network

GRID: Final = 2.0**14
"""Free cores are rounded to this part of the largest host's, so that hosts that have the same are the same."""
MEMORY: Final = 2.0**-10
"""Free memory decides between hosts with the same free cores, and weighs less than one core does."""


class HostResidual(Residual):
    """Begins with the host that has the fewest free cores, of these the least free memory, of these the first."""

    def __init__(self, inner: Network, temperature: float) -> None:
        super().__init__(inner)
        self._temperature = temperature

    def beginning(self, observations: Tensor, masks: Tensor) -> Tensor:
        """Returns what best-fit alone says of each host; the best of those allowed has about 0."""
        cores, memory = free_parts(split_hosts(observations)[0]).unbind(dim=2)
        cores = (cores * GRID).round() / GRID
        least = torch.where(masks, cores, torch.inf).amin(dim=1, keepdim=True)
        return -self._temperature * (cores - least + MEMORY * memory)
