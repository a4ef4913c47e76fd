"""The core's networks with the weights that a training begins with; nothing here needs PyTorch."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from shunter.agents.networks.first_weights import first_weights
from shunter.checks import to_table
from shunter.envs.network import LAYERS, NativeNetwork

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shunter.agents.networks import NetworkOptions
    from shunter.envs.layout import Layout

Towers = dict[str, list[list[int | str]]]
"""By ``policy`` and ``value``: the layers, each with its size and the function behind it."""
POLICY_LAYERS: Final = ("logits", "score", "sum", "wait")
"""The names of the last layers of the policy in all networks of the core."""
VALUE_LAYER: Final = "value"


def native_network(
    options: NetworkOptions, layout: Layout, layers: Mapping[str, object] | None = None
) -> NativeNetwork:
    """Returns the core's network of a kind, or of these layers; its weights are all 0.

    Raises:
        InputError: The core has no such network.
    """
    # The core knows no usual sizes.
    about = {"layout": to_table(layout), "network": to_table(replace(options, hidden=options.layers_hidden))}
    return NativeNetwork.open(about if layers is None else about | {LAYERS: layers})


def fresh_network(options: NetworkOptions, layout: Layout, seed: int) -> NativeNetwork:
    """Returns the core's network of a kind with fresh weights, those that its twin in PyTorch has for the same seed.

    Raises:
        InputError: The core has no such network.
    """
    network = native_network(options, layout)
    network.set(first_weights(network.shapes, POLICY_LAYERS, VALUE_LAYER, seed))
    return network
