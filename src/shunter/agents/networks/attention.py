"""Jobs that look at each other and at the capacity to come."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from shunter.agents.common.masking import FORBIDDEN
from shunter.agents.networks.base import CroppedNetwork, tower

if TYPE_CHECKING:
    from shunter.agents.networks import NetworkOptions
    from shunter.envs.layout import Layout


class Attention(CroppedNetwork):
    """A token for each waiting job, one for the state, one for each slot of the look-ahead.

    Jobs and the state attend to all tokens. A job's token becomes its score, the state's becomes *wait* and the value.
    """

    takes_heads = True

    def __init__(self, layout: Layout, options: NetworkOptions) -> None:
        super().__init__(layout)
        width, inner = options.layers_hidden[0], options.layers_hidden[-1]
        self.job_layer = nn.Linear(len(layout.job_features), width)
        self.state_layer = nn.Linear(len(layout.cluster_features) + layout.lookahead_size, width)
        self.slot_layer = nn.Linear(1, width)
        # Look-ahead slots differ by what they tell and by which they are.
        self.slot_places = nn.Parameter(torch.zeros(layout.lookahead_size, width))
        self.blocks = nn.ModuleList(
            [_Block(width, inner, options.heads, options.activation) for _ in range(options.blocks)]
        )
        self.norm = nn.LayerNorm(width)
        self.score = nn.Linear(width, 1)
        self.wait = nn.Linear(width, 1)
        self.value = nn.Linear(width, 1)

    def evaluate_cropped(self, observations: Tensor, rows: int) -> tuple[Tensor, Tensor]:
        """Returns logits and values."""
        parts = self._layout.split(observations, rows)
        jobs = parts["jobs"]
        state = self.state_layer(torch.cat([parts["cluster"], parts["lookahead"]], dim=1)).unsqueeze(1)
        tokens = torch.cat([state, self.job_layer(jobs)], dim=1)
        slots = self.slot_layer(parts["lookahead"].unsqueeze(2)) + self.slot_places
        # The state and the slots are always there, a job only if its row is filled.
        always = torch.ones(len(jobs), 1 + slots.shape[1], dtype=torch.bool, device=jobs.device)
        seen = torch.cat([always, jobs[:, :, 0] > 0], dim=1)
        for block in self.blocks:
            tokens = block(tokens, slots, seen)
        tokens = self.norm(tokens)
        # Along the actions, which are the last dimension but one where there are several heads.
        empty = (0, self._layout.rows - rows) if self.heads == 1 else (0, 0, 0, self._layout.rows - rows)
        scores = functional.pad(self.score(tokens[:, 1:]).squeeze(2), empty, value=FORBIDDEN)
        wait = self.wait(tokens[:, 0])
        logits = torch.cat([wait if self.heads == 1 else wait.unsqueeze(1), scores], dim=1)
        return logits, self.value(tokens[:, 0]).squeeze(1)

    def policy_layers(self) -> tuple[nn.Linear, ...]:
        """Returns the scores' last layers."""
        return self.score, self.wait

    def value_layer(self) -> nn.Linear:
        """Returns the value's last layer."""
        return self.value


class _Block(nn.Module):
    """Attention and a small tower, each added to what came in."""

    def __init__(self, width: int, inner: int, heads: int, function: str) -> None:
        super().__init__()
        self._heads = heads
        self.first_norm = nn.LayerNorm(width)
        self.query = nn.Linear(width, width)
        self.key_and_value = nn.Linear(width, 2 * width)
        self.output = nn.Linear(width, width)
        self.second_norm = nn.LayerNorm(width)
        self.tower = nn.Sequential(*tower([width, inner], function), nn.Linear(inner, width))

    def forward(self, tokens: Tensor, slots: Tensor, seen: Tensor) -> Tensor:
        """Returns new tokens; `seen` (samples, 1 + slots + jobs) says what may be attended to."""
        normal = self.first_norm(tokens)
        # Slots are looked at and look at nothing: what they tell does not change.
        sources = torch.cat([normal[:, :1], slots, normal[:, 1:]], dim=1)
        key, value = self.key_and_value(sources).chunk(2, dim=2)
        mixed = functional.scaled_dot_product_attention(
            self._split(self.query(normal)), self._split(key), self._split(value), attn_mask=seen[:, None, None, :]
        )
        tokens = tokens + self.output(mixed.transpose(1, 2).flatten(2))
        result: Tensor = tokens + self.tower(self.second_norm(tokens))
        return result

    def _split(self, tokens: Tensor) -> Tensor:
        return tokens.view(*tokens.shape[:2], self._heads, -1).transpose(1, 2)
