"""One small network that scores every job alike: what it learns does not depend on a job's row."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn

from shunter.agents.masking import FORBIDDEN
from shunter.agents.networks.base import Network, activation, tower
from shunter.agents.networks.rows import RaggedBatch

if TYPE_CHECKING:
    from shunter.agents.networks.base import Batch
    from shunter.envs.layout import Layout


class Kernel(Network):
    """Scores each job from its row and the cluster; *wait* and the value see all rows pooled.

    Only rows that may be chosen are looked at: windows are mostly empty, and what is masked out is not worth a
    multiplication. What is pooled is not what scores are made of: scores grow as a policy becomes sure of itself, and
    values must not.
    """

    def __init__(self, layout: Layout, hidden: tuple[int, ...], function: str) -> None:
        super().__init__()
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
        share = (ragged.counts / self._layout.window).unsqueeze(1)
        state = torch.cat([ragged.context, share, ragged.mean(pooled), ragged.largest(pooled)], dim=1)
        actions = self._layout.actions
        logits = torch.full((len(state) * actions,), FORBIDDEN, device=state.device)
        logits = logits.scatter(0, ragged.owners * actions + ragged.actions, scores).view(-1, actions)
        logits = torch.cat([self.wait(self.wait_tower(state)), logits[:, 1:]], dim=1)
        return logits, self.value(self.value_tower(state)).squeeze(1)

    def policy_layers(self) -> tuple[nn.Linear, ...]:
        """Returns the scores' last layers."""
        return self.score, self.wait

    def value_layer(self) -> nn.Linear:
        """Returns the value's last layer."""
        return self.value
