"""The figure of a tuning: the cost over generations, and what came of it on later days."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from shunter.metrics.labels import cluster_label
from shunter.metrics.table import METRICS
from shunter.report.comparison_figure import BASELINE_COLOR, GRID_COLOR
from shunter.report.schedule_figure import COLORS
from shunter.tuning.report import BEST, ROLES, TUNED

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shunter.comparison.report import Report
    from shunter.tuning.report import LaterReport
    from shunter.tuning.tune import Tuned

TUNED_COLOR, OTHER_COLOR = COLORS[0], "#777777"
LONGEST_NAME = 44
"""Of a log: as many characters as there is room for."""
TICKS: tuple[tuple[float, tuple[float, ...]], ...] = (
    (8.0, (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)),
    (1.6, (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6)),
    (1.0, tuple(place / 20 for place in range(1, 80))),
)
"""From which span of ratios on which of them are named on the axis."""


@dataclass(frozen=True)
class _Point:
    """A ratio to the best classic in hindsight, on its line of a panel."""

    role: str
    name: str
    ratio: float | None
    interval: tuple[float, float] | None


def draw_tuning(tuned: Tuned, report: Report[LaterReport]) -> Figure:
    """Returns a figure with the search on the left and a panel a log on the right, to be saved with ``savefig``."""
    panels = _panels(report)
    figure = Figure(figsize=(13, max(4.8, 1.0 + 2.9 * len(panels))), dpi=120, layout="constrained")
    grid = figure.add_gridspec(len(panels), 2, width_ratios=(1, 1.25))
    search = figure.add_subplot(grid[:, 0])
    _draw_costs(search, tuned)
    every = [search]
    for place, (title, points) in enumerate(panels):
        panel = figure.add_subplot(grid[place, 1], sharex=every[1] if place else None)
        _draw_points(panel, title, points)
        every.append(panel)
    _name_axis(every[-1], report)
    for panel in every:
        panel.spines[["top", "right"]].set_visible(False)
        panel.set_axisbelow(True)
    figure.suptitle(_title(tuned, report), fontsize=12)
    return figure


def _title(tuned: Tuned, report: Report[LaterReport]) -> str:
    bounds = "".join(f", {bound.metric} {bound.words}" for bound in report.objective.bounds)
    return f"{tuned.kind} tuned for {report.objective.metric}{bounds}"


def _draw_costs(panel: Axes, tuned: Tuned) -> None:
    """Draws the cost of the middle of the candidates over the generations, and that of the policy found."""
    last = len(tuned.costs)
    panel.axhline(0.0, color=BASELINE_COLOR, linestyle="--", linewidth=1, label="the classic chosen there")
    style: dict[str, Any] = {"color": TUNED_COLOR, "markersize": 4, "linewidth": 1.3}
    panel.plot(np.arange(1, last), tuned.costs[:-1], "o-", label="middle of the candidates", **style)
    panel.plot(last, tuned.costs[-1], "D", color=TUNED_COLOR, markersize=8, label="the policy found")
    panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    panel.set(xlabel="generation", ylabel="cost: mean ln(ratio to the chosen classic) + penalties")
    panel.set_title("the search, on all training windows", loc="left", fontsize=10)
    panel.grid(color=GRID_COLOR, linewidth=0.6)
    panel.legend(frameon=False, fontsize=9)


def _panels(report: Report[LaterReport]) -> list[tuple[str, list[_Point]]]:
    """Returns the title and the points of each panel: all logs together, if there are several, and then each log."""
    panels = [(_log_title(one), _log_points(one)) for one in report.logs]
    if not report.pooled:
        return panels
    return [(f"all {len(report.logs)} logs together, on later days", _pooled_points(report)), *panels]


def _log_title(one: LaterReport) -> str:
    name = one.later.log.workload.name
    short = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
    return f"{short} on {cluster_label(one.later.log.cluster)}, on later days"


def _log_points(one: LaterReport) -> list[_Point]:
    points = []
    for role, row in one.rows.items():
        contrast = row.against[BEST]
        name = f"{ROLES[role]}\n{row.label}"
        points.append(_Point(role, name, contrast.ratio, contrast.ratio_interval))
    return points


def _pooled_points(report: Report[LaterReport]) -> list[_Point]:
    points = []
    for role, row in report.pooled.items():
        ratio = row.against[BEST]
        points.append(_Point(role, ROLES[role], ratio.value if ratio else None, ratio.interval if ratio else None))
    return points


def _draw_points(panel: Axes, title: str, points: Sequence[_Point]) -> None:
    """Draws ratios with their intervals, one line each."""
    panel.axvline(1.0, color=BASELINE_COLOR, linestyle="--", linewidth=1)
    for place, point in enumerate(points):
        if point.ratio is None:
            continue
        color = TUNED_COLOR if point.role == TUNED else OTHER_COLOR
        if point.interval is not None:
            panel.plot(point.interval, [place, place], color=color, linewidth=2.2, solid_capstyle="butt")
        panel.plot(point.ratio, place, "o", color=color, markersize=9 if point.role == TUNED else 7)
        style: dict[str, Any] = {"xytext": (0, 7), "textcoords": "offset points", "ha": "center", "fontsize": 8}
        panel.annotate(f"{point.ratio:.2f}", (point.ratio, place), color=color, **style)
    panel.set_yticks(range(len(points)), [point.name for point in points], fontsize=9)
    panel.set_ylim(len(points) - 0.5, -0.7)
    panel.set_title(title, loc="left", fontsize=10)
    panel.grid(axis="x", color=GRID_COLOR, linewidth=0.6)
    panel.set_xscale("log")


def _name_axis(panel: Axes, report: Report[LaterReport]) -> None:
    """Names the axis that all panels share, with plain numbers on it."""
    better = METRICS[report.objective.metric].better
    low, high = panel.get_xlim()
    panel.xaxis.set_major_locator(FixedLocator(next(ticks for span, ticks in TICKS if high > span * low)))
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}"))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.set_xlabel(f"ratio to the best classic in hindsight, with its 95 % interval ({better} is better)")
