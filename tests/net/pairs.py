"""The same network twice: in PyTorch and in the core."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from shunter.agents.networks import NetworkOptions, build
from shunter.agents.networks.base import Network
from shunter.agents.networks.native import native_network
from shunter.agents.networks.residual import Residual
from shunter.envs.layout import Layout
from shunter.envs.network import NativeNetwork
from shunter.errors import InputError
from shunter.native import check, core_numbers, ffi, lib, pointer
from tests.net.played import Observations

INSTRUCTIONS = tuple(core_numbers("Instructions"))


def use(network: NativeNetwork, instructions: str) -> None:
    """Has a network use some instructions; skips the test where the processor lacks them."""
    try:
        network.use(instructions)
    except InputError as error:
        pytest.skip(str(error))


@dataclass(frozen=True, eq=False)
class Pair:
    """A network in PyTorch, and in the core with the same weights."""

    torch: Network
    native: NativeNetwork

    @staticmethod
    def of(options: NetworkOptions, layout: Layout, seed: int = 1) -> Pair:
        """Returns networks with weights of which none is special: no zeros, no ones."""
        network = build(options, layout, seed)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in network.parameters():
                # As large as weights are that were trained: the more inputs, the smaller.
                size = 0.5 / math.sqrt(parameter.shape[-1]) if parameter.dim() > 1 else 0.2
                parameter.add_(size * torch.randn(parameter.shape, generator=generator))
        native = native_network(options, layout)
        native.set({name: weight.numpy() for name, weight in network.state_dict().items()})
        return Pair(network, native)


@contextmanager
def double_precision() -> Iterator[None]:
    """Lets PyTorch make tensors of double precision where it is not told otherwise."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def exact_copy(network: Network) -> Network:
    """Returns the network in double precision."""
    return copy.deepcopy(network).double()


def evaluated(network: Network, seen: Observations) -> tuple[Tensor, Tensor]:
    """Returns what a network in double precision says.

    Single precision would not do as the reference: where layer normalization blows up a small deviation, PyTorch is as
    far from the truth as the core is, in another direction.
    """
    observations, masks = torch.from_numpy(seen.observations), torch.from_numpy(seen.masks)
    with double_precision():
        if isinstance(network, Residual):
            logits, values = network.inner(observations.double(), masks)
            # What a network begins as is rounded to a grid, and is defined in single precision.
            return logits + network.beginning(observations, masks).double(), values
        found: tuple[Tensor, Tensor] = network(observations.double(), masks)
        return found


def actions(network: NativeNetwork, seen: Observations, *, seed: int | None = None) -> NDArray[np.int32]:
    """Returns the core's choice for each observation: the best action, or one that is drawn from the seed."""
    chosen = np.empty(len(seen.masks), np.int32)
    given = (pointer(seen.observations), pointer(seen.masks.view(np.uint8)), len(seen.masks))
    drawn = (0, 0) if seed is None else (1, seed)
    check(lib.shunter_policy_actions(network.handle.number, *given, *drawn, pointer(chosen)))
    return chosen


def gradient(
    network: NativeNetwork,
    seen: Observations,
    taken: NDArray[np.int32],
    numbers: NDArray[np.float32],
    loss: dict[str, float],
) -> tuple[dict[str, NDArray[np.float32]], float]:
    """Returns the core's gradient of PPO's loss by the names of weights, and the loss.

    Args:
        network: The network.
        seen: The observations.
        taken: The action of each.
        numbers: (samples, 4): old log-probability, advantage, return, old value.
        loss: The fields of ``ShunterLossOptions``.
    """
    flat, found = np.empty(network.size, np.float32), ffi.new("double *")
    options: Any = ffi.new("struct ShunterLossOptions *", loss)
    given = (pointer(seen.observations), pointer(seen.masks.view(np.uint8)), len(seen.masks))
    samples = (pointer(taken), pointer(numbers))
    check(lib.shunter_policy_gradient(network.handle.number, options, *given, *samples, pointer(flat), found))
    return network.by_name(flat), float(found[0])
