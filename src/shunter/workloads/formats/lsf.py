"""What LSF's files lsb.acct and lsb.events have in common: records of a line each, and what they say of a job."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import polars as pl

from shunter.workloads.text.depending import lsf_dependency
from shunter.workloads.text.hosts import write_hosts
from shunter.workloads.text.leaving import keep_those_that_left
from shunter.workloads.text.published import MB_OF_UNIT
from shunter.workloads.text.records import NEVER_STARTED, OTHER_KIND, TIMES_AND_SIZES, BrokenRecord, tasks_of

if TYPE_CHECKING:
    from shunter.workloads.text.repairs import Repairs
    from shunter.workloads.text.source import Source

T = TypeVar("T")

RUSAGE_FIELDS: Final = 19
"""How many numbers tell what a job has used."""

_FIELD: Final = re.compile(r'"[^"]*(?:""[^"]*)*"|[^\s"]+')
_LARGEST: Final = 1e18
_BEGINNING: Final = re.compile(r'"([A-Z][A-Z0-9_]*)"\s+"[0-9]{1,9}(?:\.[0-9.]*)?"\s+[0-9]+\s')

EXIT: Final = 32
DONE: Final = 64
"""The bits of a job's status that say that it has ended; others tell of what is run after it."""
REQUEUED: Final = 10
"""The reason of termination of a job that its owner queued again."""
UNLIMITED: Final = 2**31 - 1
"""A run limit from here on is none."""
SCHEMA: Final[dict[str, type[pl.DataType]]] = {
    **TIMES_AND_SIZES,
    "user": pl.String,
    "queue": pl.String,
    "status": pl.String,
    "used_memory_mb_per_task": pl.Float64,
    "name": pl.String,
    "account": pl.String,
    "attempts": pl.Int64,
    "left_s": pl.Float64,
    "begin_s": pl.Float64,
    "depends_on": pl.String,
}
_ENDS: Final = {
    **dict.fromkeys((5, 6, 12), "timeout"),
    **dict.fromkeys((16, 20), "out_of_memory"),
    **dict.fromkeys((1, 31), "preempted"),
    **dict.fromkeys((2, 3, 4, 8, 9, 13, 14, 15, 23, 26, 27, 30), "cancelled"),
    **dict.fromkeys((REQUEUED, 11), "requeued"),
    22: "node_fail",
}
"""The status for LSF's reasons of termination, the field exitInfo; any other is a failure."""
_RUSAGE: Final = re.compile(r"rusage\s*\[([^\]]*)\]")
_AMOUNTS: Final = r"\s*=\s*(\([^)]*\)|[^\s,:|/]+)\s*(/task|/job|/host)?"
_MEMORY: Final = re.compile(rf"\bmem{_AMOUNTS}", re.IGNORECASE)
_GPUS: Final = re.compile(rf"\bngpus(?:_physical|_excl_p|_excl_t|_shared)?{_AMOUNTS}", re.IGNORECASE)
_AMOUNT: Final = re.compile(r"([0-9.]+)\s*([KMGTPE]?)B?", re.IGNORECASE)


class LsfRecord:
    """The fields of a record, read one after another."""

    def __init__(self, line: str) -> None:
        # Within a text a quote is doubled, so their number is even.
        if line.count('"') % 2:
            raise BrokenRecord("a quote is not closed")
        self._fields: list[str] = _FIELD.findall(line)
        self._at = 0
        self.parted: str | None = None
        """The field that `part_counts` took apart."""

    @property
    def at_end(self) -> bool:
        """Whether no field is left, as in records of older versions."""
        return self._at >= len(self._fields)

    @property
    def next_is_text(self) -> bool:
        """Whether the next field stands in quotes."""
        return not self.at_end and self._fields[self._at].startswith('"')

    def text(self) -> str:
        """Returns the next field, which must stand in quotes."""
        field = self._next()
        if field[0] != '"':
            raise BrokenRecord(f"field {self._at} is {field[:40]}, not a text")
        return field[1:-1].replace('""', '"')

    def major_version(self) -> int:
        """Returns the next field, the version of LSF that wrote the record, as far as the first point."""
        return int(self.text().partition(".")[0])

    def number(self) -> float:
        """Returns the next field, which must be a number."""
        field = self._next()
        try:
            number = float(field)
        except ValueError:
            number = math.inf
        if not -_LARGEST < number < _LARGEST:
            raise BrokenRecord(f"field {self._at} is {field[:40]}, not a number of a log")
        return number

    def whole(self) -> int:
        """Returns the next field, which must be a whole number."""
        number = self.number()
        if number % 1:
            raise BrokenRecord(f"field {self._at} is {number}, not a whole number")
        return int(number)

    def numbers(self) -> list[float]:
        """Returns the numbers from here to the next text, or to the end."""
        found = []
        while not self.at_end and not self.next_is_text:
            found.append(self.number())
        return found

    def names(self) -> list[str]:
        """Returns as many names as the next field says."""
        found = [self.text() for _ in range(self.count())]
        if not all(found):
            raise BrokenRecord(f"a name before field {self._at + 1} is empty")
        return found

    def count(self, width: int = 1) -> int:
        """Returns the next field, a count; after it, `width` fields follow for each."""
        count = self.whole()
        if not 0 <= count * width <= len(self._fields) - self._at:
            raise BrokenRecord(f"field {self._at} is {count}, but {len(self._fields) - self._at} fields follow")
        return count

    def part_counts(self) -> None:
        """Takes two counts apart that stand without a blank between them: ``02`` is 0, with no name, and 2."""
        field = "" if self.at_end else self._fields[self._at]
        if len(field) > 1 and field.startswith("0") and field.isdigit():
            self._fields[self._at : self._at + 1] = ["0", field[1:]]
            self.parted = field

    def skip(self, fields: int) -> None:
        """Passes over fields, which must be there."""
        self._at += fields
        if self._at > len(self._fields):
            raise self._short()

    def _next(self) -> str:
        at = self._at
        if at >= len(self._fields):
            raise self._short()
        self._at = at + 1
        return self._fields[at]

    def _short(self) -> BrokenRecord:
        return BrokenRecord(f"the record ends after {len(self._fields)} fields")


def kind_of(line: str) -> str | None:
    """Returns the kind of record that a line is: ``JOB_FINISH``; None if it is none."""
    beginning = _BEGINNING.match(line)
    return beginning.group(1) if beginning else None


def read_records(
    source: Source, repairs: Repairs, kinds: Mapping[str, Callable[[LsfRecord], T]], *, tell_others: bool = False
) -> Iterator[tuple[int, str, T]]:
    """Yields the line and the kind of each record of some kinds, and what its fields say.

    Lines that begin with ``#`` are passed over. What is no record, or not a whole one, is skipped and counted.

    Args:
        source: The file.
        repairs: Takes what is skipped.
        kinds: The kinds that are wanted; each has a function that reads the fields from the version on.
        tell_others: Whether records of other kinds are counted.
    """
    for number, text in source.lines():
        line = text.strip()
        if not line or line.startswith("#"):
            continue
        kind = kind_of(line)
        if kind is None:
            repairs.skip(repairs.place(source, number), f"{line[:40]!r} is not a record of LSF")
        elif kind in kinds:
            try:
                record = LsfRecord(line)
                record.skip(1)
                said = kinds[kind](record)
            except BrokenRecord as error:
                repairs.skip(repairs.place(source, number), str(error))
                continue
            yield number, kind, said
        elif tell_others:
            repairs.tell(OTHER_KIND, 1, repairs.place(source, number), kind)


class Amount(NamedTuple):
    """How much of a resource is asked for, and for whom: each host, each task, or the whole job."""

    value: float
    each: str
    """``job``, ``host`` or ``task``."""

    def of_job(self, hosts: int, slots: int) -> float:
        """Returns the amount of the whole job."""
        return self.value * {"job": 1, "host": hosts, "task": slots}[self.each]


class LsfHosts(NamedTuple):
    """The hosts of a job."""

    hosts: int
    slots: int
    """On all hosts."""
    is_even: bool
    """Whether each host gives as many slots as the others."""
    text: str | None = None
    """The hosts with their slots, as the column ``hosts`` has them."""

    @classmethod
    def of(cls, names: Sequence[str]) -> LsfHosts | None:
        """Returns what a list of hosts means: a name for each slot, or ``16*name``; None for an empty one."""
        slots: Counter[str] = Counter()
        for name in names:
            times, star, host = name.partition("*")
            if star and times.isdecimal() and len(times) < 10:
                slots[host] += int(times)
            else:
                slots[name] += 1
        if not slots:
            return None
        return cls(len(slots), slots.total(), len(set(slots.values())) == 1, write_hosts(slots))


@dataclass(slots=True)
class LsfJob:
    """A job, or an element of an array; times are Unix seconds, and 0 is unknown."""

    number: int
    index: int = 0
    submit_s: float = 0
    start_s: float = 0
    end_s: float = 0
    limit_s: float = -1
    places: LsfHosts | None = None
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
    begin_s: float = 0
    """It may not start before."""
    condition: str = ""
    """On which other jobs it depends, as LSF writes it."""

    def row(self) -> tuple[object, ...]:
        """Returns the columns of `SCHEMA`."""
        tasks, cores, gpus, memory_mb = self._shape()
        ran = self.start_s > 0
        begin_s = self.begin_s if self.begin_s > self.submit_s else None
        return (
            # As bjobs calls the elements of an array.
            f"{self.number}[{self.index}]" if self.index > 0 else str(self.number),
            self.submit_s,
            self.start_s,
            self.end_s - self.start_s if ran else None,
            self.limit_s if 0 < self.limit_s < UNLIMITED else None,
            tasks,
            cores,
            memory_mb,
            gpus,
            self.start_s - (begin_s or self.submit_s) if ran else None,
            self.places.hosts if self.places else None,
            self.places.text if self.places else None,
            self.user or None,
            self.queue or None,
            status_word(self.status, self.reason),
            self.used_memory_kb / 1024 / tasks if self.used_memory_kb > 0 and tasks else None,
            self.name or None,
            self.project or None,
            self.attempts,
            self.end_s if not ran and self.status & EXIT else None,
            begin_s,
            lsf_dependency(self.condition),
        )

    def _shape(self) -> tuple[int, float, float, float | None]:
        """Returns the tasks, and what each asks for: cores, GPUs, and memory."""
        hosts, slots, is_even, _ = self.places or LsfHosts(1, self.processors, is_even=False)
        memory, gpus = parse_requirement(self.requirement)
        job_gpus = gpus.of_job(hosts, slots) if gpus else 0.0
        # What is for each host or each task is even where the slots are.
        is_even = is_even and not (gpus and gpus.each == "job" and gpus.value % hosts)
        tasks = tasks_of(hosts, slots, job_gpus, is_even=is_even)
        if not tasks:
            return 0, 0.0, 0.0, None
        return tasks, slots / tasks, job_gpus / tasks, memory.of_job(hosts, slots) / tasks if memory else None


def to_frame(jobs: Sequence[LsfJob], places: pl.Series, repairs: Repairs) -> pl.DataFrame:
    """Returns the jobs that have started, or waited and left, as columns of a workload with their places."""
    frame = pl.DataFrame([job.row() for job in jobs], schema=SCHEMA, orient="row").with_columns(places)
    frame = keep_those_that_left(frame, pl.col("left_s"), repairs)
    left = pl.col("cancel_s").is_not_null() if "cancel_s" in frame.columns else pl.lit(False)
    frame = repairs.drop(frame, (pl.col("start_s") <= 0) & ~left, NEVER_STARTED, "job_id").drop("start_s", "left_s")
    # Where a cluster file has partitions for LSF's queues, as 'trace cluster' makes them of lsb.queues, they bind.
    frame = frame.with_columns(partition=pl.col("queue"))
    # Few logs have such jobs: what none has is no column.
    return frame.drop(name for name in ("begin_s", "depends_on") if frame[name].null_count() == frame.height)


def status_word(status: int, reason: int) -> str | None:
    """Returns how a job ended; None if the status does not say that it ended."""
    if status & DONE:
        return "completed"
    return _ENDS.get(reason, "failed") if status & EXIT else None


@lru_cache(maxsize=1 << 16)
def parse_requirement(text: str) -> tuple[Amount | None, Amount | None]:
    """Returns the memory in MB and the GPUs that a resource requirement reserves.

    The first reservation of each counts; of several phases the largest. LSF's own unit of memory is taken as MB, and
    both are for each host where nothing else is written, as LSF does by default.
    """
    # select[] and order[] also name mem, but reserve nothing.
    reserved = " ".join(_RUSAGE.findall(text))
    return _reserved(_MEMORY, reserved), _reserved(_GPUS, reserved)


def _reserved(pattern: re.Pattern[str], text: str) -> Amount | None:
    found = pattern.search(text)
    if found is None:
        return None
    try:
        # With phases, "mem=(16G 4G)", the job must at some time have the most.
        value = max(float(number) * MB_OF_UNIT[unit.upper()] for number, unit in _AMOUNT.findall(found.group(1)))
    except ValueError:
        return None
    return Amount(value, (found.group(2) or "/host").lower().removeprefix("/"))
