"""Repairs: rows that are dropped or mended by a documented rule, counted with an example, or refused when strict.

A reader holds its rows in frames whose column `PLACE` says where each row stands; one `Repairs` goes through all of
its frames, and its ledger becomes the workload's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Final

import polars as pl

from shunter.errors import InputError
from shunter.model.log import Ledger
from shunter.model.workload import SUBMIT_LIMIT_S

if TYPE_CHECKING:
    from shunter.workloads.text.source import Source

PLACE: Final = "@place"
"""The column that says where a row stands: the file's number in the upper bits, the line's in the lower."""
UNREADABLE: Final = "not readable: line skipped"
"""The rule for what is no row at all."""

_LINE_BITS: Final = 40
_LINE_MASK: Final = (1 << _LINE_BITS) - 1
_WHOLE_LIMIT: Final = 2**62
"""What a whole number of 64 bits surely holds."""


class Repairs:
    """What has been repaired so far, in all files of a log."""

    def __init__(self, sources: Sequence[Source], strict: bool = False, unit: str = "line") -> None:
        self.ledger = Ledger()
        self.sources = list(sources)
        self.strict = strict
        """Whether each repair is an error instead."""
        self._unit = unit
        """What the files are counted by: ``line``, or ``row`` for what has no lines."""

    def places(self, source: Source, lines: Iterable[int] | pl.Series) -> pl.Series:
        """Returns the column `PLACE` for rows that stand in these lines of a file."""
        # One number a row, whatever the number of files: texts such as log.swf:12 would take more room than the log.
        return pl.Series(PLACE, lines, dtype=pl.Int64) + self.place(source, 0)

    def place(self, source: Source, line: int) -> int:
        """Returns what the column `PLACE` holds for a row that stands in this line of a file."""
        return (self.sources.index(source) << _LINE_BITS) + line

    def locate(self, place: int) -> str:
        """Returns how errors call a place: ``jobs.log:812``."""
        mark = ":" if self._unit == "line" else f": {self._unit} "
        return f"{self.sources[place >> _LINE_BITS].where}{mark}{place & _LINE_MASK}"

    def drop(self, frame: pl.DataFrame, concerned: pl.Expr, rule: str, shown: str) -> pl.DataFrame:
        """Returns the frame without the rows concerned.

        Args:
            frame: Rows, with their places.
            concerned: Which rows; null counts as no.
            rule: What is wrong and what is done, for the ledger: ``run time 0 s: job dropped``.
            shown: The column whose value the example shows.
        """
        mask = self._note(frame, concerned, rule, shown)
        return frame if mask is None else frame.filter(~mask)

    def replace(
        self, frame: pl.DataFrame, concerned: pl.Expr, column: str, value: pl.Expr | float | None, rule: str
    ) -> pl.DataFrame:
        """Returns the frame with another value in a column of the rows concerned; None makes it unknown."""
        mask = self._note(frame, concerned, rule, column)
        if mask is None:
            return frame
        # A bare None would be no expression.
        other = value if isinstance(value, pl.Expr) else pl.lit(value)
        return frame.with_columns(pl.when(mask).then(other).otherwise(pl.col(column)).alias(column))

    def to_numbers(self, frame: pl.DataFrame, columns: Sequence[str], whole: Collection[str] = ()) -> pl.DataFrame:
        """Returns a frame with some columns of text as numbers, without the rows in which one holds something else.

        Args:
            frame: Rows, with their places.
            columns: The columns of text.
            whole: The columns that must have whole numbers; they may be among the others, or numbers already.
        """
        for column in columns:
            number = pl.col(column).str.strip_chars().cast(pl.Float64, strict=False)
            known = pl.col(column).is_not_null()
            # The words nan and inf are read as numbers too, and are none of a log.
            frame = self.drop(frame, known & ~number.is_finite().fill_null(False), UNREADABLE, column)
            frame = frame.with_columns(number)
        for column in whole:
            value = pl.col(column)
            # Null stays null: what is unknown is neither whole nor broken.
            is_whole = (value == value.floor()) & value.is_between(-_WHOLE_LIMIT, _WHOLE_LIMIT)
            frame = self.drop(frame, ~is_whole, UNREADABLE, column)
            frame = frame.with_columns(value.cast(pl.Int64, strict=False))
        return frame

    def to_times(self, frame: pl.DataFrame, columns: Sequence[str], zone: str) -> pl.DataFrame:
        """Returns a frame with some columns of text as Unix times, without the rows in which one holds something else.

        Args:
            frame: Rows, with their places.
            columns: They hold times such as ``2017-10-07 01:12:09``, without a zone.
            zone: The zone whose clock they are of. An hour that the clock shows twice is taken as the first.
        """
        for column in columns:
            text = pl.col(column).str.strip_chars()
            seconds = _unix_time(text.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="ms", strict=False), zone)
            frame = self.drop(frame, seconds.is_null() & pl.col(column).is_not_null(), UNREADABLE, column)
            frame = frame.with_columns(seconds)
        return frame

    def skip(self, place: int, what: str, rule: str = UNREADABLE) -> None:
        """Records one line that cannot be read as a row."""
        self.record(rule, 1, place, what)

    def record(self, rule: str, count: int, place: int, what: str) -> None:
        """Records a repair that is already made, or refuses it.

        Args:
            rule: What is wrong and what is done.
            count: For how many rows.
            place: Where the first of them stands.
            what: Its value, named: ``submit_s -5``.
        """
        if count == 0:
            return
        # The error names the file in full, for it may be all that the user sees.
        if self.strict:
            raise InputError(f"{self.locate(place)}: {what} ({rule}); mend the line, or run without --strict")
        self.ledger = self.ledger.plus(rule, count, f"{self._short(place)}: {what}")

    def tell(self, rule: str, count: int, place: int, what: str) -> None:
        """Records what is left out without being a mistake, such as lines of another kind; strict reading allows it."""
        self.ledger = self.ledger.plus(rule, count, f"{self._short(place)}: {what}", mistake=False)

    def count(self, rule: str) -> int:
        """Returns how many rows a rule has concerned so far."""
        return sum(entry.count for entry in self.ledger.entries if entry.rule == rule)

    def example(self, rule: str) -> str:
        """Returns the first example of a rule that has concerned some row."""
        return next(entry.example for entry in self.ledger.entries if entry.rule == rule)

    def _short(self, place: int) -> str:
        """Returns how examples call a place."""
        line = place & _LINE_MASK
        # With one file its name says nothing new.
        return (
            f"{self._unit} {line}"
            if len(self.sources) == 1
            else f"{self.sources[place >> _LINE_BITS].path.name}:{line}"
        )

    def _note(self, frame: pl.DataFrame, concerned: pl.Expr, rule: str, shown: str) -> pl.Series | None:
        """Records a repair, and returns which rows it concerns, or None if there are none."""
        mask = frame.select(concerned.fill_null(False).alias("concerned")).to_series()
        count = int(mask.sum())
        if not count:
            return None
        row = mask.arg_max() or 0
        value = frame[shown][row]
        text = "empty" if value is None else f"{value:.15g}" if isinstance(value, float) else str(value)[:100]
        self.record(rule, count, frame[PLACE][row], f"{shown} {text}")
        return mask


def from_clock(seconds: pl.Expr, zone: str) -> pl.Expr:
    """Returns Unix times of clock times that were counted as if they were UTC; absurd times stay as they are."""
    # Calendars have an end, beyond which polars panics.
    is_time = seconds.is_between(-SUBMIT_LIMIT_S, SUBMIT_LIMIT_S)
    moment = pl.when(is_time).then(seconds * 1000).cast(pl.Int64, strict=False).cast(pl.Datetime("ms"))
    return pl.when(is_time).then(_unix_time(moment, zone)).otherwise(seconds)


def _unix_time(moment: pl.Expr, zone: str) -> pl.Expr:
    return moment.dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null").dt.epoch("ms") / 1000
