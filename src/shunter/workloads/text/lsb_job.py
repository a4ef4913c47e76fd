"""What LSF says of a job, whichever of its files says it, to a row of the job table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

import polars as pl

EXIT: Final = 32
DONE: Final = 64
"""The bits of a job's status that say that it has ended; others tell of what is run after it."""
UNLIMITED: Final = 2**31 - 1
"""A run limit from here on is none."""

SCHEMA: Final[dict[str, type[pl.DataType]]] = {
    "job_id": pl.String,
    "submit_s": pl.Float64,
    "start_s": pl.Float64,
    "run_s": pl.Float64,
    "requested_s": pl.Float64,
    "tasks": pl.Int64,
    "cores_per_task": pl.Float64,
    "memory_mb_per_task": pl.Float64,
    "gpus_per_task": pl.Float64,
    "user": pl.String,
    "queue": pl.String,
    "status": pl.String,
    "logged_wait_s": pl.Float64,
    "used_memory_mb_per_task": pl.Float64,
    "name": pl.String,
    "account": pl.String,
    "nodes": pl.Int64,
    "attempts": pl.Int64,
}

_ENDS: Final = {
    **dict.fromkeys((5, 6, 12), "timeout"),
    **dict.fromkeys((16, 20), "out_of_memory"),
    **dict.fromkeys((1, 31), "preempted"),
    **dict.fromkeys((2, 3, 4, 8, 9, 10, 11, 13, 14, 15, 23, 26, 27, 30), "cancelled"),
    22: "node_fail",
}
"""The status for LSF's reasons of termination, the field exitInfo; any other is a failure."""

_RUSAGE: Final = re.compile(r"rusage\s*\[([^\]]*)\]")
_AMOUNTS: Final = r"\s*=\s*(\([^)]*\)|[^\s,:|/]+)\s*(/task|/job|/host)?"
_MEMORY: Final = re.compile(rf"\bmem{_AMOUNTS}", re.IGNORECASE)
_GPUS: Final = re.compile(rf"\bngpus(?:_physical|_excl_p|_excl_t|_shared)?{_AMOUNTS}", re.IGNORECASE)
_AMOUNT: Final = re.compile(r"([0-9.]+)\s*([KMGTPE]?)B?", re.IGNORECASE)
_MB_OF: Final = {"K": 2.0**-10, "": 1.0, "M": 1.0, "G": 2.0**10, "T": 2.0**20, "P": 2.0**30, "E": 2.0**40}


class Amount(NamedTuple):
    """How much of a resource is asked for, and for what each time."""

    value: float
    each: str
    """``job``, ``host`` or ``task``."""

    def of_job(self, hosts: int, slots: int) -> float:
        """Returns the amount of the whole job."""
        return self.value * {"job": 1, "host": hosts, "task": slots}[self.each]


class Places(NamedTuple):
    """The hosts of a job."""

    hosts: int
    slots: int
    """On all hosts."""
    is_even: bool
    """Whether each host gives as many slots as the others."""

    @classmethod
    def of(cls, names: Sequence[str]) -> Places | None:
        """Returns what a list of hosts means: a name for each slot, or ``16*name``; None for an empty one."""
        slots: Counter[str] = Counter()
        for name in names:
            times, star, host = name.partition("*")
            if star and times.isdecimal() and len(times) < 10:
                slots[host] += int(times)
            else:
                slots[name] += 1
        return cls(len(slots), slots.total(), len(set(slots.values())) == 1) if slots else None


@dataclass(slots=True)
class LsfJob:
    """A job, or an element of an array; times are Unix seconds, and 0 is unknown."""

    number: int
    index: int = 0
    submit_s: float = 0
    start_s: float = 0
    end_s: float = 0
    limit_s: float = -1
    places: Places | None = None
    """What it was given."""
    processors: int = 0
    """What it asked for."""
    requirement: str = ""
    user: str = ""
    queue: str = ""
    project: str = ""
    name: str = ""
    status: int = 0
    reason: int = 0
    """Why it was terminated."""
    used_memory_kb: float = 0
    attempts: int | None = None

    def row(self) -> tuple[object, ...]:
        """Returns the columns of `SCHEMA`."""
        tasks, cores, gpus, memory_mb = self._shape()
        ran = self.start_s > 0
        return (
            f"{self.number}[{self.index}]" if self.index > 0 else str(self.number),
            self.submit_s,
            self.start_s,
            self.end_s - self.start_s if ran else None,
            self.limit_s if 0 < self.limit_s < UNLIMITED else None,
            tasks,
            cores,
            memory_mb,
            gpus,
            self.user or None,
            self.queue or None,
            status_word(self.status, self.reason),
            self.start_s - self.submit_s if ran else None,
            self.used_memory_kb / 1024 / tasks if self.used_memory_kb > 0 and tasks else None,
            self.name or None,
            self.project or None,
            self.places.hosts if self.places else None,
            self.attempts,
        )

    def _shape(self) -> tuple[int, float, float, float | None]:
        """Returns the tasks, and what each asks for: cores, GPUs, and memory."""
        hosts, slots, is_even = self.places or Places(1, self.processors, is_even=False)
        memory, gpus = parse_requirement(self.requirement)
        job_gpus = gpus.of_job(hosts, slots) if gpus else 0.0
        # What is for each host or each task is even where the slots are.
        is_even = is_even and not (gpus and gpus.each == "job" and gpus.value % hosts)
        tasks = (hosts if is_even else int(job_gpus) or slots) if slots else 0
        if not tasks:
            return 0, 0.0, 0.0, None
        return tasks, slots / tasks, job_gpus / tasks, memory.of_job(hosts, slots) / tasks if memory else None


def status_word(status: int, reason: int) -> str | None:
    """Returns how a job ended; None if the status says neither."""
    if status & DONE:
        return "completed"
    return _ENDS.get(reason, "failed") if status & EXIT else None


@lru_cache(maxsize=1 << 16)
def parse_requirement(text: str) -> tuple[Amount | None, Amount | None]:
    """Returns the memory in MB and the GPUs that a resource requirement reserves.

    The first reservation of each counts; of several phases the largest. LSF's own unit of memory is taken as MB, and
    both are for each host where nothing else is written, as LSF does by default.
    """
    reserved = " ".join(_RUSAGE.findall(text))
    return _reserved(_MEMORY, reserved), _reserved(_GPUS, reserved)


def _reserved(pattern: re.Pattern[str], text: str) -> Amount | None:
    found = pattern.search(text)
    if found is None:
        return None
    try:
        value = max(float(number) * _MB_OF[unit.upper()] for number, unit in _AMOUNT.findall(found.group(1)))
    except ValueError:
        return None
    return Amount(value, (found.group(2) or "/host").lower().removeprefix("/"))
