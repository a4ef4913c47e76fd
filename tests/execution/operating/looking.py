"""What an operation finds out beside its cycles, next to a scheduler that runs jobs."""

from __future__ import annotations

import time
from typing import Any

from tests.execution.operating.beside import Beside

PATIENCE_S = 90.0


def look_until(beside: Beside, jobs: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Observes until so many starts are scored, and it was looked back on a stretch in which so many jobs ended.

    Returns:
        The counterfactual, and the status.
    """
    operation = beside.make(
        "observe", eta_every_s=1.0, counterfactual_every_s=2.0, counterfactual_stretch_s=3600.0, site_policy="fcfs"
    )
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        operation.cycle()
        status = beside.status()
        found = status["counterfactual"]
        if found and found["ended"] >= jobs and status["eta"]["over"] and status["eta"]["jobs"] >= jobs:
            return found, status
        time.sleep(0.2)
    raise AssertionError(f"waited in vain for {jobs} jobs: {beside.status()} {beside.said}")
