"""Which policy of a training is its best, and when further training has ceased to help."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

OBJECTIVE: Final = "objective"
"""What evaluations return under this name decides which policy is the best: lower is better."""
BOUNDS_BROKEN: Final = "bounds_broken"
"""Under this name: by how much bounds are broken; 0, or nothing said: all of them hold."""
GAIN: Final = "gain"
"""Under this name: by how much the policy is better than the beginning, in what the objective counts."""
GAIN_ERROR: Final = "gain_error"
"""Under this name: the standard error of the gain."""


LEAD: Final = "lead"
"""Under this name: by how much the policy is better than the best so far, on the same episodes; nothing said: what the
objectives tell."""


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

    Bounds come first: a policy that breaks them by more than the best is never better, whatever its objective, and one
    that breaks them by less always is. So no policy that breaks a bound replaces a beginning that keeps it.

    Of policies that keep their bounds, a beginning that does stays the best until a later one is better by more than
    `margin_se` standard errors. Of those that are, each that is better than the best so far takes its place.
    """

    margin_se: float
    objective: float | None = None
    broken: float = 0.0
    """By how much the best breaks bounds; 0: it keeps them."""
    steps: int | None = None
    begins_within: bool = True
    """Whether the beginning keeps its bounds; if not, gains over it say nothing."""
    near: NearMiss | None = None
    """Of the policies that were not better by enough, the one that came nearest."""

    def observe(self, measured: Mapping[str, float], steps: int) -> bool:
        """Takes in an evaluation, and returns whether its policy is the best so far."""
        objective, broken = measured[OBJECTIVE], measured.get(BOUNDS_BROKEN, 0.0)
        # A policy that could not be measured is never the best, and is no reason to stop training either.
        if not (math.isfinite(objective) and math.isfinite(broken)):
            return False
        if self.objective is None:
            self.begins_within = broken == 0
        elif broken > self.broken or (broken == self.broken and not self._is_better(measured, steps)):
            return False
        self.objective, self.broken, self.steps = objective, broken, steps
        return True

    def _is_better(self, measured: Mapping[str, float], steps: int) -> bool:
        """Returns whether a policy whose bounds are as the best's is better, and notes one that nearly is."""
        assert self.objective is not None, "the first policy of all is the best"
        if measured.get(LEAD, self.objective - measured[OBJECTIVE]) <= 0:
            return False
        if self._stands_out(measured):
            return True
        gain, error = measured[GAIN], measured[GAIN_ERROR]
        if self.near is None or gain > self.near.gain:
            self.near = NearMiss(steps, gain, error if math.isfinite(error) else None)
        return False

    def _stands_out(self, measured: Mapping[str, float]) -> bool:
        if self.margin_se == 0 or not self.begins_within or GAIN not in measured:
            return True
        return measured[GAIN] > self.margin_se * measured[GAIN_ERROR]

    def state(self) -> dict[str, Any]:
        """Returns what has been found."""
        near = None if self.near is None else asdict(self.near)
        bounds = {"best_broken": self.broken, "begins_within": self.begins_within}
        return {"best": self.objective, "best_steps": self.steps, "near": near} | bounds

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Goes back to what had been found."""
        self.objective, self.steps = state["best"], state["best_steps"]
        # Runs of earlier versions did not tell bounds from the objective.
        self.broken, self.begins_within = state.get("best_broken", 0.0), state.get("begins_within", True)
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

    def observe(self, measured: Mapping[str, float]) -> bool:
        """Takes in an evaluation, and returns whether to stop; a policy that breaks a bound has not become better."""
        within = measured.get(BOUNDS_BROKEN, 0.0) == 0
        if within and measured[OBJECTIVE] < self.reference - self.threshold:
            self.reference = measured[OBJECTIVE]
            self.waited = 0
        else:
            self.waited += 1
        return self.patience is not None and self.waited >= self.patience
