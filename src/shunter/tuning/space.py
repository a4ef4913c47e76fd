"""What is searched: vectors of plain numbers, and the policies that they stand for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

DAY_S: Final = 86_400.0
PAIRS: Final = "pairs"
"""The score over pairs of jobs and types of GPUs, which goes with prices of types."""


@dataclass(frozen=True)
class Axis:
    """One number of a vector: where the search begins, and how far it looks at first."""

    name: str
    center: float
    spread: float


@dataclass(frozen=True)
class Space:
    """A family of policies."""

    kind: str
    """The policy's name."""
    axes: tuple[Axis, ...]
    decode: Callable[[dict[str, float]], dict[str, float]]
    """From the numbers, by name, to the policy's parameters."""

    @property
    def center(self) -> NDArray[np.float64]:
        """Where the search begins."""
        return np.array([axis.center for axis in self.axes])

    @property
    def spread(self) -> NDArray[np.float64]:
        """How far it looks at first."""
        return np.array([axis.spread for axis in self.axes])

    def parameters(self, vector: NDArray[np.float64]) -> dict[str, float]:
        """Returns the parameters of the policy that a vector stands for."""
        named = {axis.name: float(value) for axis, value in zip(self.axes, vector, strict=True)}
        return self.decode(named)

    def distance(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Returns how far each vector is from where the search begins: the mean square, in first spreads."""
        return np.asarray((((vectors - self.center) / self.spread) ** 2).mean(axis=1))


def _linear(numbers: dict[str, float]) -> dict[str, float]:
    # The weight of the estimate is 1: a score and its double give the same order.
    parameters = {"estimate": 1.0, "size": numbers["size"]}
    # A negative weight of the wait would let jobs starve; the search may step there, the policy may not.
    parameters |= {name: max(numbers[name], 0.0) for name in ("wait", "wait_ratio", "hold_share")}
    as_they_are = ("free_estimate", "free_size", "queue_estimate", "queue_size", "reserve_below")
    parameters |= {name: numbers[name] for name in as_they_are}
    # Times are searched in logarithms: from minutes to days is one even range then.
    parameters["hold_from_s"] = math.exp(numbers["log_hold_from"])
    parameters["hold_patience_s"] = math.exp(numbers["log_hold_patience"])
    return parameters


def _multifactor(numbers: dict[str, float]) -> dict[str, float]:
    weights = {name: 1000.0 * max(numbers[name], 0.0) for name in ("age", "fair_share")}
    return weights | {
        # Slurm has no negative weight of size, but a switch that favors small jobs.
        "size": 1000.0 * abs(numbers["size"]),
        "favor_small": float(numbers["size"] < 0),
        "max_age_s": math.exp(numbers["log_max_age"]),
        "half_life_s": math.exp(numbers["log_half_life"]),
    }


def _pairs(numbers: dict[str, float]) -> dict[str, float]:
    # As in the linear score: a score and its double give the same order, and a limit and a loss the same refusals.
    parameters = {"estimate": 1.0, "lost_price": 1.0}
    parameters |= {name: max(numbers[name], 0.0) for name in ("wait", "wait_ratio", "accept_wait")}
    return parameters | {name: value for name, value in numbers.items() if name not in parameters}


SPACES: Final[dict[str, Space]] = {
    "linear": Space(
        "linear",
        (
            Axis("size", 1.0, 0.15),
            Axis("wait", 0.0, 0.02),
            Axis("wait_ratio", 0.0, 0.01),
            Axis("free_estimate", 0.0, 0.15),
            Axis("free_size", 0.0, 0.15),
            Axis("queue_estimate", 0.0, 0.03),
            Axis("queue_size", 0.0, 0.03),
            Axis("reserve_below", 2.0, 2.0),
            Axis("hold_share", 0.02, 0.04),
            Axis("log_hold_from", math.log(1800.0), 1.0),
            Axis("log_hold_patience", math.log(7200.0), 1.0),
        ),
        _linear,
    ),
    "multifactor": Space(
        "multifactor",
        (
            Axis("age", 1.0, 0.7),
            Axis("size", 0.0, 0.7),
            Axis("fair_share", 1.0, 0.7),
            Axis("log_max_age", math.log(2 * DAY_S), 1.0),
            Axis("log_half_life", math.log(7 * DAY_S), 1.0),
        ),
        _multifactor,
    ),
    PAIRS: Space(
        PAIRS,
        (
            Axis("slower", 0.0, 0.3),
            Axis("size", 0.0, 0.3),
            Axis("wait", 0.0, 0.02),
            Axis("wait_ratio", 0.0, 0.01),
            Axis("free", 0.0, 0.3),
            Axis("apart", 0.0, 0.3),
            Axis("price", 0.0, 0.3),
            Axis("lost_slower", 0.0, 0.3),
            Axis("lost_apart", 1.0, 0.5),
            Axis("accept", math.log(1.2), 0.3),
            Axis("accept_estimate", 0.0, 0.1),
            Axis("accept_size", 0.0, 0.1),
            Axis("accept_wait", 0.0, 0.02),
            Axis("accept_free", 0.0, 0.3),
            Axis("accept_queue", 0.0, 0.1),
        ),
        _pairs,
    ),
}
"""The families that can be tuned. The linear score begins as smallest area first, holding long jobs back a little; the
score over pairs as shortest first, on types whose price is at most 1.2 times that of a job's cheapest."""


def spec_text(kind: str, parameters: dict[str, float]) -> str:
    """Returns a policy's spec with every parameter, exact to the last digit."""
    return f"{kind}?" + "&".join(f"{name}={value!r}" for name, value in parameters.items())
