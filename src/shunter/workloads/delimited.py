"""Delimited text (CSV, and the bars of Slurm) to frames of text, block by block, each row with its place."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import polars as pl
from polars.exceptions import PolarsError

from shunter.errors import InputError
from shunter.workloads.source import LINE_BYTES

if TYPE_CHECKING:
    from shunter.workloads.repairs import Repairs
    from shunter.workloads.source import Block, Source

Mend = Callable[[list[str]], list[str] | None]
"""Puts a row with another number of cells right, or returns None if it cannot."""

csv.field_size_limit(LINE_BYTES)


def read_frames(
    source: Source,
    repairs: Repairs,
    columns: Sequence[str] | None = None,
    *,
    separator: str = ",",
    quoted: bool = True,
    comment: str = "#",
    mend: Mend | None = None,
    refuse: bool = False,
) -> Iterator[pl.DataFrame]:
    """Yields the rows of a file as text, with the column `PLACE`; an empty cell is null.

    Blank lines, comments, and lines that repeat the header are passed over. A row with another number of cells is put
    right by `mend`, or skipped and counted.

    Args:
        source: The file.
        repairs: Takes what is skipped.
        columns: The names of the columns of a file without a header line; by default its first line tells them.
        separator: What stands between cells: one sign of ASCII.
        quoted: Whether cells may stand in double quotes.
        comment: How lines begin that say nothing.
        mend: Puts right a row with too few or too many cells.
        refuse: Whether a row that is not put right is an error.
    """
    names = None if columns is None else list(columns)
    header: list[str] = []
    for block in source.blocks(quoted=quoted):
        rows = _Rows(source, repairs, separator, comment, quoted and b'"' in block.text, refuse)
        if names is None:
            header = rows.first(block)
            if not header:
                continue
            names = _distinct([cell.strip() for cell in header], source.where)
        frame = rows.frame(block, names, header, mend)
        if frame.height:
            yield frame


class _Rows:
    """How rows are cut from a block."""

    def __init__(
        self, source: Source, repairs: Repairs, separator: str, comment: str, quoted: bool, refuse: bool
    ) -> None:
        self._source = source
        self._repairs = repairs
        self._separator = separator
        self._comment = comment
        self._quoted = quoted
        self._refuse = refuse

    def first(self, block: Block) -> list[str]:
        """Returns the cells of the first line that says something."""
        return next((cells for _, cells in self._cut(block)), [])

    def frame(self, block: Block, names: list[str], header: list[str], mend: Mend | None) -> pl.DataFrame:
        """Returns the rows of a block."""
        regular = None if self._quoted else self._regular(block, names, self._separator.join(header).encode())
        return self._irregular(block, names, header, mend) if regular is None else regular

    def _irregular(self, block: Block, names: list[str], header: list[str], mend: Mend | None) -> pl.DataFrame:
        """Returns the rows of a block, looked at one by one."""
        rows: list[list[str]] = []
        lines: list[int] = []
        for line, cells in self._cut(block):
            if cells == header:
                continue
            row: list[str] | None = cells
            if len(cells) != len(names):
                row = mend(cells) if mend is not None else None
            if row is None or len(row) != len(names):
                self._skip(line, f"the row has {len(cells)} fields, the header {len(names)}")
                continue
            rows.append(row)
            lines.append(line)
        columns = zip(*rows, strict=True) if rows else ((),) * len(names)
        frame = pl.DataFrame([pl.Series(name, cells, pl.String) for name, cells in zip(names, columns, strict=True)])
        empty_as_null = (pl.when(pl.col(name) != "").then(pl.col(name)).alias(name) for name in names)
        return frame.with_columns(*empty_as_null).with_columns(self._repairs.places(self._source, lines))

    def _skip(self, line: int, what: str) -> None:
        if self._refuse:
            raise InputError(f"{self._source.where}:{line}: {what}; mend or remove the row")
        self._repairs.skip(self._repairs.places(self._source, [line])[0], what)

    def _regular(self, block: Block, names: list[str], header: bytes) -> pl.DataFrame | None:
        """Returns a block whose every line is a row of the right length, in the quickest way; None if any is not."""
        text, first = block
        if header and text.startswith(header + b"\n"):
            text, first = text[len(header) + 1 :], first + 1
        text = text if text.endswith(b"\n") else text + b"\n"
        lines = text.count(b"\n")
        # Looking for one sign is twenty times faster than looking for two.
        comment = self._comment.encode()
        odd = text.startswith((b"\n", comment)) or b"\n\n" in text or (comment in text and b"\n" + comment in text)
        odd = odd or bool(header and (text.startswith(header) or b"\n" + header in text))
        if odd or text.count(self._separator.encode()) != lines * (len(names) - 1):
            return None
        try:
            frame = pl.read_csv(
                io.BytesIO(text),
                has_header=False,
                separator=self._separator,
                quote_char=None,
                schema=dict.fromkeys(names, pl.String),
                encoding="utf8-lossy",
            )
        except PolarsError:
            # A row that is too long, beside one that is too short.
            return None
        places = pl.int_range(first, first + lines, dtype=pl.Int64, eager=True)
        return frame.with_columns(self._repairs.places(self._source, places)) if frame.height == lines else None

    def _cut(self, block: Block) -> Iterator[tuple[int, list[str]]]:
        """Yields the cells of each line that is neither blank nor a comment, and its number in the file."""
        text = block.text.decode("utf-8", errors="replace")
        if not self._quoted:
            for number, line in enumerate(text.split("\n"), start=block.first_line):
                if line.strip() and not line.startswith(self._comment):
                    yield number, line.split(self._separator)
            return
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=self._separator, skipinitialspace=True)
        begins = block.first_line
        try:
            for cells in reader:
                if any(cells) and not cells[0].startswith(self._comment):
                    yield begins, cells
                begins = block.first_line + reader.line_num
        except csv.Error as error:
            raise InputError(f"{self._source.where}:{begins}: is no row of a table ({error}); mend the line") from None


def _distinct(names: list[str], where: str) -> list[str]:
    for number, name in enumerate(names):
        if name in names[:number]:
            raise InputError(f'{where}: two columns are called "{name}"; rename one of them')
    # Polars takes a column without a name for another.
    return [name or "without a name" for name in names]
