"""The figure of estimates: run times against them, whether they mean what they say, and how far they are off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from shunter.errors import InputError
from shunter.model.schedule import BOUNDED_SLOWDOWN_THRESHOLD_S
from shunter.report.schedule_figure import COLORS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from shunter.metrics.estimate_errors import Quality
    from shunter.metrics.forecasts import Forecast, Trial

GRID: Final = "#DDDDDD"
TICKS: Final = (
    (10, "≤ 10 s"), (60, "1 min"), (600, "10 min"), (3_600, "1 h"), (36_000, "10 h"), (345_600, "4 d"),
    (3_456_000, "40 d"), (34_560_000, "400 d"),
)  # fmt: skip
"""Times that are named on logarithmic axes."""
FACTORS: Final = tuple(times * 10**power for power in range(7) for times in (1, 3))
"""Ratios that are named on logarithmic axes, as are their inverses."""
FEW_DECADES, MANY_DECADES = 4, 8
"""On axes longer than the first, only powers of ten are named; longer than the second, every other of them."""
LINE_COLORS: Final = (COLORS[1], COLORS[2], COLORS[3], COLORS[5], COLORS[4])
FITTED_COLOR: Final = COLORS[0]
OTHER_WIDTH, FITTED_WIDTH = 2.8, 1.4
"""Of lines: both are to be seen where one lies on the other."""
GRID_CELLS = 60
"""Hexagons across a panel."""


def draw_trial(trial: Trial) -> Figure:
    """Returns a figure with four panels, to be saved with ``savefig``.

    Raises:
        InputError: No estimate is anything but a stand-in, so that there is nothing to draw.
    """
    if not any(forecast.quality for forecast in trial.forecasts):
        raise InputError(f"{trial.workload.name}: there is nothing to draw: {trial.notes[0]}")
    figure = Figure(figsize=(12, 10), dpi=120, layout="constrained")
    panels = figure.subplots(2, 2)
    *others, fitted = trial.forecasts
    first = next((forecast for forecast in others if forecast.quality), others[0])
    for panel, forecast in zip(panels[0], (first, fitted), strict=True):
        _draw_jobs(panel, forecast, trial.run_s)
    _draw_calibration(panels[1, 0], trial.forecasts)
    _draw_errors(panels[1, 1], trial)
    for panel in panels.flat:
        panel.spines[["top", "right"]].set_visible(False)
        panel.set_axisbelow(True)
    figure.suptitle(
        f"{trial.workload.name}: {trial.later_jobs:,} jobs as estimated at their submit times\n"
        f"“fitted” has its prior from the {trial.training_jobs:,} jobs before them",
        fontsize=12,
    )
    return figure


def _shown(seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns times as they count: those below 10 s as 10 s."""
    return np.maximum(seconds, BOUNDED_SLOWDOWN_THRESHOLD_S)


def _draw_jobs(panel: Axes, forecast: Forecast, run_s: NDArray[np.float64]) -> None:
    panel.set_title(f"each job: {forecast.name}")
    if forecast.quality is None:
        panel.set_axis_off()
        panel.text(0.5, 0.5, "the log does not tell it", transform=panel.transAxes, ha="center", color="gray")
        return
    estimate_s, run_s = (_shown(seconds[forecast.measured]) for seconds in (forecast.estimate_s, run_s))
    low, high = BOUNDED_SLOWDOWN_THRESHOLD_S, 1.5 * float(max(estimate_s.max(), run_s.max(), 100.0))
    image = panel.hexbin(
        estimate_s,
        run_s,
        xscale="log",
        yscale="log",
        gridsize=GRID_CELLS,
        extent=2 * (float(np.log10(low)), float(np.log10(high))),
        mincnt=1,
        # Below one, so that a single job is not the white of the paper.
        norm=LogNorm(vmin=0.3),
        cmap="Blues",
        linewidths=0.1,
    )
    panel.plot([low, high], [low, high], color="black", linewidth=0.8)
    estimates_s = [decile.median_estimate_s for decile in forecast.quality.deciles]
    median_s = [decile.median_run_s for decile in forecast.quality.deciles]
    panel.plot(
        estimates_s, median_s, color=COLORS[5], marker="o", markersize=4, linewidth=1.2, label="median by decile"
    )
    panel.figure.colorbar(image, ax=panel, pad=0.01, label="jobs")
    named = [(seconds, name) for seconds, name in TICKS if seconds <= high]
    ticks, names = [seconds for seconds, _ in named], [name for _, name in named]
    panel.set(xlim=(0.8 * low, high), ylim=(0.8 * low, high), xlabel="estimate", ylabel="true run time")
    panel.set_xticks(ticks, names, fontsize=8)
    panel.set_yticks(ticks, names, fontsize=8)
    _without_minor_ticks(panel)
    panel.legend(frameon=False, loc="upper left", fontsize=8)


def _lines(forecasts: tuple[Forecast, ...]) -> Iterator[tuple[Forecast, Quality, dict[str, Any]]]:
    """Yields the estimates that were measured, with a line for each; the fitted one's lies on the others."""
    for number, forecast in enumerate(forecasts):
        is_fitted = number == len(forecasts) - 1
        color = FITTED_COLOR if is_fitted else LINE_COLORS[number % len(LINE_COLORS)]
        if forecast.quality:
            line = {"color": color, "label": forecast.name, "linewidth": FITTED_WIDTH if is_fitted else OTHER_WIDTH}
            yield forecast, forecast.quality, line


def _draw_calibration(panel: Axes, forecasts: tuple[Forecast, ...]) -> None:
    highest = 0.0
    for _, quality, line in _lines(forecasts):
        ratios = [decile.balanced_ratio for decile in quality.deciles]
        estimates_s = [decile.median_estimate_s for decile in quality.deciles]
        panel.plot(estimates_s, ratios, marker="o", markersize=2.2 * line["linewidth"], **line)
        highest = max(highest, quality.deciles[-1].highest_estimate_s)
    panel.axhline(1.0, color="black", linewidth=0.8)
    panel.set_xscale("log")
    panel.set_yscale("log")
    named = [(seconds, name) for seconds, name in TICKS if seconds <= 1.5 * highest]
    panel.set_xticks([seconds for seconds, _ in named], [name for _, name in named], fontsize=8)
    _name_factors(panel, "y")
    panel.set(title="calibration by decile (on the line: as estimated)", xlabel="estimate")
    panel.set_ylabel("balanced true run time / estimate")
    panel.grid(color=GRID, linewidth=0.6)
    panel.legend(frameon=False)


def _draw_errors(panel: Axes, trial: Trial) -> None:
    share = np.linspace(0, 100, 801)
    panel.axvspan(0.5, 2.0, color="#EEEEEE", label="within a factor of 2")
    for forecast, _, line in _lines(trial.forecasts):
        ratio = _shown(forecast.estimate_s[forecast.measured]) / _shown(trial.run_s[forecast.measured])
        panel.plot(np.quantile(ratio, share / 100), share, **line)
    panel.axvline(1.0, color="black", linewidth=0.8)
    panel.set_xscale("log")
    _name_factors(panel, "x")
    panel.set(title="errors", xlabel="estimate / true run time", ylabel="jobs with no larger ratio [%]", ylim=(0, 102))
    panel.grid(color=GRID, linewidth=0.6)
    panel.legend(frameon=False, loc="upper left")


def _name_factors(panel: Axes, axis: str) -> None:
    """Names ratios on a logarithmic axis, as far as what is drawn reaches."""
    low, high = panel.get_xlim() if axis == "x" else panel.get_ylim()
    low, high = min(low, 0.3), max(high, 3.0)
    decades = np.log10(high / low)
    named = FACTORS[:: 1 if decades < FEW_DECADES else 2 if decades < MANY_DECADES else 4]
    ticks = [1 / factor for factor in named[:0:-1] if low <= 1 / factor] + [
        factor for factor in named if factor <= high
    ]
    names = [f"1/{1 / tick:,.0f}" if tick < 1 else f"{tick:,}" for tick in ticks]
    if axis == "x":
        panel.set_xticks(ticks, names, fontsize=8)
        panel.set_xlim(low, high)
    else:
        panel.set_yticks(ticks, names, fontsize=8)
        panel.set_ylim(low, high)
    _without_minor_ticks(panel)


def _without_minor_ticks(panel: Axes) -> None:
    panel.xaxis.set_minor_locator(NullLocator())
    panel.yaxis.set_minor_locator(NullLocator())
