"""Durations as people and schedulers write them: ``1-02:03:04``, ``26:03:04``, ``03:04``."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import polars as pl

_USUAL: Final = r"^(\d+-[01]\d|\d+-2[0-3]|\d\d):[0-5]\d:[0-5]\d$"
_GENERAL: Final = r"^(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)$"
_PARTS: Final = re.compile(r"\d{1,12}(?::\d{1,12}){0,3}(?:\.\d*)?", re.ASCII)
_UNITS_S: Final = (1, 60, 3_600, 86_400)


def duration_s(text: pl.Series) -> pl.Series:
    """Returns durations such as ``1-02:03:04``, ``02:03:04`` or ``03:04.5`` in seconds; null for all else."""
    values = text.unique()
    # Time limits are few and repeated: parsing each of them once is faster.
    if 4 * values.len() < text.len():
        return text.replace_strict(values, duration_s(values), return_dtype=pl.Float64)
    seconds = _usual_duration_s(text)
    if seconds.null_count() == text.null_count():
        return seconds
    # The general pattern is slow, so it is for those that the usual one does not match.
    others = text.filter(seconds.is_null() & text.is_not_null()).unique()
    parts = others.str.extract_groups(_GENERAL).struct.unnest().cast(pl.Float64)
    days, hours, minutes, rest = (pl.nth(place) for place in range(4))
    total = days.fill_null(0) * 86_400 + hours.fill_null(0) * 3_600 + minutes * 60 + rest
    # Only the first of the parts may be of any size: 90:00 is an hour and a half, but 1:99:00 is nothing.
    is_sound = (rest < 60) & ((minutes < 60) | hours.is_null()) & ((hours < 24) | days.is_null())
    known = parts.select(pl.when(is_sound.fill_null(False)).then(total)).to_series()
    return seconds.fill_null(text.replace_strict(others, known, default=None, return_dtype=pl.Float64))


def _usual_duration_s(text: pl.Series) -> pl.Series:
    """Returns durations of the form ``1-02:03:04`` or ``02:03:04``, by the places of their digits; null for others."""
    cell = pl.col("text")
    hours, minutes, seconds = (cell.str.slice(place, 2).cast(pl.Float64, strict=False) for place in (-8, -5, -2))
    days = cell.str.head(-9).cast(pl.Float64, strict=False).fill_null(0)
    total = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    return text.alias("text").to_frame().select(pl.when(cell.str.contains(_USUAL)).then(total)).to_series()


@lru_cache(1 << 12)
def limit_s(text: str) -> float | None:
    """Returns a limit in seconds: ``36000``, ``10:00:00``, or ``1:00:00:00`` with days; None for all else."""
    if _PARTS.fullmatch(text) is None:
        return None
    parts = [float(part) for part in reversed(text.split(":"))]
    # Only the first of the parts may be of any size: 90:00 is an hour and a half, but 1:99:00 is nothing.
    if any(part * unit >= larger for part, unit, larger in zip(parts[:-1], _UNITS_S, _UNITS_S[1:], strict=False)):
        return None
    return sum(part * unit for part, unit in zip(parts, _UNITS_S, strict=False))
