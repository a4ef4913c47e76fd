"""One small network that scores every job alike: what it learns does not depend on a job's row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from shunter.agents.common.masking import FORBIDDEN
from shunter.agents.networks.base import Network, activation, tower

if TYPE_CHECKING:
    from shunter.agents.networks import NetworkOptions
    from shunter.agents.networks.base import Batch
    from shunter.envs.layout import Layout


@dataclass(frozen=True)
class RaggedBatch:
    """The rows that may be chosen, one sample's behind the other's, and no others."""

    context: Tensor
    """(samples, features): what is told beside the rows."""
    masks: Tensor
    """(samples, actions)."""
    rows: Tensor
    """(rows, features)."""
    actions: Tensor
    """(rows,): the action that chooses each."""
    counts: Tensor
    """(samples,): how many rows each sample has."""

    @staticmethod
    def of(context: Tensor, rows: Tensor, masks: Tensor) -> RaggedBatch:
        """Returns the batch of whole windows (samples, window, features), whose first action chooses no row."""
        choosable = masks[:, 1:]
        # In the order of samples, so that the rows of a sample lie together.
        sample, row = choosable.nonzero(as_tuple=True)
        return RaggedBatch(context, masks, rows[sample, row], row + 1, choosable.sum(dim=1))

    @cached_property
    def owners(self) -> Tensor:
        """(rows,): the sample that each row belongs to."""
        samples = torch.arange(len(self.counts), device=self.counts.device)
        return torch.repeat_interleave(samples, self.counts, output_size=len(self.rows))

    @cached_property
    def starts(self) -> Tensor:
        """(samples,): where the rows of each sample begin."""
        return self.counts.cumsum(0) - self.counts

    def select(self, indices: Tensor) -> RaggedBatch:
        """Returns the batch of some of the samples, in the order given."""
        counts = self.counts.index_select(0, indices)
        # By how far the rows of each sample move: added to 0, 1, 2, ... it gives their old places, without a loop.
        moved = self.starts.index_select(0, indices) - (counts.cumsum(0) - counts)
        places = torch.repeat_interleave(moved, counts)
        places += torch.arange(len(places), device=places.device)
        return RaggedBatch(
            self.context.index_select(0, indices),
            self.masks.index_select(0, indices),
            self.rows.index_select(0, places),
            self.actions.index_select(0, places),
            counts,
        )

    def spread(self, values: Tensor) -> Tensor:
        """Returns for each row what its sample has: (samples, size) to (rows, size)."""
        return _Spread.apply(values, self.owners, self.starts)  # type: ignore[no-any-return, no-untyped-call]

    def mean(self, values: Tensor) -> Tensor:
        """Returns the mean over the rows of each sample: (rows, size) to (samples, size); 0 where there is none."""
        total: Tensor = _Total.apply(values, self.owners, self.starts)  # type: ignore[no-untyped-call]
        return total / self.counts.clamp_min(1).unsqueeze(1)

    def largest(self, values: Tensor) -> Tensor:
        """Returns the largest over the rows of each sample: (rows, size) to (samples, size); 0 where there is none."""
        return _Largest.apply(values, self.owners, self.starts)  # type: ignore[no-any-return, no-untyped-call]


def _totals(rows: Tensor, starts: Tensor) -> Tensor:
    """Returns the sums over segments. Nothing else in PyTorch adds up short segments on a CPU nearly as quickly."""
    if not len(rows):
        return rows.new_zeros(len(starts), rows.shape[1])
    every = torch.arange(len(rows), device=rows.device)
    return functional.embedding_bag(every, rows, starts, mode="sum")


class _Spread(torch.autograd.Function):
    """Copies for each row; the gradient adds up."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, owners: Tensor, starts: Tensor) -> Tensor:  # noqa: ANN401
        ctx.save_for_backward(starts)
        return values.index_select(0, owners)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:  # noqa: ANN401
        (starts,) = ctx.saved_tensors
        return _totals(gradient.contiguous(), starts), None, None


class _Total(torch.autograd.Function):
    """Adds up; the gradient is copied for each row."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, owners: Tensor, starts: Tensor) -> Tensor:  # noqa: ANN401
        ctx.save_for_backward(owners)
        return _totals(rows, starts)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:  # noqa: ANN401
        (owners,) = ctx.saved_tensors
        return gradient.index_select(0, owners), None, None


class _Largest(torch.autograd.Function):
    """Takes the largest; the gradient goes to every row that has it."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, owners: Tensor, starts: Tensor) -> Tensor:  # noqa: ANN401
        places = owners.unsqueeze(1).expand_as(rows)
        largest = rows.new_zeros(len(starts), rows.shape[1])
        # Not include_self: the zeros are only for samples without a row, and must not win against negative values.
        largest = largest.scatter_reduce(0, places, rows, "amax", include_self=False)
        ctx.save_for_backward(rows, largest, owners)
        return largest

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:  # noqa: ANN401
        rows, largest, owners = ctx.saved_tensors
        return gradient.index_select(0, owners) * (rows == largest.index_select(0, owners)), None, None


class Kernel(Network):
    """Scores each job from its row and the cluster; *wait* and the value see all rows pooled.

    Only rows that may be chosen are looked at: windows are mostly empty, and what is masked out is not worth a
    multiplication. What is pooled is not what scores are made of: scores grow as a policy becomes sure of itself, and
    values must not.
    """

    takes_heads = True

    def __init__(self, layout: Layout, options: NetworkOptions) -> None:
        super().__init__()
        hidden, function = options.layers_hidden, options.activation
        self._layout = layout
        self._widths = hidden[0], hidden[-1]
        context = len(layout.cluster_features) + layout.lookahead_size
        # One layer on the row and the context side by side, in two parts: the context's is worked out once a sample.
        self.row_layer = nn.Linear(len(layout.job_features), sum(self._widths), bias=False)
        self.context_layer = nn.Linear(context, sum(self._widths))
        self.activation = activation(function)
        self.job_tower = tower([*hidden], function)
        self.score = nn.Linear(hidden[-1], 1)
        state = context + 1 + 2 * hidden[-1]
        self.wait_tower = tower([state, hidden[0]], function)
        self.wait = nn.Linear(hidden[0], 1)
        self.value_tower = tower([state, hidden[0]], function)
        self.value = nn.Linear(hidden[0], 1)

    def pack(self, observations: Tensor, masks: Tensor) -> RaggedBatch:
        """Returns the rows that may be chosen."""
        parts = self._layout.split(observations)
        context = torch.cat([parts["cluster"], parts["lookahead"]], dim=1)
        return RaggedBatch.of(context, parts["jobs"], masks)

    def evaluate(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Returns logits and values."""
        ragged = cast("RaggedBatch", batch)
        shared = ragged.spread(self.context_layer(ragged.context))
        rows = self.activation(torch.addmm(shared, ragged.rows, self.row_layer.weight.T))
        scored, pooled = rows.split(self._widths, dim=1)
        pooled = pooled.contiguous()  # Pooling rows that lie apart takes several times as long.
        scores = self.score(self.job_tower(scored)).squeeze(1)
        share = (ragged.counts / self._layout.rows).unsqueeze(1)
        state = torch.cat([ragged.context, share, ragged.mean(pooled), ragged.largest(pooled)], dim=1)
        actions = self._layout.actions
        logits = torch.full((len(state) * actions, *scores.shape[1:]), FORBIDDEN, device=state.device)
        # Flat: each row knows its sample and its action, so that one index says where its score goes.
        logits = logits.index_copy(0, ragged.owners * actions + ragged.actions, scores)
        logits = logits.view(-1, actions, *scores.shape[1:])
        wait = self.wait(self.wait_tower(state))
        logits = torch.cat([wait if self.heads == 1 else wait.unsqueeze(1), logits[:, 1:]], dim=1)
        return logits, self.value(self.value_tower(state)).squeeze(1)

    def policy_layers(self) -> tuple[nn.Linear, ...]:
        """Returns the scores' last layers."""
        return self.score, self.wait

    def value_layer(self) -> nn.Linear:
        """Returns the value's last layer."""
        return self.value
