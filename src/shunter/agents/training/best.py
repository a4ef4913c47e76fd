"""Which policy of a training is its best, and when further training has ceased to help."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

OBJECTIVE: Final = "objective"
"""What evaluations return under this name decides which policy is the best: lower is better."""
GAIN: Final = "gain"
"""Under this name: by how much the objective has fallen since the beginning."""
GAIN_ERROR: Final = "gain_error"
"""Under this name: the standard error of the gain."""


@dataclass(frozen=True)
class NearMiss:
    """A later policy that was better than the beginning, but not by enough."""

    steps: int
    gain: float
    gain_error: float | None
    """None: one episode does not tell."""


@dataclass
class Best:
    """The best policy so far.

    The first that is observed stays the best until a later one is better by more than `margin_se` standard errors. Of
    those that are, the one with the lowest objective is the best.
    """

    margin_se: float
    objective: float | None = None
    steps: int | None = None
    near: NearMiss | None = None
    """Of the policies that were not better by enough, the one that came nearest."""

    def observe(self, measured: Mapping[str, float], steps: int) -> bool:
        """Takes in an evaluation, and returns whether its policy is the best so far."""
        objective = measured[OBJECTIVE]
        # A policy that could not be measured is never the best, and is no reason to stop training either.
        if not math.isfinite(objective) or (self.objective is not None and objective >= self.objective):
            return False
        # The first policy of all has nothing to stand out from.
        if self.objective is not None and not self._stands_out(measured):
            gain, error = measured[GAIN], measured[GAIN_ERROR]
            if self.near is None or gain > self.near.gain:
                self.near = NearMiss(steps, gain, error if math.isfinite(error) else None)
            return False
        self.objective, self.steps = objective, steps
        return True

    def _stands_out(self, measured: Mapping[str, float]) -> bool:
        if self.margin_se == 0 or GAIN not in measured:
            return True
        return measured[GAIN] > self.margin_se * measured[GAIN_ERROR]

    def state(self) -> dict[str, Any]:
        """Returns what has been found."""
        near = None if self.near is None else asdict(self.near)
        return {"best": self.objective, "best_steps": self.steps, "near": near}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Goes back to what had been found."""
        self.objective, self.steps = state["best"], state["best_steps"]
        near = state.get("near")
        self.near = None if near is None else NearMiss(**near)


@dataclass
class EarlyStopping:
    """Says stop after `patience` evaluations in a row that did not become better by more than `threshold`."""

    patience: int | None
    """None: never."""
    threshold: float = 0.0
    reference: float = math.inf
    """The objective that the next one must fall below by more than the threshold."""
    waited: int = 0
    """How many evaluations in a row have not."""

    def observe(self, objective: float) -> bool:
        """Takes in an objective, lower being better, and returns whether to stop."""
        if objective < self.reference - self.threshold:
            self.reference = objective
            self.waited = 0
        else:
            self.waited += 1
        return self.patience is not None and self.waited >= self.patience
