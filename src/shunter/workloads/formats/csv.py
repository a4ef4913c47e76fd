"""A table of jobs as CSV: the columns are those of `shunter.model.workload.COLUMNS`, or mapped to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl

from shunter.errors import InputError
from shunter.files import plain_text
from shunter.model.workload import COLUMNS, EXTRA_COLUMNS
from shunter.workloads.text.delimited import read_frames
from shunter.workloads.text.log import number_anew, to_workload
from shunter.workloads.text.mapping import apply_mapping, as_seconds, counts_columns, note_unread
from shunter.workloads.text.repairs import PLACE, Repairs

if TYPE_CHECKING:
    from shunter.model.workload import Workload
    from shunter.workloads.formats import Reading
    from shunter.workloads.text.source import Source


def recognizes(source: Source) -> bool:
    """Returns whether the header has one of the columns that every table of jobs needs, and a second one."""
    return len(source.columns) > 1 and ("submit_s" in source.columns or "run_s" in source.columns)


def read(sources: Sequence[Source], reading: Reading) -> Workload:
    """Reads tables; columns that no workload has are ignored.

    Raises:
        InputError: A file is no such table, or a value is not what its column holds.
    """
    repairs = Repairs(sources, reading.strict)
    frames = [
        # Columns that nobody asked for are dropped block by block: some tables have many more than ours.
        _known(frame)
        for source in sources
        for frame in _mapped(source, repairs, reading.columns)
    ]
    if not frames:
        raise InputError(f"{sources[0].where}: the table holds no job; give it at least one")
    # Files of one log may differ in their columns; what one of them lacks is null there.
    table = pl.concat(frames, how="diagonal_relaxed")
    return to_workload(number_anew(table, repairs), repairs)


def _mapped(source: Source, repairs: Repairs, columns: Mapping[str, str]) -> Iterator[pl.DataFrame]:
    """Yields the rows of a file with our columns."""
    is_numbered = counts_columns(columns)
    is_first = True
    for text in read_frames(source, repairs, separator=source.separator, numbered=is_numbered, refuse=True):
        # Where columns are given by number, a header line is not needed.
        skipped = int(is_numbered and is_first and _is_header(text.drop(PLACE).row(0)))
        is_first = False
        mapped = apply_mapping(plain_text(text.slice(skipped)), columns, source.where)
        note_unread(mapped, columns, repairs)
        yield mapped


def _is_header(cells: Sequence[str | None]) -> bool:
    """Returns whether no cell of a row is a number or a time."""
    return as_seconds(pl.Series(cells, dtype=pl.String)).count() == 0


def _known(frame: pl.DataFrame) -> pl.DataFrame:
    if not {"submit_s", "run_s"} <= set(frame.columns):
        # The error about a missing column suggests a similar name among the others.
        return frame
    return frame.select(name for name in frame.columns if name in COLUMNS or name in EXTRA_COLUMNS or name == PLACE)
