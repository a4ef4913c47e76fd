"""Cells of text to numbers and times: a row in which one holds something else is skipped and counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import polars as pl

from shunter.model.workload import SUBMIT_LIMIT_S
from shunter.workloads.text.repairs import UNREADABLE

if TYPE_CHECKING:
    from shunter.workloads.text.repairs import Repairs

_WHOLE_LIMIT: Final = 2**62
"""What a whole number of 64 bits surely holds."""


def is_number(text: str) -> bool:
    """Returns whether a cell holds a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def with_numbers(frame: pl.DataFrame, columns: Sequence[str], repairs: Repairs) -> pl.DataFrame:
    """Returns a frame of text with some columns as numbers, without the rows in which one holds something else."""
    for column in columns:
        number = pl.col(column).str.strip_chars().cast(pl.Float64, strict=False)
        known = pl.col(column).is_not_null()
        frame = repairs.drop(frame, known & ~number.is_finite().fill_null(False), UNREADABLE, column)
        frame = frame.with_columns(number)
    return frame


def with_whole(frame: pl.DataFrame, columns: Sequence[str], repairs: Repairs) -> pl.DataFrame:
    """Returns a frame with some columns of numbers as whole numbers, without the rows in which one has a fraction."""
    for column in columns:
        value = pl.col(column)
        whole = (value == value.floor()) & value.is_between(-_WHOLE_LIMIT, _WHOLE_LIMIT)
        frame = repairs.drop(frame, ~whole, UNREADABLE, column)
        frame = frame.with_columns(value.cast(pl.Int64, strict=False))
    return frame


def with_times(frame: pl.DataFrame, columns: Sequence[str], zone: str, repairs: Repairs) -> pl.DataFrame:
    """Returns a frame of text with some columns as Unix times, without the rows in which one holds something else.

    Args:
        frame: Rows, with their places.
        columns: They hold times such as ``2017-10-07 01:12:09``, without a zone.
        zone: The zone whose clock they are of. An hour that the clock shows twice is taken as the first.
        repairs: Takes what is skipped.
    """
    for column in columns:
        moment = pl.col(column).str.strip_chars().str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="ms", strict=False)
        seconds = _unix_time(moment, zone)
        frame = repairs.drop(frame, seconds.is_null() & pl.col(column).is_not_null(), UNREADABLE, column)
        frame = frame.with_columns(seconds)
    return frame


def from_clock(seconds: pl.Expr, zone: str) -> pl.Expr:
    """Returns Unix times of what was counted as if the clock of a zone had shown UTC; absurd times stay as they are."""
    # Calendars have an end, beyond which polars panics.
    is_time = seconds.is_between(-SUBMIT_LIMIT_S, SUBMIT_LIMIT_S)
    moment = pl.when(is_time).then(seconds * 1000).cast(pl.Int64, strict=False).cast(pl.Datetime("ms"))
    return pl.when(is_time).then(_unix_time(moment, zone)).otherwise(seconds)


def _unix_time(moment: pl.Expr, zone: str) -> pl.Expr:
    return moment.dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null").dt.epoch("ms") / 1000
