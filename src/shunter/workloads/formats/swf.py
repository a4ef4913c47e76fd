"""SWF, the Standard Workload Format of the Parallel Workloads Archive, to a workload.

The core turns text into numbers, a block at a time. ``docs/workloads.md`` lists what becomes of each field, what is
repaired, and what is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from shunter.errors import InputError
from shunter.model.workload import DURATION_LIMIT_S, SUBMIT_LIMIT_S, TASKS_LIMIT, UNIX_TIMES_FROM_S
from shunter.native import check, ffi, lib
from shunter.workloads.formats.swf_header import (
    clock_offset_s,
    machine_cores,
    read_header,
    tell_zones,
    whole_number,
    zone_offset_s,
)
from shunter.workloads.text.leaving import keep_those_that_left
from shunter.workloads.text.log import no_job_left, to_workload
from shunter.workloads.text.repairs import Repairs
from shunter.workloads.text.source import are_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.model.workload import Workload
    from shunter.workloads.formats import Reading
    from shunter.workloads.text.source import Block, Source

FIELDS: Final = 18
"""How many fields a line has; further ones are ignored."""
JOB, SUBMIT, WAIT, RUN, ALLOCATED, AVERAGE_CPU, USED_MEMORY, REQUESTED, REQUESTED_TIME = range(1, 10)
REQUESTED_MEMORY, STATUS, USER, GROUP, EXECUTABLE, QUEUE, PARTITION, PRECEDING, THINK = range(10, 19)

FIELD_NAMES: Final = {
    JOB: "job number",
    SUBMIT: "submit time",
    WAIT: "wait time",
    RUN: "run time",
    ALLOCATED: "allocated processors",
    REQUESTED: "requested processors",
    REQUESTED_TIME: "requested time",
    REQUESTED_MEMORY: "requested memory",
    STATUS: "status",
    USER: "user",
    GROUP: "group",
    EXECUTABLE: "executable",
    QUEUE: "queue",
    PARTITION: "partition",
    PRECEDING: "preceding job",
}
"""The names that errors use, as in the core."""

STATUS_WORDS = ("failed", "completed", "partial", "partial", "partial", "cancelled")
"""The words for codes 0 to 5; the format has three for partial executions."""
_WHOLE_FIELDS = (JOB, ALLOCATED, REQUESTED, STATUS, USER, GROUP, EXECUTABLE, QUEUE, PARTITION, PRECEDING)
_LARGEST = {
    SUBMIT: SUBMIT_LIMIT_S,
    WAIT: DURATION_LIMIT_S,
    RUN: DURATION_LIMIT_S,
    REQUESTED_TIME: DURATION_LIMIT_S,
    ALLOCATED: TASKS_LIMIT,
    REQUESTED: TASKS_LIMIT,
}
_UNKNOWN = -1
_CANCELLED = STATUS_WORDS.index("cancelled")
_SHORTEST_LINE = 2 * FIELDS
"""In bytes: a digit and a blank or line end for each field."""


def recognizes(source: Source) -> bool:
    """Returns whether the first line that is no comment has 18 numbers between blanks, or more."""
    fields = source.head_lines[0].split() if source.head_lines else []
    return len(fields) >= FIELDS and are_numbers(fields[:FIELDS])


def read(sources: Sequence[Source], reading: Reading) -> Workload:
    """Reads SWF logs, one after another.

    Raises:
        InputError: The log has a mistake that is not repaired, or no job is left.
    """
    repairs = Repairs(sources, reading.strict)
    headers = [read_header(source.head) for source in sources]
    for source, header in zip(sources, headers, strict=True):
        tell_zones(source, header, repairs)
    shifts_s = _shifts_s(headers)
    # Files of one log, such as a year each, count their seconds from their own beginnings.
    tables = [
        table.with_columns(pl.col("submit_s") + shift_s) if shift_s else table
        for source, shift_s in zip(sources, shifts_s, strict=True)
        for table in _tables(source, repairs)
    ]
    # A file of comments alone. Where jobs were dropped, the next error says why.
    if not tables and not repairs.ledger:
        raise InputError(f"{sources[0].where}: the file holds no job; expected a SWF log with 18 fields a line")
    if not tables:
        raise no_job_left(sources[0].where, repairs)
    jobs = _renumber(_with_those_that_left(pl.concat(tables), repairs), repairs)
    cores, note = _one_machine([machine_cores(header) for header in headers])
    workload = to_workload(jobs, repairs, cluster_spec=cores, cluster_note=note)
    return replace(workload, clock_offset_s=_clock_offset_s(headers[0], float(workload.jobs["submit_s"][0])))


def _clock_offset_s(header: dict[str, str], first_s: float) -> float | None:
    # Some logs hold Unix times, though the format counts from the log's start.
    return float(zone_offset_s(header) or 0) if first_s >= UNIX_TIMES_FROM_S else clock_offset_s(header)


def _tables(source: Source, repairs: Repairs) -> Iterator[pl.DataFrame]:
    """Yields the jobs of each block of a file."""
    for block in source.blocks():
        fields, lines = _tokenize(block, source.where)
        if lines.size == 0:
            continue
        rows = _Rows(source, repairs, fields, lines)
        # In this order: what is wrong with a job that never ran does not matter.
        _drop_unusable(rows)
        if rows.lines.size:
            _refuse_impossible(rows)
            _take_as_unknown(rows)
            yield _table(rows.fields).with_columns(repairs.places(source, pl.Series(rows.lines)))


def _with_those_that_left(table: pl.DataFrame, repairs: Repairs) -> pl.DataFrame:
    """Returns the jobs with the times at which those left the queue that never ran."""
    never = pl.col("run_s") < 0
    if not table.select(never.any()).item():
        return table
    left_s = pl.when(never).then(pl.col("submit_s") + pl.col("logged_wait_s"))
    table = keep_those_that_left(table, left_s, repairs)
    return table.with_columns(logged_wait_s=pl.when(pl.col("cancel_s").is_null()).then("logged_wait_s"))


def _tokenize(block: Block, where: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Returns the fields (18, rows) of all jobs in a block of a SWF text, and the number of each row's line.

    Raises:
        InputError: A line has fewer than 18 fields, or a field is not a number.
    """
    text = block.text
    # Memory that no row reaches is never touched, and so costs nothing; counting the lines would. NumPy would ask
    # for huge pages, whose first touch takes longer than all the rest.
    capacity = len(text) // _SHORTEST_LINE + 1
    allocate = ffi.new_allocator(should_clear_after_alloc=False)
    columns, lines = allocate("double[]", FIELDS * capacity), allocate("int64_t[]", capacity)
    rows = ffi.new("uintptr_t *")
    if status := lib.shunter_swf_read(ffi.from_buffer("uint8_t[]", text), len(text), columns, lines, capacity, rows):
        try:
            check(status)
        except InputError as error:
            # The core counts the lines of what it was given.
            line, _, what = str(error).partition(":")
            raise InputError(f"{where}:{int(line) + block.first_line - 1}:{what}") from None
    fields = np.frombuffer(ffi.buffer(columns), dtype=np.float64).reshape(FIELDS, capacity)
    numbers = np.frombuffer(ffi.buffer(lines), dtype=np.int64)[: rows[0]]
    return fields[:, : rows[0]], numbers + (block.first_line - 1)


def _shifts_s(headers: Sequence[dict[str, str]]) -> list[float]:
    """Returns what to add to the seconds of each file so that they count from the first one's beginning."""
    zeros_s = [whole_number(header.get("UnixStartTime")) or 0 for header in headers]
    # Where one file does not say when it begins, all are taken as counted alike.
    return [float(zero_s - zeros_s[0]) if min(zeros_s) > 0 else 0.0 for zero_s in zeros_s]


def _one_machine(machines: Sequence[tuple[str | None, str | None]]) -> tuple[str | None, str | None]:
    """Returns the machine that all files tell of, or why there is none."""
    told = sorted({cores for cores, _ in machines if cores is not None}, key=int)
    if len(told) > 1:
        return None, f"its files tell of machines of different sizes ({', '.join(told)} cores)"
    return machines[0] if len(machines) == 1 else (told[0] if told else None, machines[0][1])


@dataclass
class _Rows:
    """The rows that are still in, and the repairs made so far."""

    source: Source
    repairs: Repairs
    fields: NDArray[np.float64]  # (18, rows)
    lines: NDArray[np.int64]  # (rows,)

    def column(self, number: int) -> NDArray[np.float64]:
        """Returns a field by its number in the format, which counts from 1."""
        values: NDArray[np.float64] = self.fields[number - 1]
        return values

    def locate(self, row: int) -> str:
        return f"{self.source.where}:{self.lines[row]}"

    def value(self, number: int, row: int) -> str:
        return f"{self.column(number)[row]:.16g}"

    def refuse(self, wrong: NDArray[np.bool_], number: int, expected: str) -> None:
        """Raises an error for the first row in which a field is wrong."""
        if wrong.any():
            row = int(wrong.argmax())
            what = f"{FIELD_NAMES[number]} (field {number}) is {self.value(number, row)}"
            raise InputError(f"{self.locate(row)}: {what}; expected {expected}; mend the line or remove it")

    def repair(self, concerned: NDArray[np.bool_], number: int, rule: str) -> None:
        """Records a repair of the rows concerned, or refuses it."""
        if concerned.any():
            row = int(concerned.argmax())
            place = self.repairs.place(self.source, int(self.lines[row]))
            what = f"{FIELD_NAMES[number]} {self.value(number, row)}"
            self.repairs.record(rule, int(concerned.sum()), place, what)

    def drop(self, concerned: NDArray[np.bool_], number: int, rule: str) -> None:
        """Drops the rows concerned, as a repair."""
        if concerned.any():
            self.repair(concerned, number, rule)
            # A copy, but only where something is dropped.
            self.fields, self.lines = self.fields[:, ~concerned], self.lines[~concerned]


def _drop_unusable(rows: _Rows) -> None:
    """Drops the jobs that never ran or whose size is not known; their other fields are not looked at."""
    run_s = rows.column(RUN)
    rows.refuse((run_s < 0) & (run_s != _UNKNOWN), RUN, "seconds, or -1 for unknown")
    # A job that was cancelled while it waited has waited until then.
    left = (rows.column(STATUS) == _CANCELLED) & (rows.column(WAIT) >= 0) & (rows.column(REQUESTED_TIME) > 0)
    rows.drop((run_s == _UNKNOWN) & ~left, RUN, "run time unknown (-1): job dropped")
    rows.drop(rows.column(RUN) == 0, RUN, "run time 0 s: job dropped")
    # Either field will do: logs of some machines tell only what was asked for, others only what was given.
    unknown = (rows.column(ALLOCATED) == _UNKNOWN) & (rows.column(REQUESTED) == _UNKNOWN)
    rows.drop(unknown, REQUESTED, "processors unknown (fields 5 and 8 are -1): job dropped")


def _refuse_impossible(rows: _Rows) -> None:
    rows.refuse(rows.column(SUBMIT) < 0, SUBMIT, "seconds from 0 on")
    for number in (ALLOCATED, REQUESTED):
        processors = rows.column(number)
        rows.refuse((processors < 0) & (processors != _UNKNOWN), number, "a number of processors, or -1 for unknown")
    for number, largest in _LARGEST.items():
        rows.refuse(rows.column(number) > largest, number, f"at most {largest:,.0f} (an absurd value)")
    for number in _WHOLE_FIELDS:
        values = rows.column(number)
        rows.refuse(values != np.floor(values), number, "a whole number")
    # 0 beside a larger number is let pass: the larger one counts.
    none = np.maximum(rows.column(ALLOCATED), rows.column(REQUESTED)) == 0
    for number in (ALLOCATED, REQUESTED):
        rows.refuse(none & (rows.column(number) == 0), number, "at least 1 processor")


def _take_as_unknown(rows: _Rows) -> None:
    """Records values that are neither possible nor the format's -1; they are taken as unknown."""
    for number in (WAIT, REQUESTED_TIME, REQUESTED_MEMORY):
        values = rows.column(number)
        # A wait of 0 is common; a request for no time or no memory says nothing.
        nothing = (values < 0) if number == WAIT else (values <= 0)
        rule = f"{FIELD_NAMES[number]} {'negative' if number == WAIT else 'not positive'}: taken as unknown"
        rows.repair(nothing & (values != _UNKNOWN), number, rule)
    codes = rows.column(STATUS)
    strange = (codes < _UNKNOWN) | (codes > len(STATUS_WORDS) - 1)
    rows.repair(strange, STATUS, "status code outside the format's: taken as unknown")


def _renumber(jobs: pl.DataFrame, repairs: Repairs) -> pl.DataFrame:
    """Gives new numbers, beyond the largest, to jobs that have none or that of an earlier job."""
    numbers = jobs["job_id"]
    # The usual case, which needs no table of the numbers seen.
    if numbers[0] >= 0 and (numbers.diff().slice(1) > 0).all():
        return jobs
    again = (pl.col("job_id") < 0) | ~pl.col("job_id").is_first_distinct()
    # Beyond all others, so that no new number is taken already.
    beyond = max(int(numbers.to_numpy().max()), 0) + again.cum_sum()
    rule = "job number unknown or that of an earlier job: numbered anew"
    return repairs.replace(jobs, again, "job_id", beyond, rule)


def _table(fields: NDArray[np.float64]) -> pl.DataFrame:
    """Returns the fields as the workload's columns."""
    raw = pl.DataFrame({str(number): fields[number - 1] for number in range(1, FIELDS + 1)})
    return raw.select(
        job_id=_field(JOB).cast(pl.Int64),
        # Columns taken as they are would hold on to the memory of all fields.
        submit_s=pl.Series(fields[SUBMIT - 1].copy()),
        run_s=pl.Series(fields[RUN - 1].copy()),
        requested_s=_positive(REQUESTED_TIME),
        # SWF knows processors, not tasks: each is a task of one core. The larger number, lest a job gets too little.
        tasks=pl.max_horizontal(_field(ALLOCATED), _field(REQUESTED)).cast(pl.Int64),
        # The format counts kilobytes per processor.
        memory_mb_per_task=_positive(REQUESTED_MEMORY) / 1024,
        user=_text(fields[USER - 1]),
        group=_text(fields[GROUP - 1]),
        queue=_text(fields[QUEUE - 1]),
        partition=_text(fields[PARTITION - 1]),
        status=_labelled(fields[STATUS - 1], pl.Series(STATUS_WORDS)),
        logged_wait_s=_known(WAIT),
        average_cpu_s=_known(AVERAGE_CPU),
        used_memory_mb_per_task=_known(USED_MEMORY) / 1024,
        executable=_text(fields[EXECUTABLE - 1]),
        preceding_job_id=_known(PRECEDING).cast(pl.Int64),
        think_time_s=_known(THINK),
    )


def _field(number: int) -> pl.Expr:
    return pl.col(str(number))


def _known(number: int) -> pl.Expr:
    return pl.when(_field(number) >= 0).then(_field(number))


def _positive(number: int) -> pl.Expr:
    return pl.when(_field(number) > 0).then(_field(number))


def _text(values: NDArray[np.float64]) -> pl.Series:
    """Returns whole numbers as text, and negative ones as null."""
    # Users, groups and so on are small whole numbers.
    largest = int(values.max())
    if largest >= values.size:
        numbers = pl.Series(values)
        return numbers.set(numbers < 0, None).cast(pl.Int64).cast(pl.String)
    # Writing each number once and looking it up is several times faster than writing it in every row.
    return _labelled(values, pl.int_range(largest + 1, eager=True).cast(pl.String))


def _labelled(values: NDArray[np.float64], labels: pl.Series) -> pl.Series:
    """Returns the label of each number, counted from 0, and null where there is none."""
    places = pl.Series(values)
    has_label = places.is_between(0, labels.len() - 1)
    return labels.gather(places.set(~has_label, None).cast(pl.UInt32))
