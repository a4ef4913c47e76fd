"""One encoder for every host: what it learns holds for any number of them, in any order."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn

from shunter.agents.networks.base import Network, activation, tower
from shunter.envs.layout import HOST_FEATURES, HOST_JOB_FEATURES

if TYPE_CHECKING:
    from shunter.agents.networks.base import Batch, DenseBatch


class Hosts(Network):
    """Scores each host from itself, the job, and the mean and the largest of what is seen in all hosts."""

    def __init__(self, hidden: tuple[int, ...], function: str) -> None:
        super().__init__()
        job, width = len(HOST_JOB_FEATURES), hidden[-1]
        self.host_layer = nn.Linear(len(HOST_FEATURES), hidden[0], bias=False)
        self.job_layer = nn.Linear(job, hidden[0])
        self.activation = activation(function)
        self.encoder = tower([*hidden], function)
        self.own = nn.Linear(width, width)
        self.others = nn.Linear(2 * width, width, bias=False)
        self.score = nn.Linear(width, 1)
        self.value_tower = tower([2 * width + job, hidden[0]], function)
        self.value = nn.Linear(hidden[0], 1)

    def evaluate(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Returns logits and values."""
        observations = cast("DenseBatch", batch).observations
        job = observations[:, -len(HOST_JOB_FEATURES) :]
        hosts = observations[:, : -len(HOST_JOB_FEATURES)].reshape(len(job), -1, len(HOST_FEATURES))
        seen = self.activation(self.host_layer(hosts) + self.job_layer(job).unsqueeze(1))
        seen = self.encoder(seen)
        pooled = torch.cat([seen.mean(dim=1), seen.amax(dim=1)], dim=1)
        logits = self.score(self.activation(self.own(seen) + self.others(pooled).unsqueeze(1))).squeeze(2)
        return logits, self.value(self.value_tower(torch.cat([pooled, job], dim=1))).squeeze(1)

    def policy_layers(self) -> tuple[nn.Linear, ...]:
        """Returns the scores' last layer."""
        return (self.score,)

    def value_layer(self) -> nn.Linear:
        """Returns the value's last layer."""
        return self.value
