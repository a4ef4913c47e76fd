"""What networks share: how they are called, how batches are cut, how empty rows are left out, how weights begin."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Protocol, cast

import torch
from torch import Tensor, nn

from shunter.agents.networks.first_weights import HIDDEN_GAIN, POLICY_GAIN, VALUE_GAIN, orthogonal

if TYPE_CHECKING:
    from shunter.envs.layout import Layout

BUCKET: Final = 512
"""So many samples, of about the same length, are cut at the same row."""


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
    """Scores every action of an observation, and estimates the return from it."""

    heads: int = 1
    """How many scores each action has, and how many values a state: see `shunter.agents.networks.heads`."""
    takes_heads: bool = False
    """Whether there may be several."""

    def pack(self, observations: Tensor, masks: Tensor) -> Batch:
        """Returns observations (samples, size) and masks (samples, actions) in the form that `evaluate` reads."""
        return DenseBatch(observations, masks)

    def evaluate(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Returns logits (samples, actions) and values (samples,); the logits of forbidden actions mean nothing.

        With several heads both have one dimension more.
        """
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


def filled_rows(observations: Tensor, layout: Layout) -> Tensor:
    """Returns how many rows of each window are filled. These come first, so few of them need to be looked at."""
    low = torch.zeros(len(observations), dtype=torch.int64, device=observations.device)
    if not layout.rows:
        return low
    present = layout.split(observations)["jobs"][..., 0]
    high = torch.full_like(low, layout.rows)
    # A binary search in all samples at once: looking at every row of every window would cost more than it saves.
    for _ in range(layout.rows.bit_length()):
        middle = (low + high) // 2
        row = middle.clamp_max(layout.rows - 1).unsqueeze(1)
        filled = (present.gather(1, row).squeeze(1) > 0) & (low < high)
        low, high = torch.where(filled, middle + 1, low), torch.where(filled, high, middle)
    return low


@dataclass(frozen=True)
class CroppedBatch:
    """Some of many observations, which are copied only when they are read, and only as far as they are filled."""

    observations: Tensor
    """(all, size): this batch is a part of them."""
    all_masks: Tensor
    """(all, actions): of the same observations."""
    places: Tensor
    """(samples,): which of them."""
    filled: Tensor
    """(samples,): how many rows of each are filled."""

    @cached_property
    def masks(self) -> Tensor:
        """(samples, actions): True where an action is allowed."""
        return self.all_masks.index_select(0, self.places)

    def select(self, indices: Tensor) -> CroppedBatch:
        """Returns the batch of some of the samples, in the order given."""
        places, filled = (each.index_select(0, indices) for each in (self.places, self.filled))
        return CroppedBatch(self.observations, self.all_masks, places, filled)


class CroppedNetwork(Network):
    """A network to which empty rows mean nothing, so that they can be left out.

    Samples are evaluated in buckets of about the same length. Their order changes nothing: each sample is evaluated by
    itself, and the results are put back into the order of the samples.
    """

    def __init__(self, layout: Layout) -> None:
        super().__init__()
        self._layout = layout

    def evaluate_cropped(self, observations: Tensor, rows: int) -> tuple[Tensor, Tensor]:
        """Returns logits and values of observations that end behind so many rows."""
        raise NotImplementedError

    def pack(self, observations: Tensor, masks: Tensor) -> CroppedBatch:
        """Returns the observations, and how far they are filled."""
        places = torch.arange(len(observations), device=observations.device)
        return CroppedBatch(observations, masks, places, filled_rows(observations, self._layout))

    def evaluate(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Returns logits and values."""
        cropped = cast("CroppedBatch", batch)
        # Samples of like length together, so that a bucket is cut as short as its longest.
        order = cropped.filled.argsort()
        results = [self._bucket(cropped, bucket) for bucket in torch.split(order, BUCKET)]
        back = order.argsort()
        logits, values = (torch.cat(parts).index_select(0, back) for parts in zip(*results, strict=True))
        return logits, values

    def _bucket(self, batch: CroppedBatch, bucket: Tensor) -> tuple[Tensor, Tensor]:
        rows = int(batch.filled.index_select(0, bucket).max())
        columns = self._layout.observation_size
        if self._layout.rows:
            columns -= (self._layout.rows - rows) * len(self._layout.job_features)
        places = batch.places.index_select(0, bucket)
        return self.evaluate_cropped(batch.observations[:, :columns].index_select(0, places), rows)


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
    """Gives all layers the weights of `first_weights`: the same for the same seed."""
    gains = dict.fromkeys(network.policy_layers(), POLICY_GAIN) | {network.value_layer(): VALUE_GAIN}
    with torch.no_grad():
        for name, module in network.named_modules():
            if isinstance(module, nn.Linear):
                shape = (module.out_features, module.in_features)
                module.weight.copy_(torch.from_numpy(orthogonal(shape, gains.get(module, HIDDEN_GAIN), name, seed)))
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
