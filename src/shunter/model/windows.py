"""Windows of a log on which policies are compared, dealt over blocks of time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from shunter.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.model.log import Log

MOST_BLOCKS = 10
"""The most blocks, unless the user says otherwise."""
MOST_COUNT = 10_000_000
"""More windows, or jobs in a window, are a slip of the finger."""


@dataclass(frozen=True)
class Windows:
    """Windows of equal length, sorted by their first jobs; each lies in a block of the log."""

    first: NDArray[np.uintp]
    """(windows,): the place of each window's first measured job in the workload."""
    block: NDArray[np.int64]
    """(windows,): the number of the block in which the window begins, from 0."""
    length: int
    """How many jobs are measured in each window."""
    warmup: int
    """How many jobs before them are simulated too, so that the window does not begin on an empty cluster."""

    def __len__(self) -> int:
        return len(self.first)

    @staticmethod
    def whole(jobs: int) -> Windows:
        """Returns all jobs of a log as its one window."""
        return Windows(np.zeros(1, dtype=np.uintp), np.zeros(1, dtype=np.int64), length=jobs, warmup=0)

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> Windows:
        """Returns some of the windows, by an index or a mask."""
        return replace(self, first=self.first[rows], block=self.block[rows])

    @property
    def simulated_first(self) -> NDArray[np.uintp]:
        """(windows,): the place of each window's first simulated job."""
        return self.first - np.uintp(self.warmup)

    @property
    def simulated_length(self) -> int:
        """How many jobs are simulated in each window."""
        return self.warmup + self.length

    @property
    def blocks(self) -> int:
        """In how many blocks there are windows."""
        return len(np.unique(self.block))


@dataclass(frozen=True)
class Days:
    """Some days of each log, and how many windows are taken from them."""

    option: str
    """By which option they were given, for errors: ``--train``."""
    part: tuple[float, float]
    """From which fraction of a log's jobs to which one."""
    windows: int
    length: int
    """How many jobs of each window are measured."""
    warmup: int
    """How many jobs before them are simulated too."""
    seed: int

    def windows_of(self, log: Log) -> Windows:
        """Returns the windows of a log.

        Raises:
            InputError: These days have fewer jobs than a window.
        """
        return choose_windows(
            len(log.workload),
            count=self.windows,
            length=self.length,
            seed=self.seed,
            part=self.part,
            warmup=self.warmup,
            log=log.workload.name,
            part_option=self.option,
        )


def choose_windows(
    jobs: int,
    *,
    count: int,
    length: int,
    blocks: int | None = None,
    seed: int = 0,
    part: tuple[float, float] = (0.0, 1.0),
    warmup: int = 0,
    log: str = "the log",
    part_option: str = "--part",
) -> Windows:
    """Deals windows evenly over blocks of the log; where in its block a window begins is drawn from the seed.

    The part of the log that is asked for, less what the first window's warm-up takes of it, is cut into blocks of equal
    numbers of jobs. A window begins in its block and ends within the part. No two are the same: a block with fewer
    beginnings than windows are dealt to it has as many windows as beginnings.

    Args:
        jobs: How many jobs the log has.
        count: How many windows are wanted.
        length: How many jobs are measured in each.
        blocks: How many blocks; by default as many as hold a whole window each, ten at most.
        seed: Where the beginnings come from.
        part: From which fraction of the log's jobs to which one.
        warmup: How many jobs before each window are simulated too; they may lie before the part.
        log: What errors call the log.
        part_option: By which option the part was given, for errors.

    Raises:
        InputError: A number is out of range, or the part is too short for the windows.
    """
    check_numbers(count=count, length=length, blocks=blocks, part=part, warmup=warmup)
    low, high = part_of_jobs(jobs, part, warmup)
    room = high - low
    if room < length:
        where = f"{log} has {jobs}"
        if part != (0.0, 1.0):
            in_part = round(part[1] * jobs) - round(part[0] * jobs)
            where += f", its part {part[0]:g}:{part[1]:g} ({part_option}) {in_part}"
        if warmup:
            where += f", and {max(room, 0)} of them have {warmup} jobs (--warmup) before them"
        # A third: so that there is more than one window to look at.
        hint = f"as in --length {room // 3}" if room >= 3 else "or a larger part"
        raise InputError(
            f"a window has {length} jobs (--length), but {where}; give a shorter window, {hint}, or a longer log"
        )
    # In so many blocks a whole window has room.
    most = room // length
    if blocks is None:
        blocks = min(MOST_BLOCKS, most, count)
    elif blocks > most:
        raise InputError(
            f"--blocks is {blocks}; {room} jobs make at most {most} blocks in which a window of {length} jobs "
            "(--length) has room; give fewer, or shorter windows"
        )
    return _dealt(np.linspace(low, high, blocks + 1).round().astype(np.int64), count, length, warmup, seed)


def part_of_jobs(jobs: int, part: tuple[float, float], warmup: int = 0) -> tuple[int, int]:
    """Returns the place of the first job of a log that a window of a part may measure, and that behind the last."""
    # The first window needs its warm-up before it, if need be from before the part.
    return max(round(part[0] * jobs), warmup), round(part[1] * jobs)


def parse_part(text: str, option: str = "--part") -> tuple[float, float]:
    """Returns the part of a log that ``0.7:1`` means, the last 30 % of its jobs; the option is named in errors."""
    try:
        low, high = (float(bound) for bound in text.split(":"))
    except ValueError:
        raise InputError(f"{option} is {text!r}; expected two fractions of the log such as 0.7:1") from None
    return low, high


def check_numbers(*, count: int, length: int, blocks: int | None, part: tuple[float, float], warmup: int) -> None:
    """Raises an error for a number that is wrong for any log; their meaning is written at `choose_windows`."""
    for option, value, least in (("--windows", count, 1), ("--length", length, 1), ("--warmup", warmup, 0)):
        if not least <= value <= MOST_COUNT:
            raise InputError(f"{option} is {value}; expected {least} to {MOST_COUNT}")
    if blocks is not None and not 1 <= blocks <= count:
        raise InputError(f"--blocks is {blocks}; expected 1 to {count}, the number of windows (--windows)")
    if not 0 <= part[0] < part[1] <= 1:
        raise InputError(f"--part is {part[0]:g}:{part[1]:g}; expected two rising fractions from 0 to 1, as in 0.7:1")


def _dealt(edges: NDArray[np.int64], count: int, length: int, warmup: int, seed: int) -> Windows:
    """Draws the windows' beginnings, given where the blocks begin and the last one ends."""
    # The windows of a seed must stay what they are: published figures rest on them.
    random = np.random.default_rng(seed)
    blocks = len(edges) - 1
    # As many windows to each block as to the next, give or take one.
    dealt = np.bincount(np.arange(count) * blocks // count, minlength=blocks)
    first, block = [], []
    for number, wanted in enumerate(dealt):
        # A window begins in its block but may end in the next one; the last block's must end within the part.
        beginnings = min(edges[number + 1], edges[-1] - length + 1) - edges[number]
        drawn = random.choice(beginnings, size=min(wanted, beginnings), replace=False)
        first.append(np.sort(edges[number] + drawn))
        block.append(np.full(len(drawn), number))
    return Windows(
        first=np.concatenate(first).astype(np.uintp),
        block=np.concatenate(block).astype(np.int64),
        length=length,
        warmup=warmup,
    )
