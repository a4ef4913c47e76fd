"""The figure of a calibration: simulated against logged waits, over all jobs, by the hour and by the job's size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from shunter.metrics.calibrate import HOUR_S, HOURS
from shunter.metrics.labels import cluster_label
from shunter.report.schedule_figure import COLORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from shunter.metrics.calibrate import Calibration, Group
    from shunter.metrics.calibration_verdict import Judgment
    from shunter.metrics.logged_waits import Waits
    from shunter.model.schedule import Schedule

LOGGED_COLOR, SIMULATED_COLOR = COLORS[1], COLORS[0]
LOGGED_WIDTH, SIMULATED_WIDTH = 4.0, 1.6
"""Of lines: both are to be seen where one lies on the other."""
GRID: Final = "#DDDDDD"
TICKS: Final = (
    (1, "≤ 1 s"), (10, "10 s"), (60, "1 min"), (600, "10 min"), (3_600, "1 h"), (36_000, "10 h"), (345_600, "4 d"),
    (3_456_000, "40 d"), (34_560_000, "400 d"),
)  # fmt: skip
"""Waits that are named on logarithmic axes."""
GRID_CELLS = 60
"""Hexagons across the panel."""
BAR_WIDTH = 0.38
"""Of a bar, where two stand for one size class."""


def draw_calibration(schedule: Schedule, waits: Waits, calibration: Calibration, judgment: Judgment) -> Figure:
    """Returns a figure with four panels, to be saved with ``savefig``."""
    figure = Figure(figsize=(12, 9.5), dpi=120, layout="constrained")
    panels = figure.subplots(2, 2)
    _draw_jobs(panels[0, 0], waits)
    _draw_distribution(panels[0, 1], waits)
    _draw_hours(panels[1, 0], calibration)
    _draw_sizes(panels[1, 1], calibration)
    for panel in panels.flat:
        panel.spines[["top", "right"]].set_visible(False)
        panel.set_axisbelow(True)
    figure.suptitle(_title(schedule, calibration, judgment), fontsize=12)
    return figure


def _title(schedule: Schedule, calibration: Calibration, judgment: Judgment) -> str:
    settings = schedule.settings
    return (
        f"{settings.policy} · {settings.dispatch} on {cluster_label(schedule.cluster)} {judgment.verdict.words}\n"
        f"{schedule.workload.name}, {calibration.compared:,} jobs"
    )


def _shown(wait_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns waits that a logarithmic axis can show: those below a second as one."""
    return np.maximum(wait_s, 1.0)


def _draw_jobs(panel: Axes, waits: Waits) -> None:
    top = 1.5 * float(max(waits.logged_s.max(), waits.simulated_s.max(), 10.0))
    extent = (0.0, float(np.log10(top)), 0.0, float(np.log10(top)))
    image = panel.hexbin(
        _shown(waits.logged_s),
        _shown(waits.simulated_s),
        xscale="log",
        yscale="log",
        gridsize=GRID_CELLS,
        extent=extent,
        mincnt=1,
        # Below one, so that a single job is not the white of the paper.
        norm=LogNorm(vmin=0.3),
        cmap="Blues",
        linewidths=0.1,
    )
    panel.plot([1, top], [1, top], color="black", linewidth=0.8)
    panel.figure.colorbar(image, ax=panel, pad=0.01, label="jobs")
    _name_waits(panel, "x", top)
    _name_waits(panel, "y", top)
    panel.set(title="each job (on the line: the same)", xlabel="logged wait", ylabel="simulated wait")


def _draw_distribution(panel: Axes, waits: Waits) -> None:
    share = np.linspace(0, 100, 401)
    top = 1.5 * float(max(waits.logged_s.max(), waits.simulated_s.max(), 10.0))
    for label, color, width, wait_s in (
        ("logged", LOGGED_COLOR, LOGGED_WIDTH, waits.logged_s),
        ("simulated", SIMULATED_COLOR, SIMULATED_WIDTH, waits.simulated_s),
    ):
        panel.plot(_shown(np.quantile(wait_s, share / 100)), share, color=color, linewidth=width, label=label)
    panel.set_xscale("log")
    _name_waits(panel, "x", top)
    panel.set(title="distribution", xlabel="wait", ylabel="jobs that wait no longer [%]", ylim=(0, 102))
    panel.grid(color=GRID, linewidth=0.6)
    panel.legend(frameon=False, loc="lower right")


def _name_waits(panel: Axes, axis: str, top: float) -> None:
    """Names waits on a logarithmic axis in units that people use."""
    named = [(seconds, name) for seconds, name in TICKS if seconds <= top]
    ticks, names = [seconds for seconds, _ in named], [name for _, name in named]
    if axis == "x":
        panel.set_xlim(0.8, top)
        panel.set_xticks(ticks, names, fontsize=8)
        panel.xaxis.set_minor_locator(NullLocator())
    else:
        panel.set_ylim(0.8, top)
        panel.set_yticks(ticks, names, fontsize=8)
        panel.yaxis.set_minor_locator(NullLocator())


def _draw_hours(panel: Axes, calibration: Calibration) -> None:
    hours = np.arange(HOURS) + 0.5
    for width, (label, color, mean_h) in zip(
        (LOGGED_WIDTH, SIMULATED_WIDTH), _mean_hours(calibration.by_hour), strict=True
    ):
        panel.plot(hours, mean_h, color=color, linewidth=width, marker="o", markersize=1.5 * width + 1, label=label)
    panel.set(title="by the hour of the submit", ylabel="mean wait [h]", xlim=(0, HOURS))
    panel.set_xlabel(f"hour of the day ({calibration.hours_of})")
    panel.set_xticks(range(0, HOURS + 1, 3))
    panel.set_ylim(0, 1.15 * panel.get_ylim()[1])
    panel.grid(color=GRID, linewidth=0.6)
    panel.legend(frameon=False)


def _draw_sizes(panel: Axes, calibration: Calibration) -> None:
    groups = calibration.by_cores
    places = np.arange(len(groups))
    for shift, (label, color, mean_h) in zip((-0.5, 0.5), _mean_hours(groups), strict=True):
        panel.bar(places + shift * BAR_WIDTH, mean_h, width=BAR_WIDTH, color=color, label=label)
    names = [f"{group.label}\n({group.jobs:,})" for group in groups]
    panel.set_xticks(places, names, fontsize=7 if len(groups) > 8 else 8)
    panel.set(title="by the job's cores", xlabel="cores (jobs)", ylabel="mean wait [h]")
    panel.grid(axis="y", color=GRID, linewidth=0.6)
    panel.legend(frameon=False)


def _mean_hours(groups: tuple[Group, ...]) -> tuple[tuple[str, str, NDArray[np.float64]], ...]:
    """Returns label, color and mean waits in hours of both sides; NaN, which leaves a gap, where there is no job."""
    logged = np.array([group.logged_mean_wait_s for group in groups], dtype=np.float64) / HOUR_S
    simulated = np.array([group.simulated_mean_wait_s for group in groups], dtype=np.float64) / HOUR_S
    return ("logged", LOGGED_COLOR, logged), ("simulated", SIMULATED_COLOR, simulated)
