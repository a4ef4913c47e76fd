"""Figures of Plotly as plain objects, in the page's colors.

A color is named as the page's styles have it: ``@c0`` to ``@c6``, ``@others``, ``@accent``, ``@quiet``, ``@grid``;
``@c0/0.3`` is the same, three tenths of it. The page puts in the colors of the light or the dark theme.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from shunter.errors import visible
from shunter.metrics.labels import shortened

if TYPE_CHECKING:
    from numpy.typing import NDArray

SERIES: Final = ("@c0", "@c1", "@c2", "@c3", "@c4", "@c5", "@c6")
"""Colors that people with any kind of color vision can tell apart."""
OTHERS, QUIET, ACCENT = "@others", "@quiet", "@accent"
DIGITS: Final = 5
"""So many digits of a number go into a figure."""
LOG_TIMES: Final = (
    (1, "1 s"), (10, "10 s"), (60, "1 min"), (600, "10 min"), (3_600, "1 h"), (36_000, "10 h"), (345_600, "4 d"),
    (3_456_000, "40 d"), (34_560_000, "400 d"), (345_600_000, "11 y"),
)  # fmt: skip
"""Times that are named on logarithmic axes."""

Values: TypeAlias = "Sequence[Any] | NDArray[Any]"


def chart_text(name: str, most: int = 34) -> str:
    """Returns a name as a figure may hold it: Plotly understands a few tags, and shows these letters as they are."""
    return shortened(visible(name), most).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def plain(values: Values) -> list[Any]:
    """Returns values as JSON has them: few digits, and null for what is not known."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "iub":
        return list(values.tolist())
    return [_rounded(value) for value in (values.tolist() if isinstance(values, np.ndarray) else values)]


def _rounded(value: object) -> object:
    if not isinstance(value, float):
        return value
    return float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None


def figure(
    data: Sequence[dict[str, Any]],
    x: str | dict[str, Any],
    y: str | dict[str, Any],
    height: int = 360,
    **layout: object,
) -> dict[str, Any]:
    """Returns a figure.

    Args:
        data: The traces.
        x: The title of the axis with its unit, or the axis as Plotly has it.
        y: The same of the other.
        height: In pixels.
        layout: What else the layout has.
    """
    axes = {f"{name}axis": axis(given) if isinstance(given, str) else given for name, given in (("x", x), ("y", y))}
    named = sum(bool(one.get("name")) and one.get("showlegend", True) for one in data)
    return {"data": list(data), "layout": {"height": height, "showlegend": named > 1, **axes, **layout}}


def axis(title: str, **more: object) -> dict[str, Any]:
    """Returns an axis with a title, which holds the unit."""
    return {"title": {"text": title}, **more}


def log_time_axis(title: str, longest_s: float, **more: object) -> dict[str, Any]:
    """Returns a logarithmic axis of times that are named as people name them; what is below 1 s stands at 1 s."""
    ticks = [(place, name) for place, name in LOG_TIMES if place <= 1.5 * max(longest_s, 60.0)]
    places, names = zip(*ticks, strict=True)
    high = float(np.log10(1.6 * max(longest_s, 60.0)))
    return axis(title, type="log", tickvals=list(places), ticktext=list(names), range=[-0.05, high], **more)


def line(
    name: str, x: Values, y: Values, color: str, *, style: str = "solid", width: float = 2, **more: object
) -> dict[str, Any]:  # fmt: skip
    """Returns a line; its name is a text that a figure may hold."""
    drawn = {"color": color, "width": width, "dash": style}
    base = {"type": "scatter", "mode": "lines", "name": name, "x": plain(x), "y": plain(y), "line": drawn}
    return base | more


def steps(name: str, x: Values, y: Values, color: str, **more: object) -> dict[str, Any]:
    """Returns a line that keeps each value until the next, with what is below it filled."""
    trace = line(name, x, y, color, width=1.4)
    trace["line"]["shape"] = "hv"
    return trace | {"fill": "tozeroy", "fillcolor": f"{color}/0.18"} | more


def bars(name: str, x: Values, y: Values, color: str, **more: object) -> dict[str, Any]:
    """Returns bars."""
    return {"type": "bar", "name": name, "x": plain(x), "y": plain(y), "marker": {"color": color}} | more


def points(name: str, x: Values, y: Values, color: str, *, size: float = 9, **more: object) -> dict[str, Any]:
    """Returns points."""
    marker = {"color": color, "size": size}
    return {"type": "scatter", "mode": "markers", "name": name, "x": plain(x), "y": plain(y), "marker": marker} | more


def heat(x: Values, y: Values, z: Sequence[Values], title: str, **more: object) -> dict[str, Any]:
    """Returns a heat map; its scale is named by its title."""
    bar = {"title": {"text": title, "side": "right"}, "thickness": 12, "outlinewidth": 0}
    rows = [plain(one) for one in z]
    base = {"type": "heatmap", "x": plain(x), "y": plain(y), "z": rows, "colorscale": "@sequential", "colorbar": bar}
    return base | more


def error_bars(
    values: Sequence[float | None], low: Sequence[float | None], high: Sequence[float | None]
) -> dict[str, Any]:
    """Returns the intervals of points, as a trace has them; none where a value or an end is not known."""
    up, down = (
        [None if value is None or end is None else abs(end - value) for value, end in zip(values, ends, strict=True)]
        for ends in (high, low)
    )
    return {
        "type": "data",
        "symmetric": False,
        "array": plain(up),
        "arrayminus": plain(down),
        "thickness": 1.6,
        "width": 5,
    }


def vertical_line(x: float, color: str = QUIET, style: str = "dash") -> dict[str, Any]:
    """Returns a shape: a line over the whole height."""
    place = {"type": "line", "x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1}
    return place | {"line": {"color": color, "width": 1.2, "dash": style}}


def horizontal_line(y: float, color: str = QUIET, style: str = "dash") -> dict[str, Any]:
    """Returns a shape: a line over the whole width."""
    place = {"type": "line", "y0": y, "y1": y, "xref": "paper", "x0": 0, "x1": 1}
    return place | {"line": {"color": color, "width": 1.2, "dash": style}}


def colors(count: int) -> list[str]:
    """Returns as many colors, the same from page to page."""
    return [SERIES[place % len(SERIES)] for place in range(count)]


def thinned(count: int, most: int) -> Iterable[int]:
    """Returns places among so many points, evenly spread, no more than `most`; the last is among them."""
    if count <= most:
        return range(count)
    return [int(place) for place in np.unique(np.linspace(0, count - 1, most).round())]
