"""Last layers that say more than one number, or explore by noise; a plain network can always be made of them again.

The last layers of all networks are plain sums. Several of them side by side, one for each quantile of a distribution,
have a mean that is again such a layer: so what has been learned decides as any other network does, in the core too.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from shunter.agents.networks.base import initialize
from shunter.agents.networks.residual import Residual, ResidualBatch
from shunter.errors import InputError

if TYPE_CHECKING:
    from shunter.agents.networks.base import Batch, Network

NOISE: Final = "_noise"
"""What the names end with of how strong the noise of each weight is."""
FIRST_NOISE: Final = 0.5
"""The noise of a fresh layer, over the root of its inputs (Fortunato et al., 2018)."""


class HeadLayer(nn.Linear):
    """A last layer with several outputs in the place of each one, whose weights may have noise.

    What it is for an output of the plain layer stands together: the outputs of its heads, one after the other.
    """

    def __init__(self, plain: nn.Linear, heads: int, *, noisy: bool) -> None:
        """Begins as the plain layer: all heads alike."""
        has_bias = plain.bias is not None
        super().__init__(plain.in_features, plain.out_features * heads, bias=has_bias)
        self._heads = heads
        self._drawn: tuple[Tensor, Tensor] | None = None
        with torch.no_grad():
            self.weight.copy_(plain.weight.repeat_interleave(heads, dim=0))
            if has_bias:
                self.bias.copy_(plain.bias.repeat_interleave(heads))
        if noisy:
            strength = FIRST_NOISE / math.sqrt(plain.in_features)
            self.register_parameter("weight" + NOISE, nn.Parameter(torch.full_like(self.weight, strength)))
            if has_bias:
                self.register_parameter("bias" + NOISE, nn.Parameter(torch.full_like(self.bias, strength)))

    def draw(self, generator: torch.Generator) -> None:
        """Draws noise, which stays until the next time: one number for each input and output (factorized)."""
        sides = [torch.randn(size, generator=generator) for size in (self.in_features, self.out_features)]
        inputs, outputs = (side.sign() * side.abs().sqrt() for side in sides)
        device = self.weight.device
        self._drawn = (torch.outer(outputs, inputs).to(device), outputs.to(device))

    def quiet(self) -> None:
        """Does without noise until more is drawn."""
        self._drawn = None

    def forward(self, rows: Tensor) -> Tensor:
        """Returns the outputs."""
        if self._drawn is None:
            return functional.linear(rows, self.weight, self.bias)
        of_weight, of_bias = self._drawn
        weight = self.weight + getattr(self, "weight" + NOISE) * of_weight
        bias = None if self.bias is None else self.bias + getattr(self, "bias" + NOISE) * of_bias
        return functional.linear(rows, weight, bias)

    def plain(self, values: Tensor) -> Tensor:
        """Returns the mean over heads of the weight or the bias."""
        return values.view(-1, self._heads, *values.shape[1:]).mean(dim=1)


def with_heads(network: Network, heads: int = 1, *, noisy: bool = False) -> Network:
    """Returns a copy of a network with several heads, with noise in its last layers, or both.

    Args:
        network: What it begins as.
        heads: How many scores each action gets, and how many values a state.
        noisy: Whether the last layers explore by noise.

    Raises:
        InputError: The network is one of the user's own, which knows nothing of several heads.
    """
    made = copy.deepcopy(network)
    inner = made.inner if isinstance(made, Residual) else made
    if heads > 1 and not inner.takes_heads:
        what = f"a network of your own, {type(inner).__name__}, has one score for each action"
        raise InputError(f"{what}; train it without a distribution (--no-distributional)")
    made.heads = inner.heads = heads
    lasts = {*inner.policy_layers(), inner.value_layer()}
    for module in list(inner.modules()):
        for name, child in list(module.named_children()):
            if child in lasts:
                assert isinstance(child, nn.Linear)
                setattr(module, name, HeadLayer(child, heads, noisy=noisy))
    return made


def head_layers(network: Network) -> Iterator[tuple[str, HeadLayer]]:
    """Yields the last layers that `with_heads` has made, by name."""
    for name, module in network.named_modules():
        if isinstance(module, HeadLayer):
            yield name, module


def copy_plain(network: Network, plain: Network) -> None:
    """Gives a plain network the weights of one that `with_heads` has made of it: means over heads, without noise."""
    layers = dict(head_layers(network))
    tensors = {}
    for name, value in network.state_dict().items():
        owner, _, part = name.rpartition(".")
        if owner in layers:
            if not part.endswith(NOISE):
                tensors[name] = layers[owner].plain(value)
        else:
            tensors[name] = value
    plain.load_state_dict(tensors)


def fresh(network: Network, seed: int) -> Network:
    """Returns a network of the same kind that knows nothing yet, not even the rule that this one began as.

    It reads what `own_batch` returns of a batch that was packed for this one.
    """
    made = copy.deepcopy(network.inner if isinstance(network, Residual) else network)
    initialize(made, seed)
    return made


def own_batch(batch: Batch) -> Batch:
    """Returns a batch without what the rule says that a network began as."""
    return batch.inner if isinstance(batch, ResidualBatch) else batch
