"""What Google's tables have in common: how they are written, and events of tasks to attempts, which are the jobs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from shunter.workloads.text.delimited import read_frames
from shunter.workloads.text.json_text import read_elements
from shunter.workloads.text.published import LARGEST_CORES, LARGEST_MEMORY_MB, scaled, with_known_cores
from shunter.workloads.text.repairs import PLACE, UNREADABLE

if TYPE_CHECKING:
    from shunter.workloads.text.repairs import Repairs
    from shunter.workloads.text.source import Source


KEY: Final = ["collection", "index"]
"""Columns that name a task: the job that it belongs to, and its number therein."""
AMOUNTS: Final = ["cpus", "memory", "priority", "scheduling_class"]
EVENTS: Final = [*KEY, "time_us", "kind", *AMOUNTS]
"""Columns of events; ``kind`` is one of those below."""

SUBMIT, SCHEDULE, EVICT, FAIL, FINISH, KILL, LOST, OTHER = range(8)
"""Kinds of events, numbered as in 2011 but for the last; those from `EVICT` to `LOST` end an attempt."""
CODES_2011: Final = (SUBMIT, SCHEDULE, EVICT, FAIL, FINISH, KILL, LOST, OTHER, OTHER)
CODES_2019: Final = (SUBMIT, OTHER, OTHER, SCHEDULE, EVICT, FAIL, FINISH, KILL, LOST, OTHER, OTHER)
"""The kinds of the types of events, counted from 0, as the two logs number them."""
STATUSES: Final = {EVICT: "preempted", FAIL: "failed", FINISH: "completed", KILL: "cancelled", LOST: "node_fail"}
IDLE: Final = "event that neither starts nor ends a task, or after the log's end: line left out"

S_PER_US: Final = 1e-6
_BEFORE_US: Final = 0.0
"""The time of all that was before the log began."""
_AFTER_US: Final = 2.0**62
"""Beyond this lies the time of all that came after the log's end (2**63 - 1)."""

RESOURCES: Final = ["cpus", "memory"]
"""The parts of a record that tells what a task asks for or what a machine has."""
_AT_ONCE: Final = 50_000


def typed_events(text: pl.DataFrame, kinds: Sequence[int], repairs: Repairs) -> pl.DataFrame:
    """Returns events as numbers, without those that neither start nor end anything.

    Args:
        text: The columns of `EVENTS` as text, where ``kind`` is the log's code, and `PLACE`.
        kinds: Which kind each code of the log is, from 0 on.
        repairs: Takes lines that are no event.
    """
    frame = repairs.to_numbers(text, EVENTS, whole=[*KEY, "kind", "scheduling_class"])
    for column in (*KEY, "time_us", "kind"):
        frame = repairs.drop(frame, pl.col(column).is_null(), UNREADABLE, column)
    # A code of a later version must not be taken for one of ours.
    unknown = ~pl.col("kind").is_between(0, len(kinds) - 1)
    frame = repairs.drop(frame, unknown, "event of an unknown type: line skipped", "kind")
    frame = frame.with_columns(pl.col("kind").replace_strict(dict(enumerate(kinds)), return_dtype=pl.Int8))
    idle = frame.filter((pl.col("kind") == OTHER) | (pl.col("time_us") >= _AFTER_US))
    if idle.height:
        repairs.tell(IDLE, idle.height, idle[PLACE][0], f"task {idle['collection'][0]}/{idle['index'][0]}")
    return frame.filter((pl.col("kind") != OTHER) & (pl.col("time_us") < _AFTER_US)).select(*EVENTS, PLACE)


def paired(events: pl.DataFrame, repairs: Repairs) -> pl.DataFrame:
    """Returns events in order, each with what came before and after it in the life of its task.

    Args:
        events: What `typed_events` returns, of the whole log, in any order.
        repairs: Takes events that are told twice.
    """
    # At one and the same time an attempt ends before the next is submitted, and is submitted before it starts.
    rank = pl.when(_is_end("kind")).then(-1).otherwise("kind")
    events = events.sort(*KEY, "time_us", rank, "kind", PLACE)
    again = pl.all_horizontal(pl.col(name) == pl.col(name).shift(1) for name in (*KEY, "time_us", "kind"))
    events = repairs.drop(events, again, "event told before: line skipped", "time_us")
    return events.with_columns(
        _neighbor("kind", 1).alias("before"),
        _neighbor("kind", -1).alias("after"),
        _neighbor("time_us", 1).alias("start_us"),
        pl.when((_neighbor("kind", 2) == SUBMIT) & (_neighbor("time_us", 2) > _BEFORE_US))
        .then(_neighbor("time_us", 2))
        .alias("submit_us"),
        # Requests may change while a task waits: those count with which it was started.
        *(_neighbor(name, 1).alias(name) for name in AMOUNTS),
    )


def is_complete() -> pl.Expr:
    """Returns which of paired events end an attempt whose start is in the log."""
    return (_is_end("kind") & (pl.col("before") == SCHEDULE) & (pl.col("start_us") > _BEFORE_US)).fill_null(False)


def attempts(events: pl.DataFrame, users: pl.DataFrame, repairs: Repairs) -> pl.DataFrame:
    """Returns a job for each attempt that starts and ends in the log, as `build_workload` takes them.

    Args:
        events: What `paired` returns.
        users: The columns ``collection``, each once, and ``user``.
        repairs: Takes attempts of which a part is not in the log.
    """
    kind, after = pl.col("kind"), pl.col("after")
    ended = _is_end("after").fill_null(False)
    rules = (
        (_is_end("kind") & (pl.col("before") == SUBMIT), "ended before it started: attempt dropped"),
        (_is_end("kind") & ~is_complete(), "start not in the log: attempt dropped"),
        ((kind == SCHEDULE) & ~ended, "end not in the log, or still running: attempt dropped"),
        ((kind == SUBMIT) & ~ended & after.ne_missing(SCHEDULE), "never started in the log: task dropped"),
    )
    for concerned, rule in rules:
        events = repairs.drop(events, concerned, rule, "time_us")
    ends = events.filter(_is_end("kind")).with_columns(
        scaled(pl.col("start_us") - pl.col("submit_us"), S_PER_US).alias("logged_wait_s")
    )
    rule = "submission not in the log: taken as submitted when it started, wait unknown"
    ends = repairs.replace(ends, pl.col("submit_us").is_null(), "submit_us", pl.col("start_us"), rule)
    # A task may be evicted and start again: each attempt is a job of its own.
    number = pl.int_range(1, pl.len() + 1).over(KEY)
    again = pl.when(number > 1).then(pl.format("#{}", number)).otherwise(pl.lit(""))
    ends = ends.with_columns(
        job_id=pl.format("{}/{}{}", *KEY, again),
        run_s=scaled(pl.col("time_us") - pl.col("start_us"), S_PER_US),
        status=kind.replace_strict(STATUSES, return_dtype=pl.String),
    )
    return as_jobs(ends, users, repairs)


def as_jobs(tasks: pl.DataFrame, users: pl.DataFrame, repairs: Repairs) -> pl.DataFrame:
    """Returns jobs in order of time, as `build_workload` takes them.

    Args:
        tasks: ``job_id``, ``collection``, ``submit_us``, ``run_s``, ``status``, ``logged_wait_s`` and `AMOUNTS`.
        users: The columns ``collection``, each once, and ``user``.
        repairs: Takes cores that are not told.
    """
    jobs = (
        tasks.join(users, on="collection", how="left", maintain_order="left")
        .sort("submit_us", maintain_order=True)
        .select(
            "job_id",
            "run_s",
            "user",
            "status",
            "priority",
            "logged_wait_s",
            PLACE,
            submit_s=scaled(pl.col("submit_us"), S_PER_US),
            tasks=pl.lit(1, pl.Int64),
            cores_per_task=scaled(pl.col("cpus"), LARGEST_CORES),
            memory_mb_per_task=scaled(pl.col("memory"), LARGEST_MEMORY_MB),
            queue=pl.col("scheduling_class").cast(pl.String),
        )
    )
    return with_known_cores(jobs, repairs)


def users_of(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Returns the user of each job, from frames with the columns ``collection`` (as text) and ``user``."""
    # So that there is something to concatenate where no file names a user.
    empty = pl.DataFrame(schema={"collection": pl.Int64, "user": pl.String})
    number = pl.col("collection").cast(pl.Float64, strict=False).cast(pl.Int64, strict=False)
    typed = [frame.select(number, "user") for frame in frames]
    return pl.concat([empty, *typed]).drop_nulls().unique("collection", keep="first", maintain_order=True)


def _is_end(column: str) -> pl.Expr:
    return pl.col(column).is_between(EVICT, LOST)


def _neighbor(column: str, distance: int) -> pl.Expr:
    """Returns what a column holds some events before, if that event is of the same task."""
    same = pl.all_horizontal(pl.col(name) == pl.col(name).shift(distance) for name in KEY)
    return pl.when(same).then(pl.col(column).shift(distance))


def is_json(source: Source) -> bool:
    """Returns whether a file holds JSON."""
    return source.head.lstrip()[:1] in (b"{", b"[")


def tells(source: Source, name: str) -> bool:
    """Returns whether a file has a column, or objects with a key, of this name."""
    if is_json(source):
        return re.search(rb'"' + name.encode() + rb'"\s*:', source.head) is not None
    return name in source.header


def read_records(source: Source, repairs: Repairs, names: Sequence[str], record: str) -> Iterator[pl.DataFrame]:
    """Yields the rows of a file as text, with `RESOURCES` and `PLACE`; a column that it does not have is null.

    Args:
        source: The file.
        repairs: Takes what is skipped.
        names: The columns.
        record: The column that holds `RESOURCES` as a record; in CSV they may instead be columns of their own.
    """
    if is_json(source):
        yield from _read_json(source, repairs, names, record)
        return
    for frame in read_frames(source, repairs):
        own = {column.strip('"').lower(): column for column in reversed(frame.columns)}
        columns = [pl.col(own[name]) if name in own else pl.lit(None, pl.String) for name in (*names, *RESOURCES)]
        text = frame.select(
            *(column.alias(name) for column, name in zip(columns, (*names, *RESOURCES), strict=True)), PLACE
        )
        yield (
            _with_record(text.with_columns(frame[own[record]].alias(record)), record, repairs)
            if record in own
            else text
        )


def _read_json(source: Source, repairs: Repairs, names: Sequence[str], record: str) -> Iterator[pl.DataFrame]:
    elements = read_elements(source)
    while batch := list(islice(elements, _AT_ONCE)):
        # In batches: a list of all objects would take many times the room of the file.
        resources = [_resources(element.get(record)) for _, element in batch]
        columns = {name: [_text(element.get(name)) for _, element in batch] for name in names}
        columns |= {name: [_text(part.get(name)) for part in resources] for name in RESOURCES}
        frame = pl.DataFrame([pl.Series(name, cells, pl.String) for name, cells in columns.items()])
        yield frame.with_columns(repairs.places(source, [line for line, _ in batch]))


def _resources(value: object) -> dict[str, Any]:
    """Returns the parts of a record; something else is passed on, for the check of numbers to refuse it."""
    if isinstance(value, dict):
        return value
    return dict.fromkeys(RESOURCES, value)


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _with_record(text: pl.DataFrame, record: str, repairs: Repairs) -> pl.DataFrame:
    """Returns a frame with the parts of a record such as ``{'cpus': 0.02, 'memory': None}``."""
    part = {name: pl.col(record).str.extract(rf"""['"]{name}['"]\s*:\s*([^\s,}}]+)""") for name in RESOURCES}
    odd = pl.col(record).is_not_null() & pl.all_horizontal(found.is_null() for found in part.values())
    text = repairs.replace(text, odd, record, None, f"{record} tells neither cpus nor memory: taken as unknown")
    # In CSV a record stands as Python prints a dict, with None for null.
    known = (pl.when(found != "None").then(found).alias(name) for name, found in part.items())
    return text.with_columns(*known).drop(record)
