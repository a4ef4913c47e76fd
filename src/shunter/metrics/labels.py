"""How tables, figures and sentences call things: counts, shares, names."""

from __future__ import annotations


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
