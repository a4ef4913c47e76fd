"""The figure of trainings: what validation says as they go on, and how learning went."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.ticker import FuncFormatter, MaxNLocator

from shunter.agents.training.curves import IS_BEST
from shunter.agents.training.progress_log import STEPS
from shunter.report.drawing import BASELINE_COLOR, COLORS, GRID, finish, new_figure
from shunter.report.learning_columns import CHANGE, PANELS, RATIO, WAIT_RATIO

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from shunter.agents.training.curves import Curves

SMOOTHED_OVER: Final = 40
"""Curves of more points than this get a line through means of their neighbors."""
MISSED_COLOR: Final = "black"
"""Of the marks where a bound was missed."""
FAR: Final = 4.0
"""A metric beyond so many times the classic's is cut off: how bad a policy was that knew nothing hides the rest."""


def draw_learning(runs: Sequence[Curves]) -> Figure:
    """Returns a figure of one run or several, to be saved with ``savefig``."""
    figure = new_figure(15, 7.5)
    grid = figure.add_gridspec(2, 4, width_ratios=(1.5, 1, 1, 1))
    main = figure.add_subplot(grid[:, 0])
    _draw_metric(main, runs)
    every = [main]
    for place, (column, title, measured) in enumerate(PANELS):
        panel = figure.add_subplot(grid[place // 3, 1 + place % 3])
        _draw_column(panel, runs, column)
        panel.set_title(f"{title}\n({measured})", loc="left", fontsize=9)
        every.append(panel)
    last = max(1.0, *(float(run.columns[STEPS].max()) for run in runs))
    for panel in every:
        panel.grid(**GRID)
        panel.xaxis.set_major_locator(MaxNLocator(4))
        panel.xaxis.set_major_formatter(FuncFormatter(lambda steps, _: _short(steps)))
        panel.set_xlabel("steps", fontsize=9)
        panel.set_xlim(-0.03 * last, 1.03 * last)
    return finish(figure, every, "Training" if len(runs) > 1 else f"Training of {runs[0].name}")


def _draw_metric(panel: Axes, runs: Sequence[Curves]) -> None:
    """Draws the metric as a ratio to the classic, and marks the best of each run, and where a bound was missed."""
    panel.axhline(1.0, color=BASELINE_COLOR, linestyle="--", linewidth=1, label="the classic chosen on training days")
    _draw_beginnings(panel, runs)
    shown = []
    for run, color in zip(runs, _colors(runs), strict=True):
        steps, ratio = run.of(RATIO)
        if not len(steps):
            continue
        # Each that was the best for a while is marked in the file; only the last is the best of all.
        is_best = np.isin(steps, run.where(IS_BEST)[-1:])
        best = f", best {ratio[is_best][0]:.3f}" if is_best.any() else ""
        panel.plot(steps, ratio, "o-", color=color, markersize=4, linewidth=1.4, label=f"{run.name}{best}")
        draw_band(panel, run, RATIO, color, label=f"{run.name}: least to largest")
        panel.plot(steps[is_best], ratio[is_best], "D", color=color, markersize=9)
        shown.append(ratio)
    missed = [(step, ratio) for run in runs for step, ratio in zip(*run.of(RATIO), strict=True) if step in run.missed]
    if missed:
        panel.plot(*zip(*missed, strict=True), "x", color=MISSED_COLOR, markersize=8, zorder=3, label="misses a bound")
    panel.set_title("validation: the metric as a ratio to the classic\n(below 1 is better)", loc="left", fontsize=10)
    if shown:
        cut_off(panel, np.concatenate(shown))
    panel.legend(fontsize=9, loc="best", framealpha=0.85, edgecolor="none")


def _draw_beginnings(panel: Axes, runs: Sequence[Curves]) -> None:
    """Draws a line where each run began: what learning has to beat, such as the tuned score of --init."""
    label = "where it began" if len(runs) == 1 else "where each began"
    for run, color in zip(runs, _colors(runs), strict=True):
        steps, ratio = run.of(RATIO)
        if len(steps) and steps[0] == 0:
            panel.axhline(ratio[0], color=color, linestyle=":", linewidth=1.2, label=label)
            # All of them have one line in the legend.
            label = ""


def draw_band(panel: Axes, run: Curves, column: str, color: str, label: str = "") -> None:
    """Draws from the least to the largest of all seeds; nothing for one run."""
    if run.seeds and len(run.of(column)[0]):
        panel.fill_between(*run.range_of(column), color=color, alpha=0.2, linewidth=0, label=label or None)


def cut_off(panel: Axes, ratios: NDArray[np.float64]) -> None:
    """Leaves out what is far above everything that matters, and says so."""
    # Relative to the best as well: where all are bad, all are shown.
    top = max(FAR * float(ratios.min()), FAR)
    if ratios.max() > top:
        within = ratios[ratios <= top]
        panel.set_ylim(min(float(within.min()), 1.0) * 0.92, max(float(within.max()), 1.0) * 1.08)
        above = int((ratios > top).sum())
        where: dict[str, Any] = {"transform": panel.transAxes, "va": "top", "fontsize": 8, "color": BASELINE_COLOR}
        panel.text(0.02, 0.985, f"not shown: {above} far above", **where)


def _draw_column(panel: Axes, runs: Sequence[Curves], column: str) -> None:
    for run, color in zip(runs, _colors(runs), strict=True):
        draw_band(panel, run, column, color)
        steps, values = run.of(column)
        style: dict[str, Any] = {"color": color, "linewidth": 1.3}
        if len(values) > SMOOTHED_OVER:
            panel.plot(steps, values, color=color, linewidth=0.6, alpha=0.35)
            panel.plot(steps, smoothed(values), **style)
        elif len(values):
            panel.plot(steps, values, "o-" if len(values) < 20 else "-", markersize=3, **style)
    if column == WAIT_RATIO:
        panel.axhline(1.0, color=BASELINE_COLOR, linestyle="--", linewidth=1)
        ratios = np.concatenate([run.of(column)[1] for run in runs])
        if len(ratios):
            cut_off(panel, ratios)
    _name_emptiness(panel, [run.of(column)[1] for run in runs])
    # A logarithmic axis without a positive value is an error.
    if column == CHANGE and any((run.of(column)[1] > 0).any() for run in runs):
        panel.set_yscale("log")


def _name_emptiness(panel: Axes, values: Sequence[NDArray[np.float64]]) -> None:
    """Says that there is nothing to draw, and keeps an axis of shares that are all 0 from looking like noise."""
    every = np.concatenate(values)
    if not len(every):
        where: dict[str, Any] = {"transform": panel.transAxes, "ha": "center", "va": "center", "color": "gray"}
        panel.text(0.5, 0.5, "nothing recorded yet", **where)
        panel.set_yticks([])
    elif not every.any():
        panel.set_ylim(0, 1)


def smoothed(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the mean of each value and its neighbors, as many on both sides; fewer at the ends."""
    half = max(1, len(values) // SMOOTHED_OVER)
    sums = np.concatenate([[0.0], np.cumsum(values)])
    places = np.arange(len(values))
    # Fewer neighbors at the ends, but as many on both sides: a mean over one side would be shifted.
    reach = np.minimum(half, np.minimum(places, len(values) - 1 - places))
    return np.asarray((sums[places + reach + 1] - sums[places - reach]) / (2 * reach + 1))


def _colors(runs: Sequence[Curves]) -> list[str]:
    return [COLORS[place % len(COLORS)] for place in range(len(runs))]


def _short(steps: float) -> str:
    """Returns a number of steps as an axis has room for: ``200 k``, ``1.5 M``."""
    for size, unit in ((1e6, " M"), (1e3, " k")):
        if abs(steps) >= size:
            return f"{steps / size:g}{unit}"
    return f"{steps:g}"
