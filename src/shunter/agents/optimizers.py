"""What an optimizer remembers, as tensors of a checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from shunter.errors import InputError

if TYPE_CHECKING:
    from shunter.agents.checkpoint import Tensors

OPTIMIZER: Final = "optimizer."


def optimizer_tensors(optimizer: torch.optim.Optimizer, prefix: str = OPTIMIZER) -> Tensors:
    """Returns what an optimizer remembers of each parameter, under names of its own."""
    state: dict[int, dict[str, torch.Tensor]] = optimizer.state_dict()["state"]
    return {f"{prefix}{index}.{name}": value for index, one in state.items() for name, value in one.items()}


def load_optimizer(optimizer: torch.optim.Optimizer, tensors: Tensors, where: str, prefix: str = OPTIMIZER) -> None:
    """Gives an optimizer back what it remembered; its settings stay.

    Raises:
        InputError: It is what an optimizer of another network remembered.
    """
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    state: dict[int, dict[str, Any]] = {}
    for name, tensor in tensors.items():
        if name.startswith(prefix):
            index, _, key = name.removeprefix(prefix).partition(".")
            fits = index.isdecimal() and int(index) < len(parameters)
            if not fits or tensor.shape not in ((), parameters[int(index)].shape):
                raise InputError(f"{where}: {name} is of another network; build the network as it was")
            # PyTorch would go on writing into the tensor that it is given.
            state.setdefault(int(index), {})[key] = tensor.clone()
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
