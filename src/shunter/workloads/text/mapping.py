"""Names of columns: which column of a table, or which small formula of its columns, gives one of ours."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import polars as pl

from shunter.checks import check_name
from shunter.errors import InputError
from shunter.model.workload import COLUMNS, EXTRA_COLUMNS
from shunter.workloads.text.durations import duration_s
from shunter.workloads.text.repairs import PLACE, Repairs

_OURS: Final = (*COLUMNS, *EXTRA_COLUMNS)
_OF_A_TASK: Final = {
    **dict.fromkeys(("cores", "cpus", "ncpus", "num_cpus", "processors", "procs"), "cores_per_task"),
    **dict.fromkeys(("gpus", "ngpus", "num_gpus"), "gpus_per_task"),
    **dict.fromkeys(("memory_mb", "mem_mb"), "memory_mb_per_task"),
}
"""Names that people give to what we count by the task: theirs may be of the whole job, so that only they can say."""
_FORMULA: Final = re.compile(r"(?P<left>[^*/]+?)\s*(?P<sign>[*/-])\s*(?P<right>[^*/]+)")


def parse_mapping(columns: str | Mapping[str, str]) -> dict[str, str]:
    """Returns what gives each of our columns, from ``submit_s=arrival,run_s=end-start``.

    Raises:
        InputError: A part is no such pair, or names no column of ours, or one twice.
    """
    # From Python a mapping comes as a dict, from the command line as a text.
    pairs = list(columns.items()) if isinstance(columns, Mapping) else [_pair(part) for part in columns.split(",")]
    mapping: dict[str, str] = {}
    for ours, theirs in pairs:
        check_name("column of a workload", ours, _OURS, where="--map (columns): ")
        if ours in mapping:
            raise InputError(f'--map (columns): "{ours}" is given twice; give it once')
        mapping[ours] = theirs
    return mapping


def counts_columns(mapping: Mapping[str, str]) -> bool:
    """Returns whether a mapping names columns by their numbers, as for a table without a header: ``submit_s=1``."""
    formulas = [(theirs, _FORMULA.fullmatch(theirs)) for theirs in mapping.values()]
    parts = [theirs if formula is None else formula["left"] for theirs, formula in formulas]
    parts += [formula["right"] for _, formula in formulas if formula is not None and formula["sign"] == "-"]
    return bool(parts) and all(part.strip().isdecimal() for part in parts)


def apply_mapping(frame: pl.DataFrame, mapping: Mapping[str, str], where: str) -> pl.DataFrame:
    """Returns the table with our columns made of what the mapping names; its other columns stay.

    Dates and durations in our columns of seconds become seconds, whether they are mapped or not.

    Raises:
        InputError: The mapping names a column that the table does not have.
    """
    made = [_value(frame, theirs, ours, where).alias(ours) for ours, theirs in mapping.items()]
    own = [frame[name] for name in frame.columns if name in _OURS and name not in mapping]
    return frame.with_columns(*made, *(_column(values, values.name) for values in own if values.dtype == pl.String))


def note_unread(frame: pl.DataFrame, mapping: Mapping[str, str], repairs: Repairs) -> None:
    """Records columns that seem to tell a job's size and are not read: in silence each job would have one core."""
    for theirs, ours in _OF_A_TASK.items():
        is_used = ours in frame.columns or any(theirs in part for part in mapping.values())
        if theirs in frame.columns and not is_used and frame.height:
            rule = f"column {theirs} is not read; if it is of each task: --map {ours}={theirs}"
            repairs.record(rule, frame.height, frame[PLACE][0], f"{theirs} {frame[theirs][0]}"[:100])


def as_seconds(values: pl.Series) -> pl.Series:
    """Returns a column as seconds: numbers as they are, durations such as ``1-02:03:04`` or ``2:03:04``, and dates.

    Dates become Unix times; one that tells no zone is in UTC.
    """
    text = values.cast(pl.String).str.strip_chars()
    numbers = text.cast(pl.Float64, strict=False)
    if numbers.null_count() == text.null_count():
        return numbers
    clock = text.str.replace(r"Z$", "+00:00").str.replace(r"\s+([+-]\d\d:?\d*)$", "$1")
    clock = clock.str.replace(" ", "T", literal=True)
    # Without seconds, or without a time, the moment is the first of that minute or day.
    clock = clock.str.replace(r"^(\d{4}-\d\d-\d\d)$", "${1}T00:00").str.replace(r"(T\d\d:\d\d)($|[+-])", "$1:00$2")
    zoned = clock.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f%#z", time_unit="us", strict=False, time_zone="UTC")
    naive = clock.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", time_unit="us", strict=False)
    moment_us = zoned.dt.epoch("us").fill_null(naive.dt.epoch("us"))
    return numbers.fill_null(_divided(moment_us, 1e6)).fill_null(duration_s(text))


def _divided(values: pl.Series, divisor: float) -> pl.Series:
    # NumPy divides; Polars would multiply with the reciprocal, whose last digit may differ.
    return pl.Series(values.name, values.cast(pl.Float64).to_numpy() / divisor, nan_to_null=True)


def _pair(part: str) -> tuple[str, str]:
    ours, equals, theirs = part.partition("=")
    if not (equals and ours.strip() and theirs.strip()):
        raise InputError(f'--map (columns): "{part}" is no pair; expected OURS=THEIRS, such as submit_s=arrival')
    return ours.strip(), theirs.strip()


def _value(frame: pl.DataFrame, theirs: str, ours: str, where: str) -> pl.Series:
    # A column's own name goes before a formula: names such as "wait-time" hold signs.
    if theirs in frame.columns:
        return _column(frame[theirs], ours)
    formula = _FORMULA.fullmatch(theirs)
    left = formula["left"].strip() if formula else theirs
    right = formula["right"].strip() if formula and formula["sign"] == "-" else left
    for name in (left, right):
        known = [column for column in frame.columns if column != PLACE]
        check_name("column", name, known, where=f"{where}: {ours}={theirs}: ")
    if formula is None:
        return frame[left]
    if formula["sign"] == "-":
        # Unix times have a few digits after the millisecond; what a difference has beyond is noise.
        return (as_seconds(frame[left]) - as_seconds(frame[right])).round(6)
    factor = _factor(formula["right"].strip(), theirs)
    return as_seconds(frame[left]) * factor if formula["sign"] == "*" else _divided(as_seconds(frame[left]), factor)


def _column(values: pl.Series, ours: str) -> pl.Series:
    """Returns a column as it is, or as seconds where seconds are wanted and it holds dates or durations."""
    if not ours.endswith("_s"):
        return values
    numbers = values.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)
    # Numbers stay as they are written, so that an error can show them.
    if numbers.null_count() == values.null_count():
        return values
    seconds = as_seconds(values)
    # What is neither a number nor a time is left for the check that names its line.
    return seconds if seconds.null_count() == values.null_count() else values


def _factor(text: str, formula: str) -> float:
    try:
        factor = float(text)
    except ValueError:
        factor = 0.0
    if not 0 < factor < float("inf"):
        raise InputError(f'--map (columns): "{formula}" ends in "{text}"; expected a number above 0')
    return factor
