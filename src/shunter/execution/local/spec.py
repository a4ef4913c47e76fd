"""What a user asks of the queue: a job's command and what it needs. Clients make it, the daemon checks it again."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from shunter.checks import TIME, check_fields, declared, from_table
from shunter.errors import InputError

ACTIVE: Final = ("queued", "held", "running")
OVER: Final = ("done", "failed", "cancelled", "lost", "skipped")
STATES: Final = (*ACTIVE, *OVER)
"""What a job may be."""
MOST_CORES: Final = 1_000_000
MOST_MB: Final = 10**9
MOST_ARRAY: Final = 100_000
ON_LOST: Final = {
    "fail": "the job has the state 'lost', and does not run again",
    "requeue": "the job is queued again",
}
AFTER: Final = {
    "ok": "when all of them have ended with exit code 0; if one fails, this job is skipped",
    "any": "when all of them have ended, however they did",
}
_UNITS_MB: Final = {"k": 1 / 1024, "m": 1.0, "g": 1024.0, "t": 1024.0**2}
_MEMORY: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([kmgt]?)i?b?", re.IGNORECASE)
_ARRAY: Final = re.compile(r"(\d+)-(\d+)(?::(\d+))?(?:%(\d+))?")
_PLAIN_WORD: Final = re.compile(r"[\w@%+:,./-]+")
SHELL: Final = ("/bin/sh", "-c")


@dataclass(frozen=True)
class JobSpec:
    """One job, or an array of jobs that differ by a number."""

    command: tuple[str, ...]
    """The program and its arguments, as the system is told them; a text for the shell is ``/bin/sh -c TEXT``."""
    folder: str
    name: str = declared("", "What the job is called. Jobs of one name are alike to estimates.", metavar="NAME")
    cores: int = declared(1, "Cores, of which no other job has any.", low=1, high=MOST_CORES, metavar="N")
    memory_mb: int = declared(
        0, "Memory: 4G, 500M. A job that holds more is ended.", low=0, high=MOST_MB, metavar="SIZE", option="memory"
    )
    gpus: int = declared(0, "GPUs, of which no other job has any.", low=0, high=1024, metavar="N")
    time_s: float | None = declared(
        None,
        "How long it may run: 2h, 90m. Then it is asked to end (SIGTERM), and 10 seconds later killed.",
        low=0,
        above=True,
        high=1e9,
        metavar=TIME,
        option="time",
        shown_default="no limit",
    )
    priority: int = declared(0, "Higher ones go first.", low=-1_000_000, high=1_000_000, metavar="N")
    group: str = declared("default", "The group, which can be paused and limited.", metavar="NAME")
    after: tuple[int, ...] = declared(
        (), "Start after these jobs: 12,13.", metavar="ID,ID", option="after", shown_default="none"
    )
    after_mode: str = declared("ok", "Whether the jobs of --after must succeed.", choices=AFTER, metavar="ok|any")
    array: str = declared("", "Many jobs with a number each: 0-99, and 0-99%8 for at most 8 at once.", metavar="A-B%N")
    retries: int = declared(0, "How often it runs again if it fails.", low=0, high=1000, metavar="N")
    on_lost: str = declared(
        "fail",
        "What happens if the machine or its supervisor dies while it runs.",
        choices=ON_LOST,
        metavar="fail|requeue",
    )
    nice: int = declared(0, "The nice level.", low=-20, high=19, metavar="N")
    hold: bool = declared(False, "Queue it, but do not start it before 'shunter queue release'.")

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.command or not self.command[0]:
            raise InputError("there is no command; give one behind --, as in: shunter queue submit -- sleep 10")
        for word in (*self.command, self.folder, self.name, self.group):
            if "\0" in word:
                raise InputError(f"a zero byte stands in {word[:20]!r}; leave it out")
        if not self.folder.startswith("/"):
            raise InputError(f"folder is {self.folder!r}; expected a path from the root")
        if any(one < 1 for one in self.after):
            raise InputError(f"after is {list(self.after)}; expected ids of jobs")
        self.indices()

    def indices(self) -> tuple[range | None, int | None]:
        """Returns the numbers of an array and how many of its jobs may run at once; None where there is none.

        Raises:
            InputError: The text of the array is none.
        """
        if not self.array:
            return None, None
        found = _ARRAY.fullmatch(self.array)
        if found is None:
            raise InputError(f"array is {self.array!r}; write 0-99, 0-99:2 for every second, 0-99%8 for 8 at once")
        first, last, step, most = (None if part is None else int(part) for part in found.groups())
        numbers = range(first or 0, (last or 0) + 1, 1 if step is None else max(step, 1))
        if not 1 <= len(numbers) <= MOST_ARRAY or step == 0 or most == 0:
            raise InputError(
                f"array is {self.array!r}; expected 1 to {MOST_ARRAY:,} jobs, a step and a limit of 1 or more"
            )
        return numbers, most

    def to_json(self) -> dict[str, Any]:
        """Returns the fields that say something, as JSON knows them."""
        told = {one.name: getattr(self, one.name) for one in fields(self) if getattr(self, one.name) != one.default}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in told.items()}

    @classmethod
    def from_json(cls, table: Mapping[str, Any], where: str) -> JobSpec:
        """Returns the job that a table means; errors call it as `where` says.

        Raises:
            InputError: A key is unknown, or a value is wrong.
        """
        return from_table(cls, table, where)


def command_of(words: Sequence[str]) -> tuple[str, ...]:
    """Returns the command that words mean: several as they are; one that is more than a program, by the shell."""
    if len(words) != 1:
        return tuple(words)
    is_program = _PLAIN_WORD.fullmatch(words[0]) and ("/" in words[0] or shutil.which(words[0]))
    return (words[0],) if is_program else (*SHELL, words[0])


def memory_mb(text: str) -> int:
    """Returns the megabytes that a text means: ``4G``, ``500M``, ``800``.

    Raises:
        InputError: It means none.
    """
    found = _MEMORY.fullmatch(text.strip())
    if found is None:
        raise InputError(f"memory is {text!r}; write 4G, 500M, or a number of megabytes")
    size = float(found[1]) * _UNITS_MB[found[2].lower() or "m"]
    # Less than a megabyte is more than none.
    return max(1, round(size)) if size else 0
