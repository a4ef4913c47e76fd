"""Which days of a log serve what, and how much work is done on them.

The first half of the jobs is there to search in, the next fifth to choose on, and the last 30 % to judge on, once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from shunter.comparison.statistics import LEAST_BLOCKS
from shunter.comparison.stretches import stretched
from shunter.model.windows import MOST_BLOCKS
from shunter.tuning.choosing import HELD_BACK

if TYPE_CHECKING:
    from shunter.comparison.bench import Bench
    from shunter.model.log import Log

FIRST_DAYS: Final = 0.5
"""The part of the jobs, from the first on, in which policies are compared, tuned and trained."""
LATER_DAYS: Final = 0.7
"""From this part of the jobs on, nothing is looked at until the choice is fixed."""
SHORTEST_PART: Final = 32
LONGEST_STRETCH: Final = 50_000
"""Of longer days only so many jobs are judged on: more would take too long on large machines."""
LONGEST_WINDOW: Final = 4_096
WARMUP_LEAST, WARMUP_MOST = 256, 2_048
STRETCHES, PARTS_OF_EACH = 4, 3
"""The first days are simulated in so many stretches, which cores share, and each is measured in so many parts."""
LEAST_JOBS: Final = round(LEAST_BLOCKS * SHORTEST_PART / (LATER_DAYS - FIRST_DAYS))
"""In a shorter log the days to choose on have no room for enough windows to be sure of anything."""


@dataclass(frozen=True)
class Effort:
    """How much is searched."""

    jobs: int
    """On so many jobs of the first days, at most, classics are compared."""
    windows: int
    """In so many windows of the first days a score is tuned."""
    generations: int
    population: int
    steps: int
    """How many decisions a network learns from; 0: none is trained."""


QUICK: Final = Effort(jobs=20_000, windows=12, generations=12, population=16, steps=0)
"""About a minute."""
SHORT: Final = Effort(jobs=20_000, windows=16, generations=16, population=24, steps=0)
USUAL: Final = Effort(jobs=50_000, windows=20, generations=30, population=32, steps=0)
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
    return replace(kind, steps=steps if steps >= LEAST_STEPS else 0)


@dataclass(frozen=True)
class Days:
    """The days of one log, by the places of its jobs."""

    jobs: int
    """Of the whole log."""
    middle: int
    """So many jobs are the first days."""
    early: int
    """So many jobs lie before the later days."""
    window: int
    """How many jobs each window has in which a score is tuned."""
    warmup: int
    """How many jobs before a stretch or a window are simulated too, so that it does not begin on an empty machine."""

    @staticmethod
    def of(jobs: int) -> Days:
        """Returns the days of a log with so many jobs."""
        window = min(int(FIRST_DAYS * jobs) // 10, LONGEST_WINDOW)
        warmup = min(max(window // 2, WARMUP_LEAST), WARMUP_MOST, jobs // 10)
        return Days(jobs, round(FIRST_DAYS * jobs), round(LATER_DAYS * jobs), window, warmup)

    @property
    def is_enough(self) -> bool:
        """Whether the log is long enough to hold days back."""
        return self.jobs >= LEAST_JOBS

    @property
    def first(self) -> tuple[float, float]:
        """The first days, as fractions of the early jobs."""
        return (0.0, self.middle / self.early)

    @property
    def choosing(self) -> tuple[float, float]:
        """The days on which the choice is made, as fractions of the early jobs."""
        return (self.middle / self.early, 1.0)

    @property
    def learned_from(self) -> tuple[float, float]:
        """The part of the first days that a network learns from; the best of its training is found on the rest."""
        return (0.0, (1 - HELD_BACK) * self.middle / self.early)

    def first_bench(self, log: Log, most: int, threads: int) -> Bench:
        """Returns a bench on the last of the first days, so many jobs at most."""
        first = max(0, self.middle - most)
        return stretched(
            log, first, self.middle, stretches=STRETCHES, parts=PARTS_OF_EACH, warmup=self.warmup, threads=threads
        )

    def choosing_bench(self, log: Log, threads: int) -> Bench:
        """Returns a bench on the days on which the choice is made, as one stretch."""
        return self._judging(log, self.middle, self.early, threads)

    def later_bench(self, log: Log, threads: int) -> Bench:
        """Returns a bench on the later days, as one stretch."""
        return self._judging(log, self.early, self.jobs, threads)

    def _judging(self, log: Log, first: int, end: int, threads: int) -> Bench:
        end = min(end, first + LONGEST_STRETCH)
        parts = max(1, min(MOST_BLOCKS, (end - first) // SHORTEST_PART))
        return stretched(log, first, end, stretches=1, parts=parts, warmup=self.warmup, threads=threads)
