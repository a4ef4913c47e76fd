"""When waiting jobs start, in many futures: the core's forward simulations."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from shunter.errors import InputError
from shunter.native import core_numbers, ffi, pointer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shunter.simulation.simulation import Simulation

RUN_TIMES: Final = core_numbers("RunTimes")
"""Where run times come from, by name, with the core's numbers."""
ARRIVALS: Final = core_numbers("Arrivals")
"""Where jobs to come are from, by name, with the core's numbers."""
NEVER: Final = -1
"""Stands among start times for a job that has not started when the horizon is reached."""
MOST_FUTURES: Final = 100_000
MOST_DAYS: Final = 366
DAY_MS: Final = 86_400_000


@dataclass(frozen=True)
class Foresight:
    """What is asked of futures."""

    futures: int = 100
    seed: int = 0
    """A future's draws depend on this, the future and the job alone: two questions have the same futures."""
    horizon_days: float = 28.0
    """How far to look; a job that has not started by then is only known not to have."""
    run_times: str = "drawn"
    """``drawn`` from what is known of jobs like them, ``requested``, or ``logged``, which nobody knows."""
    arrivals: str = "recent"
    """``recent``: like those of the last four weeks; ``nobody``; or ``logged``, which nobody knows."""
    correlation: float = 0.6
    """How far the run times of one user's jobs go together, from 0 to 1."""

    def __post_init__(self) -> None:
        """Checks the numbers.

        Raises:
            InputError: One is out of range.
        """
        if not 1 <= self.futures <= MOST_FUTURES:
            raise InputError(f"futures is {self.futures}; expected 1 to {MOST_FUTURES:,}")
        if not 0 < self.horizon_days <= MOST_DAYS:
            raise InputError(f"horizon is {self.horizon_days:g} days; expected more than 0, and {MOST_DAYS} at most")
        if not 0 <= self.seed < 2**64:
            raise InputError(f"seed is {self.seed}; expected 0 to 2**64 - 1")


def foresee(
    simulation: Simulation,
    jobs: Sequence[int] | NDArray[np.uint32],
    asked: Foresight,
    *,
    threads: int | None = None,
) -> NDArray[np.int64]:
    """Returns when waiting jobs start: a row a future, a column a job; `NEVER`: not within the horizon.

    Args:
        simulation: At an instant at which a decision is due; it stays as it is.
        jobs: The places of waiting or held jobs.
        asked: How many futures, and what they are made of.
        threads: How many share the futures; None: one for each core. The answer does not depend on it.
    """
    wanted = np.ascontiguousarray(jobs, dtype=np.uint32)
    starts = np.full((asked.futures, len(wanted)), NEVER, dtype=np.int64)
    told = ffi.new(
        "ShunterForesight *",
        {
            "seed": asked.seed,
            "horizon_ms": max(1, round(asked.horizon_days * DAY_MS)),
            "correlation": asked.correlation,
            "futures": asked.futures,
            "threads": os.cpu_count() or 1 if threads is None else threads,
            "run_times": RUN_TIMES[asked.run_times],
            "arrivals": ARRIVALS[asked.arrivals],
        },
    )
    simulation.foresee(told, pointer(wanted), len(wanted), pointer(starts))
    return starts
