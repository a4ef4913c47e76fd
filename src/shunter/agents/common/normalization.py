"""Values of about the same size, whatever the reward."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import torch
from torch import Tensor, nn

from shunter.agents.training.checkpoint_files import NORMALIZER

if TYPE_CHECKING:
    from shunter.agents.training.checkpoint_files import Tensors

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

    @property
    def deviation(self) -> float:
        """The standard deviation, never less than `SMALLEST`."""
        return float(self._deviation)


class RewardScale:
    """By how much rewards are divided, so that returns differ by about 1 whatever the reward.

    It follows the discounted sum of the rewards that each environment has had so far in its episode.
    """

    def __init__(self, num_envs: int, gamma: float) -> None:
        self._gamma = gamma
        self._sums = torch.zeros(num_envs, dtype=torch.float64)
        self.seen = ValueNormalizer()

    def observe(self, rewards: Tensor, ended: Tensor) -> None:
        """Takes in the rewards of one step; where `ended`, an episode was over with it."""
        self._sums = self._sums * self._gamma + rewards
        self.seen.update(self._sums)
        self._sums[ended] = 0.0

    @property
    def deviation(self) -> float:
        """What rewards are to be divided by."""
        return self.seen.deviation

    def state(self) -> dict[str, Tensor]:
        """Returns what it has seen."""
        return {"sums": self._sums.clone(), **{name: value.clone() for name, value in self.seen.state_dict().items()}}

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Goes back to what it had seen."""
        self._sums = state["sums"].clone()
        self.seen.load_state_dict({name: state[name] for name in self.seen.state_dict()})


def units_of_scale(deviation: float) -> Tensors:
    """Returns what a checkpoint says of values that were learned in so large units."""
    numbers = {"count": 1.0, "mean": 0.0, "variance": deviation**2}
    return {f"{NORMALIZER}{name}": np.array(value) for name, value in numbers.items()}
