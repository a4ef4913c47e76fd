"""Training that has gone wrong is stopped before it spoils what was good."""

from __future__ import annotations

import math

from torch import Tensor

from shunter.errors import ShunterError


class DivergenceError(ShunterError):
    """A number that training rests on is no longer one."""


def check_finite(what: str, value: float) -> None:
    """Raises an error if a number is infinite or NaN."""
    if not math.isfinite(value):
        raise DivergenceError(
            f"{what} is {value}: training has diverged; take a smaller learning rate, or scale rewards"
        )


def check_tensors(tensors: dict[str, Tensor]) -> None:
    """Raises an error if a weight is infinite or NaN."""
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
            check_finite(name, math.nan)
