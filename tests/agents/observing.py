"""Observations of every kind, drawn at random."""

from __future__ import annotations

import torch
from torch import Tensor

from shunter.envs.layout import Layout
from shunter.policies.catalog import PICK_HOST, PICK_JOB

JOB_LAYOUT = Layout(PICK_JOB, window=9, lookahead_size=4, extra_features=("own",))
HOST_LAYOUT = Layout(PICK_HOST, num_hosts=5)


def random_jobs(samples: int, layout: Layout = JOB_LAYOUT, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Returns observations with windows filled to different lengths, and masks; some allow only *wait*."""
    random = torch.Generator().manual_seed(seed)
    observations = torch.rand(samples, layout.observation_size, generator=random)
    jobs = layout.split(observations)["jobs"]
    filled = torch.randint(0, layout.window + 1, (samples, 1), generator=random)
    filled[0], filled[1] = 0, 1
    present = torch.arange(layout.window) < filled
    jobs[..., 0] = 1.0
    jobs *= present.unsqueeze(2)
    masks = torch.zeros(samples, layout.actions, dtype=torch.bool)
    masks[:, 1:] = present & (torch.rand(samples, layout.window, generator=random) < 0.6)
    masks[:, 0] = ~masks[:, 1:].any(dim=1) | (torch.rand(samples, generator=random) < 0.5)
    return observations, masks


def random_hosts(samples: int, layout: Layout = HOST_LAYOUT, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Returns observations of hosts, and masks that allow at least one."""
    random = torch.Generator().manual_seed(seed)
    observations = torch.rand(samples, layout.observation_size, generator=random)
    masks = torch.rand(samples, layout.actions, generator=random) < 0.6
    masks[:, 0] |= ~masks.any(dim=1)
    return observations, masks
