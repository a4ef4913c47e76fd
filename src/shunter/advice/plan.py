"""Which days of a log serve what, and how much work is done on them.

The first half of the jobs is there to search in, the next fifth to choose on, and the last 30 % to judge on, once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from shunter.comparison.statistics import LEAST_BLOCKS
from shunter.model.windows import MOST_BLOCKS
from shunter.tuning.choosing import HELD_BACK

FIRST_DAYS: Final = 0.5
"""The part of the jobs, from the first on, in which policies are compared, tuned and trained."""
LATER_DAYS: Final = 0.7
"""From this part of the jobs on, nothing is looked at until the choice is fixed."""
LONGEST_WINDOW, SHORTEST_WINDOW = 1024, 32
WARMUP_LEAST: Final = 256
LEAST_JOBS: Final = round(LEAST_BLOCKS * SHORTEST_WINDOW / (LATER_DAYS - FIRST_DAYS))
"""In a shorter log the days to choose on have no room for enough windows to be sure of anything."""


@dataclass(frozen=True)
class Effort:
    """How much is searched."""

    windows: int
    """Of the first days."""
    generations: int
    population: int
    steps: int
    """How many decisions a network learns from; 0: none is trained."""


QUICK: Final = Effort(windows=12, generations=8, population=12, steps=0)
"""About a minute."""
SHORT: Final = Effort(windows=20, generations=10, population=16, steps=0)
USUAL: Final = Effort(windows=40, generations=30, population=32, steps=0)
USUAL_FROM_S: Final = 240.0
"""With less time the search is a short one."""
TRAINING_SHARE, STEPS_A_SECOND = 0.5, 8_000.0
"""The part of the time that a training may take, and how fast it goes on a small machine. The number of steps follows
from the time that is given, and not from the time that is left: the same options give the same result."""
LEAST_STEPS: Final = 100_000
"""A shorter training would change nothing."""


def effort_for(budget_s: float) -> Effort:
    """Returns how much can be searched in some time."""
    kind = USUAL if budget_s >= USUAL_FROM_S else SHORT
    steps = int(TRAINING_SHARE * budget_s * STEPS_A_SECOND)
    return Effort(kind.windows, kind.generations, kind.population, steps if steps >= LEAST_STEPS else 0)


@dataclass(frozen=True)
class Days:
    """The days of one log, by the places of its jobs, and the windows in them."""

    jobs: int
    """Of the whole log."""
    early: int
    """So many jobs lie before the later days."""
    length: int
    """How many jobs of each window are measured."""
    warmup: int
    """How many jobs before it are simulated too."""

    @staticmethod
    def of(jobs: int) -> Days:
        """Returns the days of a log with so many jobs."""
        # As many windows have room in the days to choose on as there are blocks to draw from.
        length = int((LATER_DAYS - FIRST_DAYS) * jobs) // MOST_BLOCKS
        length = min(max(length, SHORTEST_WINDOW), LONGEST_WINDOW)
        return Days(jobs, round(LATER_DAYS * jobs), length, min(max(length // 2, WARMUP_LEAST), jobs // 10))

    @property
    def is_enough(self) -> bool:
        """Whether the log is long enough to hold days back."""
        return self.jobs >= LEAST_JOBS

    @property
    def first(self) -> tuple[float, float]:
        """The first days, as fractions of the early jobs."""
        return (0.0, FIRST_DAYS / LATER_DAYS)

    @property
    def choosing(self) -> tuple[float, float]:
        """The days on which the choice is made, as fractions of the early jobs."""
        return (FIRST_DAYS / LATER_DAYS, 1.0)

    @property
    def learned_from(self) -> tuple[float, float]:
        """The part of the first days that a network learns from; the best of its training is found on the rest."""
        return (0.0, (1 - HELD_BACK) * FIRST_DAYS / LATER_DAYS)

    @property
    def later(self) -> tuple[float, float]:
        """The later days, as fractions of all jobs."""
        return (self.early / self.jobs, 1.0)
