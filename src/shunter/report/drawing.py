"""What figures share: colors, grids, axes of time. Matplotlib is loaded when the first figure is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

COLORS: Final = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
"""Okabe and Ito's colors, which people with any kind of color vision can tell apart."""
OTHERS_COLOR: Final = "#B0B0B0"
BASELINE_COLOR: Final = "#555555"
GRID: Final[dict[str, Any]] = {"color": "#DDDDDD", "linewidth": 0.6}
"""How grids are drawn."""
TIME_UNITS: Final[tuple[tuple[str, float, float], ...]] = (
    ("days", 86_400, 4),
    ("hours", 3_600, 2),
    ("minutes", 60, 2),
)
"""Name, seconds, and from how many of it on it is used; seconds otherwise."""
TIME_TICKS: Final = (
    (60, "1 min"), (600, "10 min"), (3_600, "1 h"), (36_000, "10 h"), (345_600, "4 d"), (3_456_000, "40 d"),
    (34_560_000, "400 d"),
)  # fmt: skip
"""Times that are named on logarithmic axes."""
GRID_CELLS: Final = 60
"""Hexagons across a panel."""


def new_figure(width: float, height: float) -> Figure:
    """Returns an empty figure of so many inches, to be saved with ``savefig``."""
    from shunter.report.plain_figure import PlainFigure

    return PlainFigure(figsize=(width, height), dpi=120, layout="constrained")


def finish(figure: Figure, panels: Iterable[Axes], title: str) -> Figure:
    """Gives a figure its title, and its panels their plain frames."""
    # Grids lie below the data, and only two sides have a line: what is left is what was measured.
    for panel in panels:
        panel.spines[["top", "right"]].set_visible(False)
        panel.set_axisbelow(True)
    figure.suptitle(title, fontsize=12)
    return figure


def time_unit(longest_s: float) -> tuple[str, float]:
    """Returns the unit that suits so long a time, and its seconds."""
    for unit, seconds, least in TIME_UNITS:
        if longest_s >= least * seconds:
            return unit, seconds
    return "seconds", 1.0


def draw_density(
    panel: Axes, x: NDArray[np.float64], y: NDArray[np.float64], low: float, high: float, cells: int = GRID_CELLS
) -> None:
    """Draws how many jobs lie where on two logarithmic axes of the same length, and the line of equal values."""
    from matplotlib.colors import LogNorm

    image = panel.hexbin(
        x,
        y,
        xscale="log",
        yscale="log",
        gridsize=cells,
        extent=2 * (float(np.log10(low)), float(np.log10(high))),
        mincnt=1,
        # Below one, so that a single job is not the white of the paper.
        norm=LogNorm(vmin=0.3),
        cmap="Blues",
        linewidths=0.1,
    )
    panel.plot([low, high], [low, high], color="black", linewidth=0.8)
    panel.figure.colorbar(image, ax=panel, pad=0.01, label="jobs")


def name_ticks(panel: Axes, axis: str, named: Iterable[tuple[float, str]]) -> None:
    """Names some places of the axis ``x`` or ``y``, and no others."""
    from matplotlib.ticker import NullLocator

    ticks = list(named)
    set_ticks = panel.set_xticks if axis == "x" else panel.set_yticks
    set_ticks([place for place, _ in ticks], [name for _, name in ticks], fontsize=8)
    getattr(panel, f"{axis}axis").set_minor_locator(NullLocator())


def binned_means(
    time: NDArray[np.float64],
    change: NDArray[np.float64] | NDArray[np.int64],
    row: NDArray[np.int64],
    rows: int,
    edges: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Returns the mean level of each row's step function in each bin, an array of (rows, bins).

    A change of c at time t adds c to all later bins, and to its own bin c times the part of it that comes after t.

    Args:
        time: When the level changes; changes before the first edge count from there, those after the last not at all.
        change: By how much.
        row: Of which step function.
        rows: How many step functions there are.
        edges: Of the bins, evenly spaced and rising.
    """
    bins = len(edges) - 1
    width = (edges[-1] - edges[0]) / bins
    # What changes behind the last edge changes nothing that is shown.
    inside = time < edges[-1]
    time, change, row = np.maximum(time[inside], edges[0]), change[inside], row[inside]
    position = (time - edges[0]) / width
    # Rounding may carry a time just before the last edge into a bin that is not there.
    column = np.minimum(position.astype(np.int64), bins - 1)
    cell = row * bins + column
    size = rows * bins
    later = np.bincount(cell, weights=change, minlength=size).reshape(rows, bins)
    own = np.bincount(cell, weights=change * (column + 1 - position), minlength=size).reshape(rows, bins)
    # All changes of earlier bins count whole, those of the bin itself by their part: two sums, and no loop over
    # millions of changes.
    means: NDArray[np.float64] = np.cumsum(later, axis=1, dtype=np.float64) - later + own
    return means
