"""The weights of a network, whether it is one of the core's or PyTorch's, which is loaded only for its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shunter.agents.training.checkpoint_files import Tensors, check_weights
from shunter.envs.network import NativeNetwork

if TYPE_CHECKING:
    from shunter.agents.networks.base import Network


def weights_of(network: Network | NativeNetwork) -> Tensors:
    """Returns copies of the weights of a network, by its names for them."""
    if isinstance(network, NativeNetwork):
        weights, _ = network.get()
        return dict(weights)
    from shunter.agents.common.tensors import prefixed

    return prefixed("", network.state_dict())


def give_weights(network: Network | NativeNetwork, weights: Tensors, where: str) -> None:
    """Gives a network weights.

    Args:
        network: It keeps the units of its values.
        weights: By the network's names for them.
        where: They come from, for the error message.

    Raises:
        InputError: They are those of another network.
    """
    if isinstance(network, NativeNetwork):
        check_weights(weights, network.shapes, where)
        network.set(weights, network.get()[1])
        return
    from shunter.agents.common.tensors import without_prefix

    check_weights(weights, {name: tuple(value.shape) for name, value in network.state_dict().items()}, where)
    network.load_state_dict(without_prefix("", weights))
