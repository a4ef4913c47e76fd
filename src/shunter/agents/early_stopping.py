"""When further training has ceased to help."""

from __future__ import annotations

import math
from dataclasses import dataclass


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
