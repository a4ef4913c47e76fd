"""Delimited text (CSV, and the bars of Slurm) to frames of text, block by block, each row with its place."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import polars as pl
from polars.exceptions import PolarsError

from shunter.errors import InputError
from shunter.workloads.text.repairs import PLACE
from shunter.workloads.text.source import LINE_BYTES, Block

if TYPE_CHECKING:
    from shunter.workloads.text.repairs import Repairs
    from shunter.workloads.text.source import Source

Mend = Callable[[list[str]], list[str] | None]
"""Puts a row with another number of cells right, or returns None if it cannot."""

Line = tuple[int, list[str]]
"""The number of a line in its file, and its cells."""

COLUMNS_LIMIT: Final = 4096
"""The most columns of a table; no log has a tenth of that."""

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
    numbered: bool = False,
    wanted: Callable[[str], bool] | None = None,
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
        numbered: Whether columns are called by their numbers, from 1 on; the first line is then a row like the others.
        wanted: Which columns to yield, by their names in the file; by default all.
    """
    names = None if columns is None else list(columns)
    rows = _Rows(source, repairs, separator, comment)
    header: list[str] = []
    for block in source.blocks(quoted=separator if quoted else None):
        # Quotes are rare in logs. A block without any is read by the quick way below.
        cells = _quoted_cells(source, block, separator) if quoted and b'"' in block.text else None
        if names is None:
            header = rows.first(_unquoted_cells(block, separator) if cells is None else cells)
            if not header:
                continue
            names = (
                [str(number + 1) for number in range(len(header))] if numbered else [cell.strip() for cell in header]
            )
            names = _distinct(names, source.where)
            header = [] if numbered else header
            # The first one was used up to find the header.
            cells = None if cells is None else _quoted_cells(source, block, separator)
        table = _Table(names, header, mend, refuse, wanted or (lambda _: True))
        frame = rows.unquoted(block, table) if cells is None else rows.of_cells(cells, table)
        if frame.height:
            yield frame


class _Table(NamedTuple):
    """What is known of all rows of a file."""

    names: list[str]
    header: list[str]
    """The cells of the line that tells the names; empty if there is none."""
    mend: Mend | None
    refuse: bool
    wanted: Callable[[str], bool]

    @property
    def chosen(self) -> list[str]:
        return [name for name in self.names if self.wanted(name)]


class _Rows:
    """Makes frames of rows."""

    def __init__(self, source: Source, repairs: Repairs, separator: str, comment: str) -> None:
        self._source = source
        self._repairs = repairs
        self._separator = separator
        self._comment = comment

    def first(self, lines: Iterable[Line]) -> list[str]:
        """Returns the cells of the first line that says something."""
        return next((cells for _, cells in lines if self._says_something(cells)), [])

    def of_cells(self, lines: Iterable[Line], table: _Table) -> pl.DataFrame:
        """Returns the rows of lines that are already cut into cells."""
        rows: list[list[str]] = []
        numbers: list[int] = []
        for number, cells in lines:
            # Files that were put together from several have the header again in their middle.
            if not self._says_something(cells) or cells == table.header:
                continue
            row: list[str] | None = cells
            if len(cells) != len(table.names):
                row = table.mend(cells) if table.mend is not None else None
            if row is None or len(row) != len(table.names):
                self._skip(number, f"the row has {len(cells)} fields, the header {len(table.names)}", table.refuse)
                continue
            rows.append(row)
            numbers.append(number)
        # Column by column, as Polars wants it.
        columns = zip(*rows, strict=True) if rows else ((),) * len(table.names)
        texts = [pl.Series(name, cells, pl.String) for name, cells in zip(table.names, columns, strict=True)]
        empty_as_null = [pl.when(pl.col(name) != "").then(pl.col(name)).alias(name) for name in table.chosen]
        return pl.DataFrame(texts).select(empty_as_null).with_columns(self._repairs.places(self._source, numbers))

    def unquoted(self, block: Block, table: _Table) -> pl.DataFrame:
        """Returns the rows of a block in which no cell stands in quotes: the regular ones in the quickest way."""
        text, first = block
        header = self._separator.join(table.header).encode()
        # The usual place of the header; elsewhere in the block it is looked for below.
        if header and text.startswith(header + b"\n"):
            text, first = text[len(header) + 1 :], first + 1
        text = text if text.endswith(b"\n") or not text else text + b"\n"
        lines = self._regular_lines(text, len(table.names), header)
        frame = None if lines is None else self._parse(text, lines, table)
        if frame is None or lines is None:
            return self._one_by_one(Block(text, first), header, table)
        places = pl.int_range(first, first + lines, dtype=pl.Int64, eager=True)
        return frame.with_columns(self._repairs.places(self._source, places))

    def _regular_lines(self, text: bytes, width: int, header: bytes) -> int | None:
        """Returns the number of lines; None if one is blank, a comment or the header, or if cells are not as many."""
        # NumPy looks through a block several times faster than searches for two signs do.
        signs = np.frombuffer(text, np.uint8)
        ends = np.flatnonzero(signs == ord("\n"))
        if not ends.size:
            return None
        begins = signs[np.concatenate(([0], ends[:-1] + 1))]
        if ((begins == ord("\n")) | (begins == ord(self._comment))).any():
            return None
        if header and (begins == header[0]).any() and b"\n" + header + b"\n" in b"\n" + text:
            return None
        # If one line has a cell too many and another one too few, the sum is right all the same: `_parse` finds that.
        separators = np.count_nonzero(signs == ord(self._separator))
        return int(ends.size) if separators == ends.size * (width - 1) else None

    def _parse(self, text: bytes, lines: int, table: _Table) -> pl.DataFrame | None:
        """Returns rows of the right length; None if one is longer, and another shorter."""
        # Most files are UTF-8, and read faster as such.
        for encoding in ("utf8", "utf8-lossy"):
            try:
                # Everything as text: types are told by the format, not guessed from the first rows.
                frame = pl.read_csv(
                    text,
                    has_header=False,
                    separator=self._separator,
                    quote_char=None,
                    schema=dict.fromkeys(table.names, pl.String),
                    columns=[number for number, name in enumerate(table.names) if table.wanted(name)],
                    encoding=encoding,
                )
            except PolarsError:
                continue
            return frame if frame.height == lines else None
        return None

    def _one_by_one(self, block: Block, header: bytes, table: _Table) -> pl.DataFrame:
        """Returns the rows of a block of which some are regular and some are not."""
        separator, comment = self._separator.encode(), self._comment.encode()
        regular: list[bytes] = []
        numbers: list[int] = []
        others: list[Line] = []
        for number, line in enumerate(block.text.split(b"\n"), start=block.first_line):
            is_regular = line.count(separator) == len(table.names) - 1 and not line.isspace()
            if is_regular and line and not line.startswith(comment) and line != header:
                regular.append(line)
                numbers.append(number)
            else:
                others.append((number, line.decode("utf-8", errors="replace").split(self._separator)))
        odd = self.of_cells(others, table)
        frame = self._parse(b"\n".join([*regular, b""]), len(regular), table) if regular else None
        if frame is None:
            return odd
        # Regular and odd rows were read apart; by their places they find together again.
        return pl.concat([frame.with_columns(self._repairs.places(self._source, numbers)), odd]).sort(PLACE)

    def _says_something(self, cells: list[str]) -> bool:
        return any(cell.strip() for cell in cells) and not cells[0].startswith(self._comment)

    def _skip(self, line: int, what: str, refuse: bool) -> None:
        if refuse:
            raise InputError(f"{self._source.where}:{line}: {what}; mend or remove the row")
        self._repairs.skip(self._repairs.place(self._source, line), what)


def _unquoted_cells(block: Block, separator: str) -> Iterator[Line]:
    """Yields the cells of each line, and its number in the file."""
    for number, line in enumerate(block.text.split(b"\n"), start=block.first_line):
        yield number, line.decode("utf-8", errors="replace").split(separator)


def _quoted_cells(source: Source, block: Block, separator: str) -> Iterator[Line]:
    """Yields the cells of each row, and the number of its first line in the file."""
    text = block.text.decode("utf-8", errors="replace")
    # newline="" leaves line ends within quotes to the reader.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True, strict=True)
    begins = block.first_line
    try:
        for cells in reader:
            if cells:
                yield begins, cells
            # A row may take several lines; the next one begins behind the last of them.
            begins = block.first_line + reader.line_num
    except csv.Error as error:
        what = "a quote is not closed" if "end of data" in str(error) else f"a quote stands wrong ({error})"
        raise InputError(f"{source.where}:{begins}: {what} in the row that begins here; mend the line") from None


def _distinct(names: list[str], where: str) -> list[str]:
    if len(names) > COLUMNS_LIMIT:
        raise InputError(f"{where}: the header has {len(names):,} columns; expected at most {COLUMNS_LIMIT:,}")
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f'{where}: two columns are called "{name}"; rename one of them')
        seen.add(name)
    return [_literal(name) for name in names]


def _literal(name: str) -> str:
    """Returns a name that Polars cannot take for a pattern of names; a column without a name gets one."""
    is_pattern = name == "*" or (name.startswith("^") and name.endswith("$"))
    return f"{name} (a name)" if is_pattern else name or "without a name"
