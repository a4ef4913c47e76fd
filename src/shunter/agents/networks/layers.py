"""A network of the user's own made of plain layers: whatever the core can read, it can decide with."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from torch import Tensor, nn

from shunter.agents.networks.base import DenseBatch, Network
from shunter.errors import InputError

if TYPE_CHECKING:
    from shunter.agents.networks.base import Batch
    from shunter.agents.networks.native import Towers


class LayeredNetwork(Network):
    """Two stacks of layers on the flat observation: one for the policy, one for the value.

    Where both are made of ``nn.Linear`` with a bias, each followed by ``nn.ReLU``, ``nn.Tanh`` or nothing, the core
    reads its checkpoints and decides without PyTorch. Any other layers will do, too, and PyTorch is then asked.
    """

    def __init__(self, policy: nn.Sequential, value: nn.Sequential) -> None:
        """Puts the network together.

        Args:
            policy: From an observation to a logit for each action; its last layer is an ``nn.Linear``.
            value: From an observation to one number; likewise.

        Raises:
            InputError: A stack does not end with an ``nn.Linear``.
        """
        super().__init__()
        self.policy = policy
        self.value = value
        self._last = tuple(_last(name, stack) for name, stack in (("policy", policy), ("value", value)))

    def evaluate(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Returns logits and values."""
        observations = cast("DenseBatch", batch).observations
        return self.policy(observations), self.value(observations).squeeze(1)

    def policy_layers(self) -> tuple[nn.Linear, ...]:
        """Returns the policy's last layer."""
        return self._last[:1]

    def value_layer(self) -> nn.Linear:
        """Returns the value's last layer."""
        return self._last[1]


def layers_of(network: nn.Module) -> Towers | None:
    """Returns the layers of a network as ``policy.json`` tells them; None if the core could not read it so."""
    inner = getattr(network, "inner", network)
    own = (LayeredNetwork.pack, LayeredNetwork.evaluate, LayeredNetwork.forward)
    if not isinstance(inner, LayeredNetwork) or (type(inner).pack, type(inner).evaluate, type(inner).forward) != own:
        return None
    towers = {"policy": _described(inner.policy), "value": _described(inner.value)}
    found: Towers = {name: tower for name, tower in towers.items() if tower is not None}
    return found if len(found) == len(towers) else None


def _described(stack: nn.Sequential) -> list[list[int | str]] | None:
    """Returns the size of each layer and the function behind it; None: there are others than the core knows."""
    functions: dict[type[nn.Module], str] = {nn.ReLU: "relu", nn.Tanh: "tanh"}
    layers: list[list[int | str]] = []
    for module in stack:
        if type(module) is nn.Linear and module.bias is not None:
            layers.append([module.out_features, "none"])
        elif type(module) in functions and layers and layers[-1][1] == "none":
            layers[-1][1] = functions[type(module)]
        else:
            return None
    return layers


def _last(name: str, stack: nn.Sequential) -> nn.Linear:
    last = stack[-1] if len(stack) else None
    if not isinstance(last, nn.Linear):
        raise InputError(f"the {name} ends with {type(last).__name__}; expected nn.Linear as its last layer")
    return last
