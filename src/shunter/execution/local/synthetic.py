"""Jobs that are made up: so many cores for so many seconds, by `stress-ng`, or by sleeping where nothing is to work."""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass
from typing import Final

from shunter.errors import InputError
from shunter.execution.local.spec import JobSpec

STRESS: Final = "stress-ng"
LIMIT_TIMES, LIMIT_MORE_S = 2.0, 5.0
"""A job may run so many times as long as it should, and so many seconds more: users ask for too much, and a machine can
be busy. Policies see this limit."""
MOST_JOBS: Final = 100_000


@dataclass(frozen=True)
class Uniform:
    """Numbers that are drawn evenly between two."""

    low: float
    high: float

    @classmethod
    def parse(cls, option: str, text: str, low: float, high: float) -> Uniform:
        """Returns the range that a text means: ``1:4``, or ``5`` for always the same.

        Raises:
            InputError: It means none, or one outside of what may be.
        """
        first, colon, last = text.partition(":")
        try:
            found = cls(float(first), float(last if colon else first))
        except ValueError:
            raise InputError(f"{option} is {text!r}; write a range, as in 1:4, or one number") from None
        if not low <= found.low <= found.high <= high:
            raise InputError(f"{option} is {text!r}; expected a range within {low:g}:{high:g}, the lower number first")
        return found


@dataclass(frozen=True)
class Synthetic:
    """How jobs are made up."""

    count: int
    cores: Uniform
    seconds: Uniform
    works: bool
    """Whether they keep cores busy; otherwise they sleep."""
    folder: str

    def __post_init__(self) -> None:
        if not 1 <= self.count <= MOST_JOBS:
            raise InputError(f"--generate is {self.count}; expected 1 to {MOST_JOBS:,} jobs")

    @staticmethod
    def can_work() -> bool:
        """Returns whether there is a program that keeps cores busy."""
        return shutil.which(STRESS) is not None

    def jobs(self, seed: int) -> list[JobSpec]:
        """Returns jobs; the same ones for the same seed."""
        source = random.Random(seed)
        return [self._job(source) for _ in range(self.count)]

    def _job(self, source: random.Random) -> JobSpec:
        cores = source.randint(round(self.cores.low), round(self.cores.high))
        seconds = source.uniform(self.seconds.low, self.seconds.high)
        if self.works:
            # It knows whole seconds alone.
            seconds = max(1, round(seconds))
            command: tuple[str, ...] = (STRESS, "--quiet", "--cpu", str(cores), "--timeout", f"{seconds}s")
        else:
            seconds = round(seconds, 3)
            command = ("sleep", f"{seconds:g}")
        return JobSpec(command, self.folder, cores=cores, time_s=LIMIT_TIMES * seconds + LIMIT_MORE_S)
