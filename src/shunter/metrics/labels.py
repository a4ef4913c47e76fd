"""How tables, figures and sentences call things: counts, shares, sizes of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


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


def size_class(cores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Returns the class of each job: 0 for less than 2 cores, 1 for 2 to 3, 2 for 4 to 7, and so on."""
    return np.asarray(np.floor(np.log2(np.maximum(cores, 1.0))), dtype=np.int64)


def size_label(number: int) -> str:
    """Returns what figures and tables call a class: ``≤ 1``, ``2–3``, ``4–7``."""
    return f"{2**number:,}–{2 ** (number + 1) - 1:,}" if number else "≤ 1"
