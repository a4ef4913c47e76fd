"""PyTorch's tensors as the arrays of a checkpoint, and back: of networks, of optimizers and of what else learns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch

from shunter.agents.networks.weights import give_weights, weights_of
from shunter.agents.training.checkpoint_files import Tensors, named_weights, network_weights
from shunter.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from shunter.agents.networks.base import Network

OPTIMIZER: Final = "optimizer."
"""What the names of the optimizer's tensors begin with."""
RANDOM: Final = "random"
"""What the state of PyTorch's generator is called."""


def to_tensor(array: NDArray[Any]) -> Tensor:
    """Returns an array as a tensor with numbers of its own: PyTorch would write into those of a file."""
    return torch.from_numpy(np.array(array))


def prefixed(prefix: str, tensors: Mapping[str, Tensor]) -> Tensors:
    """Returns copies of tensors under names that begin with a prefix."""
    return {f"{prefix}{name}": value.detach().numpy(force=True).copy() for name, value in tensors.items()}


def without_prefix(prefix: str, tensors: Tensors) -> dict[str, Tensor]:
    """Returns the arrays whose names begin with a prefix, under the rest of their names."""
    return {name.removeprefix(prefix): to_tensor(value) for name, value in tensors.items() if name.startswith(prefix)}


def network_tensors(network: Network) -> Tensors:
    """Returns the weights of a network under the names that a checkpoint has them."""
    return named_weights(weights_of(network))


def load_network(network: Network, tensors: Tensors, where: str) -> None:
    """Gives a network the weights of a checkpoint.

    Raises:
        InputError: They are those of another network.
    """
    give_weights(network, network_weights(tensors), where)


def optimizer_tensors(optimizer: torch.optim.Optimizer, prefix: str = OPTIMIZER) -> Tensors:
    """Returns what an optimizer remembers of each parameter, under names of its own."""
    state: dict[int, dict[str, Tensor]] = optimizer.state_dict()["state"]
    return prefixed(prefix, {f"{index}.{name}": value for index, one in state.items() for name, value in one.items()})


def load_optimizer(optimizer: torch.optim.Optimizer, tensors: Tensors, where: str, prefix: str = OPTIMIZER) -> None:
    """Gives an optimizer back what it remembered; its settings stay.

    Raises:
        InputError: It is what an optimizer of another network remembered.
    """
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    state: dict[int, dict[str, Any]] = {}
    for name, tensor in without_prefix(prefix, tensors).items():
        index, _, key = name.partition(".")
        fits = index.isdecimal() and int(index) < len(parameters)
        if not fits or tensor.shape not in ((), parameters[int(index)].shape):
            raise InputError(f"{where}: {prefix}{name} is of another network; build the network as it was")
        state.setdefault(int(index), {})[key] = tensor
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
