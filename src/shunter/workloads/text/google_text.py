"""Google's tables of 2019 as text: JSON lines, as their database exports them, or CSV."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from shunter.workloads.text.delimited import read_frames
from shunter.workloads.text.json_text import read_elements
from shunter.workloads.text.repairs import PLACE

if TYPE_CHECKING:
    from shunter.workloads.text.repairs import Repairs
    from shunter.workloads.text.source import Source

RESOURCES: Final = ["cpus", "memory"]
"""The parts of a record that tells what a task asks for or what a machine has."""

_AT_ONCE: Final = 50_000


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
        resources = [_resources(element.get(record)) for _, element in batch]
        columns = {name: [_text(element.get(name)) for _, element in batch] for name in names}
        columns |= {name: [_text(part.get(name)) for part in resources] for name in RESOURCES}
        frame = pl.DataFrame([pl.Series(name, cells, pl.String) for name, cells in columns.items()])
        yield frame.with_columns(repairs.places(source, [line for line, _ in batch]))


def _resources(value: object) -> dict[str, Any]:
    """Returns the parts of a record; what is none is left for the numbers' check to find."""
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
    known = (pl.when(found != "None").then(found).alias(name) for name, found in part.items())
    return text.with_columns(*known).drop(record)
