"""Accounting files of Grid Engine (SGE, Son of Grid Engine, Univa and Altair Grid Engine): fields between colons."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import polars as pl

from shunter.workloads.text.durations import limit_s
from shunter.workloads.text.hosts import write_hosts
from shunter.workloads.text.log import read_jobs
from shunter.workloads.text.records import (
    ODD,
    TIMES_AND_SIZES,
    BrokenRecord,
    each_task,
    number_of,
    started_jobs,
    tasks_of,
)

if TYPE_CHECKING:
    from shunter.model.workload import Workload
    from shunter.workloads.formats import Reading
    from shunter.workloads.text.repairs import Repairs
    from shunter.workloads.text.source import Source

PART: Final = "part of a parallel job: folded into it"

_QUEUE, _HOST, _GROUP, _OWNER, _NAME, _NUMBER, _ACCOUNT, _PRIORITY, _SUBMIT, _START, _END, _FAILED, _EXIT = range(13)
_PROJECT, _PARALLEL, _SLOTS, _TASK, _CPU, _CATEGORY, _PART, _USED_MEMORY = 31, 33, 34, 35, 36, 39, 41, 42
_FIELDS: Final = 43
"""How many fields a record has at least; newer versions have more."""
_DELETED_BY: Final = 46
"""The field in which Univa tells who deleted a job."""
_MILLISECONDS_FROM: Final = 1e11
"""Times from here on are milliseconds, as Univa writes them: as seconds they would lie in the year 5138."""
_WHOLE: Final = re.compile(r"-?\d{1,15}", re.ASCII)
_DECIMAL: Final = re.compile(r"\d+\.\d+", re.ASCII)
_LOOKED_AT: Final = 20
_NOTHING: Final = ("", "NONE", "0")
_ENFORCED: Final = 37
"""The code of failure for jobs that the scheduler stopped at a limit."""
_AGAIN: Final = (24, 25)
"""Codes of failure for jobs that were moved, and are run again."""
_SHARED: Final = re.compile(r"smp|thread|openmp|omp|shm|shared|mthr|single|onenode|make", re.IGNORECASE)
"""Parallel environments whose names say that all slots are on one host."""
_GPUS: Final = re.compile(r"(?:num_?|n)?(?:gpus?|cuda|gpgpus?)(?:_?(?:cards?|count|num))?", re.IGNORECASE)
_MEMORY: Final = ("m_mem_free", "mem_free", "mem_requested", "virtual_free", "h_vmem", "h_rss", "s_vmem", "s_rss")
"""Resources that tell the memory of a slot; the first one that a request has counts."""
_NO_LIMIT: Final = "INFINITY"
_AMOUNT: Final = re.compile(r"(\d{1,18}(?:\.\d*)?)([kKmMgGtT]?)", re.ASCII)
_UNITS: Final = {"": 1, **{unit: 1024**power for power, unit in enumerate("KMGT", start=1)}} | {
    unit: 1000**power for power, unit in enumerate("kmgt", start=1)
}
_SCHEMA: Final[dict[str, type[pl.DataType]]] = {
    **TIMES_AND_SIZES,
    "user": pl.String,
    "group": pl.String,
    "queue": pl.String,
    "status": pl.String,
    "priority": pl.Float64,
    "average_cpu_s": pl.Float64,
    "used_memory_mb_per_task": pl.Float64,
    "name": pl.String,
    "account": pl.String,
}
_CLUSTER_NOTE: Final = "Grid Engine's accounting does not list the machines"


def recognizes(source: Source) -> bool:
    """Returns whether half of the first lines, or more, are records of Grid Engine."""
    lines = source.head_lines[:_LOOKED_AT]
    records = sum(_fields(line) is not None for line in lines)
    return records > 0 and 2 * records >= len(lines)


def read(sources: Sequence[Source], reading: Reading) -> Workload:
    """Reads accounting files, one after another.

    Raises:
        InputError: No job is left, or hardly any line was readable.
    """

    def read_file(source: Source, repairs: Repairs) -> Iterator[pl.DataFrame]:
        return started_jobs(_rows(source, repairs), _SCHEMA, source, repairs)

    return read_jobs(sources, reading, read_file, cluster_note=_CLUSTER_NOTE, by_end=True, reruns=True)


def _rows(source: Source, repairs: Repairs) -> Iterator[tuple[int, tuple[object, ...]]]:
    """Yields the line and the row of each job."""
    for line, text in source.lines():
        record = text.strip("\r\n ")
        if not record or record.startswith("#"):
            continue
        place = repairs.place(source, line)
        fields = _fields(record)
        if fields is None:
            repairs.skip(place, f"{record[:40]!r} is not a record of Grid Engine")
        # Without accounting_summary each part of a parallel job has a record too.
        elif fields[_PART] not in _NOTHING:
            repairs.tell(PART, 1, place, f"part {fields[_PART][:40]} of job {fields[_NUMBER]}")
        else:
            try:
                row = _row(fields)
            except BrokenRecord as error:
                repairs.skip(place, str(error))
                continue
            odd = parse_category(fields[_CATEGORY]).odd
            repairs.record(ODD, int(odd is not None), place, odd or "")
            yield line, row


def _fields(record: str) -> list[str] | None:
    """Returns the fields of a record, or None if the line is not a record.

    A job's name and its request may contain colons, which nothing marks. The fields behind them tell where they end.
    """
    cells = record.split(":")
    if len(cells) < _FIELDS:
        return None
    # The name is followed by times and codes, which are whole numbers.
    names = next((end for end in range(_NUMBER, len(cells) - _FIELDS + _NUMBER + 1) if _are_times(cells[end:])), None)
    if names is None:
        return None
    cells = [*cells[:_NAME], ":".join(cells[_NAME:names]), *cells[names:]]
    # The request is followed by a decimal number, a word and an amount.
    for end in range(_CATEGORY + 1, len(cells) - 2):
        if _DECIMAL.fullmatch(cells[end]) and " " not in cells[end + 1] and "=" not in cells[end + 1]:
            return [*cells[:_CATEGORY], ":".join(cells[_CATEGORY:end]), *cells[end:]]
    return cells


def _are_times(cells: Sequence[str]) -> bool:
    """Returns whether cells begin with a job's number, its account, its priority, three times and two codes."""
    numbers = (cells[0], *cells[_PRIORITY - _NUMBER : _EXIT - _NUMBER + 1])
    return all(_WHOLE.fullmatch(cell) for cell in numbers)


class Request(NamedTuple):
    """What a job's category tells of its request."""

    limit_s: float | None
    memory_mb: float | None
    """Of each slot."""
    gpus: float
    """Of the whole job."""
    odd: str | None
    """A resource whose amount cannot be read."""


@lru_cache(1 << 14)
def parse_category(text: str) -> Request:
    """Returns the request in ``-l h_rt=36000,mem_free=4G,gpu=1 -pe mpi 24``."""
    resources: dict[str, str] = {}
    for words in re.findall(r"(?:^|\s)-l\s+(\S+)", text):
        resources.update(part.partition("=")[::2] for part in words.split(",") if "=" in part)
    limits: dict[str, str] = {key: resources[key] for key in ("h_rt", "s_rt") if key in resources}
    sizes: dict[str, str] = {key: resources[key] for key in _MEMORY if key in resources}
    gpus = {key: value for key, value in resources.items() if _GPUS.fullmatch(key)}
    limit = next(map(limit_s, limits.values()), None)
    size = next(map(_amount, sizes.values()), None)
    counts = [_amount(value) for value in gpus.values()]
    unread: list[str] = [key for key, value in (sizes | gpus).items() if _amount(value) is None]
    unread += [key for key, value in limits.items() if limit_s(value) is None and value.upper() != _NO_LIMIT]
    odd = f"{unread[0]} {resources[unread[0]][:40]}" if unread else None
    size_mb = size / 2**20 if size else None
    return Request(limit, size_mb, max([count for count in counts if count is not None], default=0.0), odd)


def _amount(text: str) -> float | None:
    match = _AMOUNT.fullmatch(text)
    return None if match is None else float(match.group(1)) * _UNITS[match.group(2)]


def _row(fields: Sequence[str]) -> tuple[object, ...]:
    """Returns the columns of `_SCHEMA`."""
    submit_s, start_s, end_s = (_time_s(fields[field]) for field in (_SUBMIT, _START, _END))
    slots, task = int(number_of(fields[_SLOTS], "slots")), int(number_of(fields[_TASK], "task_number"))
    request = parse_category(fields[_CATEGORY])
    # A record names one host. A parallel job may have used others, unless all of its slots are on one.
    is_on_one = slots == 1 or fields[_PARALLEL] in _NOTHING or _SHARED.search(fields[_PARALLEL]) is not None
    tasks = tasks_of(1, slots, request.gpus, is_even=is_on_one)
    # Univa writes milliseconds. In seconds, their differences have errors in the last digits.
    run_s = round(end_s - start_s, 3)
    used = _known(fields[_USED_MEMORY])
    cpu_s = _known(fields[_CPU])
    return (
        # As qstat calls the tasks of an array.
        f"{fields[_NUMBER]}.{task}" if task > 0 else fields[_NUMBER],
        submit_s,
        start_s,
        run_s,
        request.limit_s,
        tasks,
        each_task(slots, tasks),
        each_task(None if request.memory_mb is None else request.memory_mb * slots, tasks),
        each_task(request.gpus, tasks),
        round(start_s - submit_s, 3),
        1 if is_on_one else None,
        write_hosts({fields[_HOST]: slots}) if is_on_one and fields[_HOST] else None,
        _text(fields[_OWNER]),
        _text(fields[_GROUP]),
        _text(fields[_QUEUE]),
        _status(fields, run_s, request.limit_s),
        number_of(fields[_PRIORITY], "priority"),
        None if cpu_s is None or slots < 1 else cpu_s / slots,
        each_task(None if used is None else used / 2**20, tasks),
        _text(fields[_NAME]),
        _text(fields[_PROJECT]) or _text(fields[_ACCOUNT]),
    )


def _time_s(text: str) -> float:
    time = number_of(text, "a time")
    return time / 1000 if time >= _MILLISECONDS_FROM else time


def _known(text: str) -> float | None:
    """Returns how much was used; None if the record does not tell."""
    return float(text) if re.fullmatch(r"\d{1,18}(?:\.\d{1,18})?", text, re.ASCII) else None


def _text(text: str) -> str | None:
    return None if text in _NOTHING else text


def _status(fields: Sequence[str], run_s: float, limit: float | None) -> str:
    failed, code = int(fields[_FAILED]), int(fields[_EXIT])
    if failed == 0:
        return "completed" if code == 0 else "failed"
    if failed in _AGAIN:
        return "preempted"
    if failed == _ENFORCED or (limit is not None and run_s >= limit):
        return "timeout"
    was_deleted = len(fields) > _DELETED_BY and fields[_DELETED_BY] not in _NOTHING
    return "cancelled" if was_deleted else "failed"
