"""Estimates for people: tables of how good they are, and a figure of run times against them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from rich.markup import escape
from rich.table import Table

from shunter.errors import InputError
from shunter.metrics.forecasts import FITTED
from shunter.metrics.labels import brief_seconds, percent, short
from shunter.model.schedule import BASES, BOUNDED_SLOWDOWN_THRESHOLD_S, count_bases
from shunter.report.drawing import COLORS, GRID, TIME_TICKS, draw_density, finish, name_ticks, new_figure
from shunter.report.tables import folded, ledger_table, print_written, titled_table
from shunter.report.terminal import Console

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from shunter.metrics.estimate_errors import Quality
    from shunter.metrics.forecasts import Forecast, Trial

TICKS: Final = ((10, "≤ 10 s"), *TIME_TICKS)
"""Times that are named on logarithmic axes."""
FACTORS: Final = tuple(times * 10**power for power in range(7) for times in (1, 3))
"""Ratios that are named on logarithmic axes, and so are their inverses."""
FEW_DECADES, MANY_DECADES = 4, 8
"""On axes longer than the first, only powers of ten are named; longer than the second, every other of them."""
LINE_COLORS: Final = (COLORS[1], COLORS[2], COLORS[3], COLORS[5], COLORS[4])
FITTED_COLOR: Final = COLORS[0]
OTHER_WIDTH, FITTED_WIDTH = 2.8, 1.4
"""Of lines: both are to be seen where one lies on the other."""


def print_trial(trial: Trial, written: Sequence[Path]) -> None:
    """Prints what each estimate rests on, how good it is, and how far the fitted posterior can be taken at its word."""
    console = Console()
    console.print(_title(trial), soft_wrap=True, highlight=False)
    for note in trial.notes:
        console.print(f"– {note}", markup=False, highlight=False)
    console.print(basis_table(trial.forecasts))
    if any(forecast.quality for forecast in trial.forecasts):
        console.print(quality_table(trial.forecasts))
    if trial.forecasts[-1].quality:
        console.print(calibration_table(trial.forecasts[-1].quality))
    if trial.workload.ledger:
        console.print(ledger_table(trial.workload.ledger))
    print_written(console, written)


def _title(trial: Trial) -> str:
    return (
        f"[bold]{escape(trial.workload.name)}[/bold]\n"
        f"'{FITTED}' is the posterior with a prior fitted on the first {trial.training_jobs:,} jobs\n"
        f"all figures are over the {trial.later_jobs:,} jobs after them, as estimated at their submit times"
    )


def quality_table(forecasts: Sequence[Forecast]) -> Table:
    """Returns the errors of each estimate, and how often it puts two jobs in the wrong order."""
    table = titled_table("error: ln(estimate / run time); 0.69 is a factor of 2", "estimate")
    headings = ("jobs", "mean\n|err|", "RMS\nerror", "bias", "in x2", "over", "under", "wrong\norder")
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for forecast in forecasts:
        quality = forecast.quality
        if quality is None:
            # A log without requested times still shows that nothing could be said of them.
            table.add_row(escape(folded(forecast.name)), "0", *["–"] * (len(headings) - 1))
            continue
        table.add_row(
            escape(folded(forecast.name)),
            f"{quality.jobs:,}",
            short(quality.mean_absolute_log_error),
            short(quality.root_mean_square_log_error),
            f"{quality.log_bias:+.2f}".replace("-", "−"),
            percent(quality.within_factor_two_share),
            percent(quality.over_share),
            percent(quality.under_share),
            percent(quality.wrong_order_rate, 1),
        )
    return table


def basis_table(forecasts: Sequence[Forecast]) -> Table:
    """Returns for how many jobs each estimate rested on what; a stand-in is in no other figure."""
    counts = [count_bases(forecast.basis) for forecast in forecasts]
    bases = [basis for basis in BASES if any(basis in count for count in counts)]
    table = titled_table("jobs estimated from", "estimate")
    for basis in bases:
        table.add_column(basis, justify="right")
    for forecast, count in zip(forecasts, counts, strict=True):
        table.add_row(
            escape(folded(forecast.name)), *(f"{count[basis]:,}" if basis in count else "–" for basis in bases)
        )
    return table


def calibration_table(quality: Quality) -> Table:
    """Returns what became of the jobs of each tenth of the estimates."""
    table = Table(title=f"run times by the estimate '{FITTED}', and their ratios to it", title_justify="left")
    headings = (
        "estimate\nup to",
        "jobs",
        "median\nrun",
        "mean\nrun",
        "median\nratio",
        "mean\nratio",
        "balanced\nratio",
    )
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for decile in quality.deciles:
        table.add_row(
            brief_seconds(decile.highest_estimate_s),
            f"{decile.jobs:,}",
            brief_seconds(decile.median_run_s),
            brief_seconds(decile.mean_run_s),
            short(decile.median_ratio),
            short(decile.mean_ratio),
            short(decile.balanced_ratio),
        )
    return table


def draw_trial(trial: Trial) -> Figure:
    """Returns a figure with four panels, to be saved with ``savefig``.

    Raises:
        InputError: No estimate is anything but a stand-in, so that there is nothing to draw.
    """
    if not any(forecast.quality for forecast in trial.forecasts):
        raise InputError(f"{trial.workload.name}: there is nothing to draw: {trial.notes[0]}")
    figure = new_figure(12, 10)
    panels = figure.subplots(2, 2)
    *others, fitted = trial.forecasts
    # The first that the log tells anything of stands beside the fitted one.
    first = next((forecast for forecast in others if forecast.quality), others[0])
    for panel, forecast in zip(panels[0], (first, fitted), strict=True):
        _draw_forecast(panel, forecast, trial.run_s)
    _draw_calibration(panels[1, 0], trial.forecasts)
    _draw_errors(panels[1, 1], trial)
    title = (
        f"{trial.workload.name}: {trial.later_jobs:,} jobs as estimated at their submit times\n"
        f"“fitted” has its prior from the {trial.training_jobs:,} jobs before them"
    )
    return finish(figure, panels.flat, title)


def _shown(seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns times as they count: those below 10 s as 10 s."""
    return np.maximum(seconds, BOUNDED_SLOWDOWN_THRESHOLD_S)


def _draw_forecast(panel: Axes, forecast: Forecast, run_s: NDArray[np.float64]) -> None:
    panel.set_title(f"each job: {forecast.name}")
    if forecast.quality is None:
        panel.set_axis_off()
        panel.text(0.5, 0.5, "the log does not tell it", transform=panel.transAxes, ha="center", color="gray")
        return
    estimate_s, run_s = (_shown(seconds[forecast.measured]) for seconds in (forecast.estimate_s, run_s))
    low, high = BOUNDED_SLOWDOWN_THRESHOLD_S, 1.5 * float(max(estimate_s.max(), run_s.max(), 100.0))
    draw_density(panel, estimate_s, run_s, low, high)
    estimates_s = [decile.median_estimate_s for decile in forecast.quality.deciles]
    median_s = [decile.median_run_s for decile in forecast.quality.deciles]
    panel.plot(
        estimates_s, median_s, color=COLORS[5], marker="o", markersize=4, linewidth=1.2, label="median by decile"
    )
    panel.set(xlim=(0.8 * low, high), ylim=(0.8 * low, high), xlabel="estimate", ylabel="true run time")
    for axis in ("x", "y"):
        name_ticks(panel, axis, _times_up_to(high))
    panel.legend(frameon=False, loc="upper left", fontsize=8)


def _times_up_to(highest_s: float) -> list[tuple[float, str]]:
    return [(seconds, name) for seconds, name in TICKS if seconds <= highest_s]


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
    name_ticks(panel, "x", _times_up_to(1.5 * highest))
    _name_factors(panel, "y")
    panel.set(title="calibration by decile (on the line: as estimated)", xlabel="estimate")
    panel.set_ylabel("balanced true run time / estimate")
    panel.grid(**GRID)
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
    panel.grid(**GRID)
    panel.legend(frameon=False, loc="upper left")


def _name_factors(panel: Axes, axis: str) -> None:
    """Names ratios on a logarithmic axis, as far as what is drawn reaches."""
    low, high = panel.get_xlim() if axis == "x" else panel.get_ylim()
    # A factor of three either way at least: otherwise noise looks like a slope.
    low, high = min(low, 0.3), max(high, 3.0)
    decades = np.log10(high / low)
    named = FACTORS[:: 1 if decades < FEW_DECADES else 2 if decades < MANY_DECADES else 4]
    # The inverses first, without that of 1, which stands among the others.
    ticks = [1 / factor for factor in named[:0:-1] if low <= 1 / factor] + [
        factor for factor in named if factor <= high
    ]
    (panel.set_xlim if axis == "x" else panel.set_ylim)(low, high)
    name_ticks(panel, axis, ((tick, f"1/{1 / tick:,.0f}" if tick < 1 else f"{tick:,}") for tick in ticks))
