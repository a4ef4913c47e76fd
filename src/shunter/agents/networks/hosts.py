"""One encoder for every host: what it learns holds for any number of them, in any order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

import torch
from torch import Tensor, nn

from shunter.agents.networks.base import Network, activation, tower
from shunter.envs.layout import HOST_FEATURES, HOST_JOB_FEATURES

if TYPE_CHECKING:
    from shunter.agents.networks import NetworkOptions
    from shunter.agents.networks.base import Batch
    from shunter.envs.layout import Layout

SCALES: Final = (32.0, 16.0, 32 / 3, 8.0, 4.0)
"""Free cores are seen at these scales, each cut at 1: one core more or less decides whether a job fits."""
JOB_SCALE: Final = 8.0
"""Jobs are small beside the largest host."""
ROW_SIZE: Final = len(HOST_FEATURES) + 1 + 2 + 2 + 2 * len(SCALES) + 1 + len(HOST_JOB_FEATURES)


def split_hosts(observations: Tensor) -> tuple[Tensor, Tensor]:
    """Returns what is told of the hosts (samples, hosts, features) and of the job (samples, features)."""
    job = observations[:, -len(HOST_JOB_FEATURES) :]
    return observations[:, : -len(HOST_JOB_FEATURES)].reshape(len(job), -1, len(HOST_FEATURES)), job


def free_parts(hosts: Tensor) -> Tensor:
    """Returns (samples, hosts, 2): free cores and memory, as parts of what the largest host has."""
    return (1 - hosts[..., :2]) * hosts[..., 2:]


@dataclass(frozen=True)
class HostBatch:
    """What is seen of each host, in view of the job."""

    rows: Tensor
    """(samples, hosts, features)."""
    masks: Tensor
    """(samples, hosts)."""

    @staticmethod
    def of(observations: Tensor, masks: Tensor) -> HostBatch:
        """Works out what would be left of each host; best-fit is then nearly a weighted sum."""
        hosts, job = split_hosts(observations)
        free = free_parts(hosts)
        left = free - job.unsqueeze(1)
        scales = observations.new_tensor(SCALES)
        parts = [
            hosts,
            # Every job has some memory: this tells how many there are, and so how soon one will end.
            hosts[..., 1:2] * hosts[..., 3:],
            free,
            left,
            (left[..., :1] * scales).clamp(0, 1),
            (free[..., :1] * scales).clamp(0, 1),
            masks.unsqueeze(2).to(observations.dtype),
            (job * JOB_SCALE).unsqueeze(1).expand(-1, hosts.shape[1], -1),
        ]
        return HostBatch(torch.cat(parts, dim=2), masks)

    def select(self, indices: Tensor) -> HostBatch:
        """Returns the batch of some of the samples, in the order given."""
        return HostBatch(self.rows.index_select(0, indices), self.masks.index_select(0, indices))


class Hosts(Network):
    """Scores each host from itself, the job, and the mean of what is seen in all hosts.

    A weighted sum of a host's row is added to its score: what is nearly linear is learned at once.
    """

    takes_heads = True

    def __init__(self, layout: Layout, options: NetworkOptions) -> None:
        # The weights know nothing of how many hosts the layout has.
        super().__init__()
        hidden, function = options.layers_hidden, options.activation
        width, inner = hidden[-1], hidden[:-1] or hidden
        self.activation = activation(function)
        self.own_tower = tower([ROW_SIZE, *inner], function)
        self.own = nn.Linear(inner[-1], width)
        self.pooled_layer = nn.Linear(ROW_SIZE, width)
        self.others = nn.Linear(width, width, bias=False)
        self.score = nn.Linear(width, 1)
        self.sum = nn.Linear(ROW_SIZE, 1, bias=False)
        self.value_tower = tower([width, 2 * width], function)
        self.value = nn.Linear(2 * width, 1)

    def pack(self, observations: Tensor, masks: Tensor) -> HostBatch:
        """Returns the rows, worked out once for all minibatches."""
        return HostBatch.of(observations, masks)

    def evaluate(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Returns logits and values."""
        packed = cast("HostBatch", batch).rows
        samples, hosts, _ = packed.shape
        # Flat rows: layers on three dimensions are views, which autograd copies.
        rows = packed.view(samples * hosts, ROW_SIZE)
        own = self.own(self.own_tower(rows)).view(samples, hosts, -1)
        context = self.activation(self.pooled_layer(rows)).view(samples, hosts, -1).sum(dim=1) / hosts
        seen = self.activation(own + self.others(context).unsqueeze(1))
        scores = self.score(seen).squeeze(2)
        logits = scores + self.sum(rows).view_as(scores)
        return logits, self.value(self.value_tower(context)).squeeze(1)

    def policy_layers(self) -> tuple[nn.Linear, ...]:
        """Returns the scores' last layers."""
        return self.score, self.sum

    def value_layer(self) -> nn.Linear:
        """Returns the value's last layer."""
        return self.value
