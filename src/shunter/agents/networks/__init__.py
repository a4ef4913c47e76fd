"""Networks: from an observation to a logit for each action and a value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shunter.agents.networks.attention import Attention
from shunter.agents.networks.base import Network, initialize
from shunter.agents.networks.host_residual import HostResidual
from shunter.agents.networks.hosts import Hosts
from shunter.agents.networks.kernel import Kernel
from shunter.agents.networks.mlp import Mlp
from shunter.agents.networks.order_residual import OrderResidual
from shunter.envs.layout import PICK_HOST, PICK_JOB
from shunter.errors import InputError

if TYPE_CHECKING:
    from shunter.agents.options import NetworkOptions
    from shunter.envs.layout import Layout

__all__ = ["Network", "build"]


def build(options: NetworkOptions, layout: Layout, seed: int = 0) -> Network:
    """Returns a network with fresh weights, the same for the same seed.

    Raises:
        InputError: The network is not made for such observations.
    """
    network = _plain(options, layout)
    initialize(network, seed)
    if options.order_temperature is None:
        return network
    if layout.kind == PICK_HOST:
        return HostResidual(network, options.order_temperature)
    return OrderResidual(network, layout, options.order_temperature)


def _plain(options: NetworkOptions, layout: Layout) -> Network:
    hidden, function = options.layers_hidden, options.activation
    if options.kind == "mlp":
        return Mlp(layout, hidden, function)
    if options.kind == "hosts" and layout.kind == PICK_HOST:
        return Hosts(hidden, function)
    if options.kind == "kernel" and layout.kind == PICK_JOB:
        return Kernel(layout, hidden, function)
    if options.kind == "attention" and layout.kind == PICK_JOB:
        return Attention(layout, hidden, function, options.heads, options.blocks)
    fitting = "mlp, hosts" if layout.kind == PICK_HOST else "mlp, kernel, attention"
    raise InputError(f"[network] kind is {options.kind!r}, which does not fit {layout.kind}; choose one of {fitting}")
