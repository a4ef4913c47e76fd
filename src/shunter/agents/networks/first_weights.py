"""The weights that networks begin with: one rule for the core's networks and for those in PyTorch.

Each layer's weight is orthogonal and each bias 0, as is usual with PPO. A layer draws by the seed and its own name, so
that its weight depends neither on the order of layers nor on what computes them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final
from zlib import crc32

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

INNER: Final = "inner."
"""What the names of weights begin with in a network that is added to the scores of a rule."""
POLICY_GAIN: Final = 0.01
"""Near zero: a young policy prefers nothing."""
VALUE_GAIN: Final = 1.0
HIDDEN_GAIN: Final = math.sqrt(2)
"""A ReLU lets half through."""


def orthogonal(shape: tuple[int, int], gain: float, name: str, seed: int) -> NDArray[np.float32]:
    """Returns a layer's weight whose rows, or columns where there are fewer, are orthogonal and as long as the gain.

    Args:
        shape: (outputs, inputs).
        gain: The length.
        name: Of the layer.
        seed: The same seed and name give the same weight.
    """
    drawn = np.random.default_rng([seed, crc32(name.encode())]).standard_normal((max(shape), min(shape)))
    columns, upper = np.linalg.qr(drawn)
    # With these signs all orthogonal matrices are equally likely (Mezzadri, 2007).
    columns *= np.sign(np.diag(upper))
    oriented = columns if shape[0] >= shape[1] else columns.T
    return np.ascontiguousarray(gain * oriented, np.float32)


def first_weights(
    shapes: Mapping[str, tuple[int, ...]], policy_layers: Iterable[str], value_layer: str, seed: int
) -> dict[str, NDArray[np.float32]]:
    """Returns the weights that one of the core's networks begins with.

    Args:
        shapes: Of its tensors, by name.
        policy_layers: The names of the last layers of the policy.
        value_layer: The name of the last layer of the value.
        seed: For all that is drawn.
    """
    gains = dict.fromkeys(policy_layers, POLICY_GAIN) | {value_layer: VALUE_GAIN}
    found = {}
    for name, shape in shapes.items():
        layer, _, part = name.removeprefix(INNER).rpartition(".")
        # What is added to a rule's scores is at first exactly nothing.
        if part == "weight" and len(shape) == 2 and not (name.startswith(INNER) and layer in policy_layers):
            found[name] = orthogonal((shape[0], shape[1]), gains.get(layer, HIDDEN_GAIN), layer, seed)
        else:
            # The other weights are those of norms, which begin without effect.
            is_norm = part == "weight" and len(shape) == 1
            found[name] = np.full(shape, float(is_norm), np.float32)
    return found
