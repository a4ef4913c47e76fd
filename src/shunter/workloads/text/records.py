"""Accounting logs with a record for each job: rows that are made one by one, and what several schedulers share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

import polars as pl

if TYPE_CHECKING:
    from shunter.workloads.text.repairs import Repairs
    from shunter.workloads.text.source import Source

NEVER_STARTED: Final = "never started: job dropped"
"""The rule for jobs that ended while they were pending."""
ODD: Final = "value not readable: taken as unknown"
"""The rule for what a record says in a way that its scheduler does not."""
OTHER_KIND: Final = "record of another kind: left out"
"""The rule for records that tell nothing of a job's end."""
TIMES_AND_SIZES: Final[dict[str, type[pl.DataType]]] = {
    "job_id": pl.String,
    "submit_s": pl.Float64,
    "start_s": pl.Float64,
    "run_s": pl.Float64,
    "requested_s": pl.Float64,
    "tasks": pl.Int64,
    "cores_per_task": pl.Float64,
    "memory_mb_per_task": pl.Float64,
    "gpus_per_task": pl.Float64,
    "logged_wait_s": pl.Float64,
    "nodes": pl.Int64,
    "hosts": pl.String,
}
"""The columns that every accounting log fills; ``start_s`` is for `started_jobs` alone."""

_ROWS: Final = 50_000
"""How many rows are held as objects at a time: an object takes many times the room of a row."""
_LARGEST: Final = 1e15


class BrokenRecord(Exception):
    """A record does not hold what its kind has."""


def number_of(text: str, what: str) -> float:
    """Returns the number that a text is.

    Raises:
        BrokenRecord: It is none, or none of a log.
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    # NaN is within no bounds, and so refused too.
    if not -_LARGEST < value < _LARGEST:
        raise BrokenRecord(f"{what} is {text[:40]!r}, not a number of a log")
    return value


def tasks_of(nodes: int, cores: int, gpus: float, *, is_even: bool) -> int:
    """Returns into how many tasks a job is divided, of which logs tell nothing; 0 if its size is not known.

    Args:
        nodes: On how many nodes it ran.
        cores: On all nodes.
        gpus: On all nodes.
        is_even: Whether each node gave as many cores and GPUs as the others.
    """
    # Where nodes gave alike, a task for each has the right shape; otherwise there is one for each GPU or core.
    return (nodes if is_even else int(gpus) or cores) if cores else 0


def each_task(amount: float | None, tasks: int) -> float | None:
    """Returns the part of one task in what a job has in all; None if that is not known."""
    return None if amount is None or not tasks else amount / tasks


def started_jobs(
    rows: Iterable[tuple[int, tuple[object, ...]]],
    schema: Mapping[str, type[pl.DataType]],
    source: Source,
    repairs: Repairs,
) -> Iterator[pl.DataFrame]:
    """Yields rows as frames with their places, without the jobs that have never started.

    Args:
        rows: The line of each row, and its values.
        schema: The columns, with ``start_s``, which is 0 or null for a job that has never started.
        source: The file.
        repairs: Takes what is dropped.
    """
    held: list[tuple[object, ...]] = []
    lines: list[int] = []
    for line, row in rows:
        held.append(row)
        lines.append(line)
        if len(held) == _ROWS:
            yield _started(held, schema, repairs.places(source, lines), repairs)
            held, lines = [], []
    if held:
        yield _started(held, schema, repairs.places(source, lines), repairs)


def _started(
    rows: list[tuple[object, ...]], schema: Mapping[str, type[pl.DataType]], places: pl.Series, repairs: Repairs
) -> pl.DataFrame:
    frame = pl.DataFrame(rows, schema=dict(schema), orient="row").with_columns(places)
    never = pl.col("start_s").is_null() | (pl.col("start_s") <= 0)
    return repairs.drop(frame, never, NEVER_STARTED, "job_id").drop("start_s")
