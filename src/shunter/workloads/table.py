"""Tables of jobs, as CSV and Parquet; the columns are those of `shunter.model.workload.COLUMNS`."""

from __future__ import annotations

import csv
import gzip
import io
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
from polars.exceptions import PolarsError

from shunter.errors import InputError
from shunter.model.workload import COLUMNS, EXTRA_COLUMNS, Locate, Workload

if TYPE_CHECKING:
    from shunter.workloads.source import Source

_DUPLICATE_MARK = "_duplicated_"
"""What Polars puts between a column's name and a number where a header has the name twice."""


def read_csv(source: Source, *, strict: bool = False) -> Workload:
    """Reads a CSV table with a header line; columns that `COLUMNS` does not know are ignored.

    Raises:
        InputError: The file is no such table, or a value is not what its column holds.
    """
    if b"\0" in source.data:
        raise InputError(f"{source.where}: looks like a binary file; expected a CSV table, as text or gzip")
    try:
        # As text, so that a value that is no number can be shown, with its line.
        frame = pl.read_csv(io.BytesIO(source.data), infer_schema=False)
    except (PolarsError, ValueError) as error:
        _check_row_lengths(source)
        raise InputError(f"{source.where}: is not a CSV table ({_first_line(error)}); mend the file") from None
    filled = frame.select(~pl.all_horizontal(pl.all().is_null())).to_series()
    return _workload(frame.filter(filled), source, strict, _line_of(source.where, source.data, filled.arg_true()))


def _check_row_lengths(source: Source) -> None:
    """Raises an error for the first row that has more fields than the header, for Polars does not tell its line."""
    rows = csv.reader(io.StringIO(source.data.decode("utf-8-sig", errors="replace"), newline=""))
    try:
        header = next((row for row in rows if row), [])
        for row in rows:
            if len(row) > len(header):
                what = f"the row has {len(row)} fields, the header {len(header)}"
                raise InputError(f"{source.where}:{rows.line_num}: {what}; mend or remove the row")
    except csv.Error:
        return


def read_parquet(source: Source, *, strict: bool = False) -> Workload:
    """Reads a Parquet table; columns that `COLUMNS` does not know are ignored.

    Raises:
        InputError: The file is no such table, or a value is not what its column holds.
    """
    try:
        frame = pl.read_parquet(io.BytesIO(source.data))
    except (PolarsError, OSError, ValueError) as error:
        raise InputError(f"{source.where}: is not a Parquet file ({_first_line(error)}); write it again") from None
    return _workload(frame, source, strict, lambda row: f"{source.where}: row {row + 1}")


def write_table(workload: Workload, path: str | Path) -> None:
    """Writes a workload's jobs as ``.csv``, ``.csv.gz`` or ``.parquet``; reading them gives the same jobs.

    Raises:
        InputError: The name has another ending, or the file cannot be written.
    """
    path = Path(path)
    name = path.name.lower()
    buffer = io.BytesIO()
    if name.endswith((".csv", ".csv.gz")):
        workload.jobs.write_csv(buffer)
    elif name.endswith(".parquet"):
        workload.jobs.write_parquet(buffer)
    else:
        raise InputError(f"{path}: cannot tell what to write; end the name in .csv, .csv.gz or .parquet")
    # Without a time stamp, the same jobs give the same bytes.
    content = gzip.compress(buffer.getvalue(), mtime=0) if name.endswith(".gz") else buffer.getvalue()
    try:
        path.write_bytes(content)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be written ({error}); check the folder and its permissions") from None


def _workload(frame: pl.DataFrame, source: Source, strict: bool, locate: Locate) -> Workload:
    workload = Workload.from_frame(
        frame.rename(_names(frame, source.where)),
        name=source.path.name,
        content_sha256=source.content_sha256,
        strict=strict,
        locate=locate,
    )
    known = [column for column in workload.jobs.columns if column in COLUMNS or column in EXTRA_COLUMNS]
    return replace(workload, jobs=workload.jobs.select(known))


def _names(frame: pl.DataFrame, where: str) -> dict[str, str]:
    """Returns the columns' names without blanks around them."""
    names = {column: column.partition(_DUPLICATE_MARK)[0].strip() for column in frame.columns}
    for number, name in enumerate(names.values()):
        if name in list(names.values())[:number]:
            raise InputError(f'{where}: two columns are called "{name}"; rename one of them')
    return names


def _line_of(where: str, text: bytes, rows: pl.Series) -> Locate:
    """Returns what names a CSV row: by its line, or by its number where quoted text may hold line ends."""
    header_line = text[: len(text) - len(text.lstrip(b"\r\n"))].count(b"\n") + 1
    if b'"' in text:
        return lambda row: f"{where}: row {rows[row] + 1}"
    return lambda row: f"{where}:{header_line + 1 + rows[row]}"


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
