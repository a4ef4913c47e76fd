"""What a user asks of the queue: a job's command and what it needs. Clients make it, the daemon checks it again."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cache
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
        _check_command(self.command)
        check_texts((self.folder, self.name, self.group))
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


class SpecReader:
    """Reads many jobs, of which most differ by their command alone; what they have in common is checked once."""

    def __init__(self) -> None:
        self._known: dict[str, JobSpec] = {}

    def read(self, table: object, where: str) -> JobSpec:
        """Returns the job that a table means; errors call it as `where` says.

        Raises:
            InputError: A key is unknown, or a value is wrong.
        """
        command = table.get("command") if isinstance(table, dict) else None
        if not isinstance(table, dict) or not isinstance(command, list):
            return from_table(JobSpec, table, where)
        key = json.dumps({name: value for name, value in table.items() if name != "command"}, sort_keys=True)
        alike = self._known.get(key)
        if alike is None or not all(isinstance(word, str) for word in command):
            alike = self._known[key] = from_table(JobSpec, table, where)
            return alike
        try:
            _check_command(command)
        except InputError as error:
            raise InputError(f"{where}: {error}") from None
        job = copy.copy(alike)
        # The class is frozen, and its other fields have been checked.
        object.__setattr__(job, "command", tuple(command))
        return job


def _check_command(command: Sequence[str]) -> None:
    is_blank = tuple(command[:-1]) == SHELL and not command[-1].strip()
    if not command or not command[0] or is_blank:
        raise InputError("there is no command; give one behind --, as in: shunter queue submit -- sleep 10")
    _check_words(command)


def check_texts(texts: Iterable[str]) -> None:
    """Raises an error if one of some texts cannot be written into the journal."""
    _check_words(texts)
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise InputError(f"{text[-60:]!a} is not UTF-8; call it otherwise") from None


def _check_words(words: Iterable[str]) -> None:
    for word in words:
        if "\0" in word:
            raise InputError(f"a zero byte stands in {word[:20]!r}; leave it out")


def command_of(words: Sequence[str]) -> tuple[str, ...]:
    """Returns the command that words mean: several as they are; one that is more than a program, by the shell."""
    if len(words) != 1:
        return tuple(words)
    return (words[0],) if _is_program(words[0]) else (*SHELL, words[0])


@cache
def _is_program(word: str) -> bool:
    import shutil

    # A file of many lines names few programs.
    return bool(_PLAIN_WORD.fullmatch(word)) and ("/" in word or shutil.which(word) is not None)


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
