"""Durations as schedulers write them."""

from __future__ import annotations

import polars as pl
import pytest

from shunter.workloads.text.durations import duration_s, limit_s


def test_durations() -> None:
    text = ["1-02:03:04", "02:03:04", "03:04", "03:04.500", "125-00:00:00", "UNLIMITED", "", None, "1:2:3:4", "-1:00"]
    expected = [93_784.0, 7_384.0, 184.0, 184.5, 10_800_000.0, None, None, None, None, None]
    assert duration_s(pl.Series(text)).to_list() == expected


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("36000", 36_000.0),
        ("10:00:00", 36_000.0),
        ("1:00:00:30", 86_430.0),
        ("90:00", 5_400.0),
        ("00:90:00", None),
        ("1:25:00:00", None),
        ("02:43.5", 163.5),
        ("-1", None),
        ("1:2:3:4:5", None),
        ("INFINITY", None),
        ("", None),
    ],
)
def test_limits(text: str, seconds: float | None) -> None:
    assert limit_s(text) == seconds
