"""How tables, figures and sentences call things: counts, shares, names, numbers, waits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

WAIT_UNITS: Final = (("hours", 3600.0), ("minutes", 60.0))
"""From the largest; below them seconds."""
UNITS_S: Final = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
"""Units of time, from the largest."""


def counted(number: int, what: str) -> str:
    """Returns a number of things: ``1 block``, ``8 blocks``."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def shortened(label: str, most: int = 34) -> str:
    """Returns a label without its middle if it is longer than a figure has room for."""
    half = (most - 1) // 2
    return label if len(label) <= most else f"{label[:half]}…{label[-half:]}"


def percent(share: float | None, digits: int = 0) -> str:
    """Returns a share in percent: ``84 %``; a dash where there is none."""
    return "–" if share is None else f"{100 * share:.{digits}f} %"


def short(value: float | None) -> str:
    """Returns a number with about three digits; a dash where there is none."""
    if value is None:
        return "–"
    size = abs(value)
    return f"{value:,.0f}" if size >= 100 else f"{value:.1f}" if size >= 10 else f"{value:.2f}"


def brief_seconds(seconds: float) -> str:
    """Returns a time in its largest unit, short enough for a column: ``8.35 h``."""
    unit, size = next((unit for unit in UNITS_S if abs(seconds) >= unit[1]), UNITS_S[-1])
    return f"{short(seconds / size)} {unit}"


def wait_unit(waits_s: Iterable[float | None]) -> tuple[str, float]:
    """Returns the unit that suits the longest of some waits, and its seconds."""
    longest_s = max(wait_s or 0.0 for wait_s in waits_s)
    return next(((unit, size) for unit, size in WAIT_UNITS if longest_s >= size), ("seconds", 1.0))


def in_unit(value_s: float | None, unit_s: float) -> str:
    """Returns a time in a unit with about three digits; a dash where there is none."""
    return "–" if value_s is None else short(value_s / unit_s)
