"""Size classes of jobs: powers of two of cores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def size_class(cores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Returns the class of each job: 0 for less than 2 cores, 1 for 2 to 3, 2 for 4 to 7, and so on."""
    return np.asarray(np.floor(np.log2(np.maximum(cores, 1.0))), dtype=np.int64)


def size_label(number: int) -> str:
    """Returns what figures and tables call a class: ``≤ 1``, ``2–3``, ``4–7``."""
    return f"{2**number:,}–{2 ** (number + 1) - 1:,}" if number else "≤ 1"
