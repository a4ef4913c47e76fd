"""The figure of trainings: what validation says as they go on, and how learning went."""

from __future__ import annotations

import csv
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.ticker import FuncFormatter, MaxNLocator

from shunter.comparison.rows import COMPARISON
from shunter.errors import InputError
from shunter.metrics.run_folder import MANIFEST, SCHEDULE, read_manifest
from shunter.report.drawing import BASELINE_COLOR, COLORS, GRID, finish, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

STEPS: Final = "steps"
RATIO: Final = "validation/ratio"
BOUNDS_MISSED: Final = "validation/bounds_missed"
IS_BEST: Final = "validation/is_best"
PROGRESS_FILE: Final = "progress.csv"
WAIT_RATIO: Final = "validation/wait_ratio"
CHANGE: Final = "approximate_kl"
PANELS: Final = (
    (WAIT_RATIO, "mean wait to the classic's", "validation"),
    ("return", "return of an episode", "training"),
    ("entropy", "entropy of the policy", "training"),
    (CHANGE, "change of the policy in an update (KL)", "training"),
    ("wait_share", "share of decisions to wait", "training"),
    ("explained_variance", "share of returns that the value explains", "training"),
)
"""Beside the metric: the column, what it is, and where it was measured."""
SMOOTHED_OVER: Final = 40
"""Curves of more points than this get a line through means of their neighbors."""
MISSED_COLOR: Final = "black"
"""Of the marks where a bound was missed."""
FAR: Final = 4.0
"""A metric beyond so many times the classic's is cut off: how bad a policy was that knew nothing hides the rest."""


@dataclass(frozen=True)
class Curves:
    """What a run wrote down, by column; NaN where a row has nothing."""

    name: str
    columns: dict[str, NDArray[np.float64]]

    def of(self, column: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Returns the steps at which there is a value, and the values."""
        values = self.columns.get(column)
        if values is None:
            return np.empty(0), np.empty(0)
        known = np.isfinite(values)
        return self.columns[STEPS][known], values[known]

    @property
    def missed(self) -> set[float]:
        """The steps at which validation missed a bound."""
        return set(self.where(BOUNDS_MISSED).tolist())

    def where(self, column: str) -> NDArray[np.float64]:
        """Returns the steps at which a value is above 0."""
        steps, values = self.of(column)
        return steps[values > 0]


def read_curves(folder: Path) -> Curves:
    """Returns what a run wrote down.

    Raises:
        InputError: There is no run, or its file cannot be read.
    """
    path = folder / PROGRESS_FILE
    if not path.exists():
        _check_no_other_run(folder)
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{path}: cannot be read ({reason}); give the folder of a run of 'shunter train'") from None
    if not rows or STEPS not in rows[0]:
        raise InputError(f"{path}: has no rows with steps; give the folder of a run that has begun")
    try:
        # An update that was not validated has empty cells.
        columns = {name: np.array([float(row[name] or "nan") for row in rows]) for name in rows[0]}
    except (TypeError, ValueError) as error:
        raise InputError(f"{path}: a value is not a number ({error}); mend the file") from None
    return Curves(folder.resolve().name, columns)


def _check_no_other_run(folder: Path) -> None:
    """Raises an error that says what draws the folder of a simulation or a comparison: nothing was learned there."""
    if not (folder / MANIFEST).is_file():
        return
    if (folder / SCHEDULE).is_file():
        given = read_manifest(folder)["arguments"].get("given", {})
        draw = shlex.join(["shunter", "simulate", *_words(given), "--plot", str(folder / "schedule.png")])
        what = f"a run of 'shunter simulate', which has no learning curves; to draw its schedule: {draw}"
    elif (folder / f"{COMPARISON}.parquet").is_file():
        what = "a comparison, which has no learning curves; to draw it, give compare or evaluate --plot FILE"
    else:
        return
    raise InputError(f"{folder}: {what}")


def _words(given: Mapping[str, Any]) -> Iterator[str]:
    """Yields the words of the command line that gave these options; what wrote or printed something is left out."""
    yield str(given.get("workload", "LOG"))
    for name, value in given.items():
        if name in ("workload", "out", "force", "plot", "json") or value is False:
            continue
        option = f"--{'map' if name == 'columns' else name.replace('_', '-')}"
        text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        yield from [option] if value is True else [option, text]


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
    shown = []
    for run, color in zip(runs, _colors(runs), strict=True):
        steps, ratio = run.of(RATIO)
        if not len(steps):
            continue
        # Each that was the best for a while is marked in the file; only the last is the best of all.
        is_best = np.isin(steps, run.where(IS_BEST)[-1:])
        best = f", best {ratio[is_best][0]:.3f}" if is_best.any() else ""
        panel.plot(steps, ratio, "o-", color=color, markersize=4, linewidth=1.4, label=f"{run.name}{best}")
        panel.plot(steps[is_best], ratio[is_best], "D", color=color, markersize=9)
        shown.append(ratio)
    missed = [(step, ratio) for run in runs for step, ratio in zip(*run.of(RATIO), strict=True) if step in run.missed]
    if missed:
        panel.plot(*zip(*missed, strict=True), "x", color=MISSED_COLOR, markersize=8, zorder=3, label="misses a bound")
    panel.set_title("validation: the metric as a ratio to the classic\n(below 1 is better)", loc="left", fontsize=10)
    if shown:
        _cut_off(panel, np.concatenate(shown))
    panel.legend(fontsize=9, loc="best", framealpha=0.85, edgecolor="none")


def _cut_off(panel: Axes, ratios: NDArray[np.float64]) -> None:
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
            _cut_off(panel, ratios)
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
