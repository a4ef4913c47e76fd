"""Checkpoints of fixed weights, in the present format; a change of the format changes this file alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shunter.agents.networks.base import Network

SCALE = 3.0
NEVER = -100.0


def write_checkpoints(folder: Path) -> None:
    """Writes two policies that choose jobs, of two modes, and one that chooses hosts."""
    # PyTorch takes seconds to load, and most cases need no checkpoint.
    from tests.agents.untrained import write_host_policy, write_policy

    write_policy(folder / "jobs" / "best", change=set_never_waiting)
    write_policy(folder / "sjf" / "best", change=set_never_waiting, order="sjf", mode="feasible")
    write_host_policy(folder / "hosts", set_fixed_weights, num_hosts=5)


def set_fixed_weights(network: Network) -> None:
    """Sets every weight by a formula of its place, so that no random generator has a part in it."""
    import torch

    for _, weights in sorted(network.named_parameters()):
        values = [SCALE * ((place * 7919 + 31) % 1009 / 1009 - 0.5) for place in range(weights.numel())]
        weights.copy_(torch.tensor(values).reshape(weights.shape))


def set_never_waiting(network: Network) -> None:
    """The same, but the action that chooses no job is the last choice: otherwise such weights leave nodes idle."""
    set_fixed_weights(network)
    network.policy_layers()[-1].bias.fill_(NEVER)
