"""Names of columns: which column of a table, or which small formula of its columns, gives one of ours."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import polars as pl

from shunter.errors import InputError
from shunter.model.workload import COLUMNS, EXTRA_COLUMNS
from shunter.workloads.parameters import suggest

_OURS: Final = (*COLUMNS, *EXTRA_COLUMNS)
_FORMULA: Final = re.compile(r"(?P<left>[^*/]+?)\s*(?P<sign>[*/-])\s*(?P<right>[^*/]+)")


def parse_mapping(columns: str | Mapping[str, str] | None) -> dict[str, str]:
    """Returns what gives each of our columns, from ``submit_s=arrival,run_s=end-start``.

    Raises:
        InputError: A part is no such pair, or names no column of ours, or one twice.
    """
    if columns is None:
        return {}
    pairs = list(columns.items()) if isinstance(columns, Mapping) else [_pair(part) for part in columns.split(",")]
    mapping: dict[str, str] = {}
    for ours, theirs in pairs:
        if ours not in _OURS:
            raise InputError(f'--map (columns): "{ours}" is no column of a workload; {suggest(ours, _OURS)}')
        if ours in mapping:
            raise InputError(f'--map (columns): "{ours}" is given twice; give it once')
        mapping[ours] = theirs
    return mapping


def apply_mapping(frame: pl.DataFrame, mapping: Mapping[str, str], where: str) -> pl.DataFrame:
    """Returns the table with our columns made of what the mapping names; its other columns stay.

    Raises:
        InputError: The mapping names a column that the table does not have.
    """
    made = [_value(frame, theirs, ours, where).alias(ours) for ours, theirs in mapping.items()]
    return frame.with_columns(made)


def as_seconds(column: str) -> pl.Expr:
    """Returns a column as seconds: numbers as they are, dates as Unix times (in UTC where they tell no zone)."""
    text = pl.col(column).cast(pl.String).str.strip_chars()
    clock = text.str.replace(" ", "T", literal=True)
    zoned = clock.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f%#z", time_unit="ms", strict=False, time_zone="UTC")
    naive = clock.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", time_unit="ms", strict=False)
    moment = pl.coalesce(zoned.dt.epoch("ms"), naive.dt.epoch("ms")) / 1000
    return pl.coalesce(text.cast(pl.Float64, strict=False), moment)


def _pair(part: str) -> tuple[str, str]:
    ours, equals, theirs = part.partition("=")
    if not (equals and ours.strip() and theirs.strip()):
        raise InputError(f'--map (columns): "{part}" is no pair; expected OURS=THEIRS, such as submit_s=arrival')
    return ours.strip(), theirs.strip()


def _value(frame: pl.DataFrame, theirs: str, ours: str, where: str) -> pl.Expr:
    if theirs in frame.columns:
        return _column(frame, theirs, ours)
    formula = _FORMULA.fullmatch(theirs)
    left = formula["left"].strip() if formula else theirs
    if formula is None or left not in frame.columns:
        raise InputError(f'{where}: has no column "{left}" for {ours}; {suggest(left, frame.columns)}')
    right = formula["right"].strip()
    if formula["sign"] == "-":
        if right not in frame.columns:
            raise InputError(f'{where}: has no column "{right}" for {ours}; {suggest(right, frame.columns)}')
        return as_seconds(left) - as_seconds(right)
    factor = _factor(right, theirs)
    return as_seconds(left) * factor if formula["sign"] == "*" else as_seconds(left) / factor


def _column(frame: pl.DataFrame, theirs: str, ours: str) -> pl.Expr:
    """Returns a column as it is, or as Unix time where times are wanted and it holds dates."""
    if not ours.endswith("_s"):
        return pl.col(theirs)
    seconds = frame.select(as_seconds(theirs)).to_series()
    # What is neither a number nor a time is left for the check that names its line.
    return pl.lit(seconds) if seconds.null_count() == frame[theirs].null_count() else pl.col(theirs)


def _factor(text: str, formula: str) -> float:
    try:
        factor = float(text)
    except ValueError:
        factor = 0.0
    if not 0 < factor < float("inf"):
        raise InputError(f'--map (columns): "{formula}" ends in "{text}"; expected a number above 0')
    return factor
