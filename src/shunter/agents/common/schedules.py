"""Numbers that change as training goes on: learning rates, weights of the entropy, exploration."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from shunter.errors import InputError

SHAPES: Final[dict[str, Callable[[float, float, float], float]]] = {
    "constant": lambda first, last, part: first,
    "linear": lambda first, last, part: first + (last - first) * part,
    "exponential": lambda first, last, part: first * (last / first) ** part,
    "cosine": lambda first, last, part: last + (first - last) * (1 + math.cos(math.pi * part)) / 2,
    "warmup-cosine": lambda first, last, part: last + (first - last) * (1 + math.cos(math.pi * part)) / 2,
}
"""By name: the value, from the first one, the last one and the part of the way (0 to 1) that is done."""
WARMUP: Final = "warmup-cosine"


@dataclass(frozen=True)
class ParameterSchedule:
    """A number as a function of the steps done."""

    shape: str
    first: float
    last: float
    steps: int
    """Where the last value is reached; it stays from there on."""
    warmup_steps: int = 0
    """``warmup-cosine``: over so many steps it rises from 0 to the first value."""

    def __post_init__(self) -> None:
        """Raises an error for what has no meaning."""
        if self.shape not in SHAPES:
            raise InputError(f"schedule {self.shape!r} is unknown; choose one of {', '.join(SHAPES)}")
        # A geometric path never reaches 0, and never leaves it.
        if self.shape == "exponential" and not (self.first > 0 and self.last > 0):
            what = f"from {self.first:g} to {self.last:g}"
            raise InputError(f"an exponential schedule cannot go {what}; give a last value above 0, or take linear")
        if self.warmup_steps and self.shape != WARMUP:
            raise InputError(f"a schedule that is {self.shape} has no warm-up; take {WARMUP}, or no warm-up steps")
        if not 0 <= self.warmup_steps < self.steps:
            raise InputError(f"the warm-up of a schedule is {self.warmup_steps} of {self.steps} steps; take fewer")

    def at(self, step: int) -> float:
        """Returns the number after so many steps."""
        # From 0: the first gradients of fresh weights are the largest and the least meaningful.
        if step < self.warmup_steps:
            return self.first * step / self.warmup_steps
        part = min(1.0, (step - self.warmup_steps) / (self.steps - self.warmup_steps))
        return SHAPES[self.shape](self.first, self.last, part)
