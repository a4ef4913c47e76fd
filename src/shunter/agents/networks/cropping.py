"""Windows that are mostly empty, cut behind their last filled row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, cast

import torch
from torch import Tensor

from shunter.agents.networks.base import Network

if TYPE_CHECKING:
    from shunter.agents.networks.base import Batch
    from shunter.envs.layout import Layout

BUCKET: Final = 512
"""So many samples, of about the same length, are cut at the same row."""


def filled_rows(observations: Tensor, layout: Layout) -> Tensor:
    """Returns how many rows of each window are filled. These come first, so few of them need to be looked at."""
    low = torch.zeros(len(observations), dtype=torch.int64, device=observations.device)
    if not layout.window:
        return low
    present = layout.split(observations)["jobs"][..., 0]
    high = torch.full_like(low, layout.window)
    for _ in range(layout.window.bit_length()):
        middle = (low + high) // 2
        row = middle.clamp_max(layout.window - 1).unsqueeze(1)
        filled = (present.gather(1, row).squeeze(1) > 0) & (low < high)
        low, high = torch.where(filled, middle + 1, low), torch.where(filled, high, middle)
    return low


@dataclass(frozen=True)
class CroppedBatch:
    """Some of many observations, which are copied only when they are read, and only as far as they are filled."""

    observations: Tensor
    """(all, size), of which this batch is a part, as the next."""
    all_masks: Tensor
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
        order = cropped.filled.argsort()
        results = [self._bucket(cropped, bucket) for bucket in torch.split(order, BUCKET)]
        back = order.argsort()
        logits, values = (torch.cat(parts).index_select(0, back) for parts in zip(*results, strict=True))
        return logits, values

    def _bucket(self, batch: CroppedBatch, bucket: Tensor) -> tuple[Tensor, Tensor]:
        rows = int(batch.filled.index_select(0, bucket).max())
        columns = self._layout.observation_size
        if self._layout.window:
            columns -= (self._layout.window - rows) * len(self._layout.job_features)
        places = batch.places.index_select(0, bucket)
        return self.evaluate_cropped(batch.observations[:, :columns].index_select(0, places), rows)
