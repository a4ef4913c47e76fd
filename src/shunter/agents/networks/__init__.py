"""Networks: from an observation to a logit for each action and a value.

`NETWORKS` names them without loading PyTorch: a new network is one file and one line there.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from shunter.checks import check_fields, declared, whole
from shunter.errors import InputError
from shunter.extras import LEARN, need
from shunter.policies.catalog import CHOOSING_JOBS, PICK_HOST

if TYPE_CHECKING:
    from collections.abc import Callable

    from shunter.agents.networks.base import Network
    from shunter.envs.layout import Layout

__all__ = ["NETWORKS", "NetworkKind", "NetworkOptions", "build", "check_network", "register_network"]


@dataclass(frozen=True)
class NetworkKind:
    """A network that can be asked for by its name."""

    home: str | Callable[[Layout, NetworkOptions], Network]
    """The class, or where it is: ``kernel:Kernel`` in this package. It is called with a layout and options."""
    hidden: tuple[int, ...]
    """The sizes of the hidden layers where none are asked for."""
    decisions: tuple[str, ...]
    """The kinds of decision whose observations it reads."""

    def network(self, layout: Layout, options: NetworkOptions) -> Network:
        """Returns a network of this kind; its weights are to be initialized."""
        made = _at(self.home) if isinstance(self.home, str) else self.home
        network: Network = made(layout, options)
        return network


NETWORKS: Final = {
    "kernel": NetworkKind("kernel:Kernel", (32, 16), CHOOSING_JOBS),
    "mlp": NetworkKind("mlp:Mlp", (64, 64), (*CHOOSING_JOBS, PICK_HOST)),
    "hosts": NetworkKind("hosts:Hosts", (32, 32), (PICK_HOST,)),
    "attention": NetworkKind("attention:Attention", (32, 64), CHOOSING_JOBS),
}
"""All networks by name."""
RESIDUALS: Final = dict.fromkeys(CHOOSING_JOBS, "residual:OrderResidual") | {PICK_HOST: "residual:HostResidual"}
"""By the kind of decision: what adds a network to the scores of the rule that it begins as."""
ACTIVATIONS: Final = ("relu", "tanh")


OWN: Final = frozenset(NETWORKS)
"""The names of Shunter's own networks, by which the core knows them."""


def register_network(name: str, kind: NetworkKind) -> None:
    """Makes a network of your own known by a name; it replaces an earlier one of your own.

    Args:
        name: As ``--network`` takes it.
        kind: The class, its usual sizes, and the decisions that it is for.

    Raises:
        InputError: One of Shunter's own has this name.
    """
    if name in OWN:
        raise InputError(f"network {name!r} is one of Shunter's own; give yours another name")
    NETWORKS[name] = kind


@dataclass(frozen=True)
class NetworkOptions:
    """How the network is built: the section ``[network]`` of a training file."""

    kind: str = declared("kernel", "The network that decides.", choices=NETWORKS, option="network", metavar="NAME")
    hidden: tuple[int, ...] = declared(
        (),
        "The sizes of its hidden layers. For attention: the size of a token, then of the layer behind it.",
        option="hidden",
        metavar="N,N",
        shown_default="32,16 for kernel, 64,64 for mlp, 32,32 for hosts, 32,64 for attention",
    )
    activation: str = declared("relu", "The function between two layers.", choices=ACTIVATIONS)
    heads: int = declared(2, "How many heads attention has.", low=1, high=64)
    blocks: int = declared(1, "How many blocks of attention follow each other.", low=1, high=64)
    order_temperature: float | None = declared(
        None,
        "Begin as the order that sorts the window (pick-host: as best-fit), with its scores multiplied by this. Larger "
        "values stay closer to the order. None: begin with random weights.",
        low=0.0,
    )

    def __post_init__(self) -> None:
        check_fields(self, "[network] ")
        for size in self.hidden:
            whole("[network] hidden", size, 1, 65536)
        # Each head looks at its own part of a token.
        if self.kind == "attention" and self.layers_hidden[0] % self.heads:
            what = f"{self.layers_hidden[0]} by {self.heads} heads"
            raise InputError(f"[network] hidden: cannot divide a token's {what}; take a multiple of the heads")

    @property
    def layers_hidden(self) -> tuple[int, ...]:
        """The sizes of the hidden layers."""
        return self.hidden or NETWORKS[self.kind].hidden


def check_network(options: NetworkOptions, layout: Layout) -> None:
    """Raises an error if a network is not made for such observations."""
    if layout.kind not in NETWORKS[options.kind].decisions:
        fitting = ", ".join(name for name, one in NETWORKS.items() if layout.kind in one.decisions)
        what = f"{options.kind!r}, which does not fit {layout.kind}"
        raise InputError(f"[network] kind is {what}; choose one of {fitting}")


def build(options: NetworkOptions, layout: Layout, seed: int = 0) -> Network:
    """Returns a network in PyTorch with fresh weights, the same for the same seed.

    Raises:
        InputError: The network is not made for such observations, or PyTorch is missing.
    """
    check_network(options, layout)
    need(LEARN, "a network in Python")
    from shunter.agents.networks.base import initialize

    network = NETWORKS[options.kind].network(layout, options)
    initialize(network, seed)
    if options.order_temperature is None:
        return network
    residual: Network = _at(RESIDUALS[layout.kind])(network, layout, options.order_temperature)
    return residual


def _at(home: str) -> Any:  # noqa: ANN401 - a class of some network
    module, _, name = home.partition(":")
    return getattr(import_module(f"{__name__}.{module}"), name)
