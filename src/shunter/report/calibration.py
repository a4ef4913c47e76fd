"""A calibration for people: tables, and a figure of simulated against logged waits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from rich.markup import escape
from rich.table import Table

from shunter.metrics.calibration import HOUR_S, HOURS
from shunter.metrics.labels import percent
from shunter.report.drawing import COLORS, GRID, TIME_TICKS, draw_density, finish, name_ticks, new_figure
from shunter.report.tables import format_seconds, ledger_table, print_written, rejection_table, run_title
from shunter.report.terminal import Console

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from shunter.metrics.calibration import Agreement, Calibration, Group, Side
    from shunter.metrics.calibration_report import CalibrationReport
    from shunter.metrics.calibration_verdict import Judgment, Verdict
    from shunter.metrics.logged_waits import Waits
    from shunter.model.schedule import Schedule

VERDICT_COLORS: Final = ("red", "yellow", "green")
"""By the number of the verdict."""
LOGGED_COLOR, SIMULATED_COLOR = COLORS[1], COLORS[0]
LOGGED_WIDTH, SIMULATED_WIDTH = 4.0, 1.6
"""Of lines: both are to be seen where one lies on the other."""
TICKS: Final = ((1, "≤ 1 s"), (10, "10 s"), *TIME_TICKS)
"""Waits that are named on logarithmic axes."""
BAR_WIDTH = 0.38
"""Of a bar, where two stand for one size class."""


def print_report(report: CalibrationReport, written: Sequence[Path]) -> None:
    """Prints the verdict with its grounds, both sides, how they agree, and where they do not."""
    console = Console()
    schedule, calibration = report.run.schedule, report.calibration
    console.print(run_title(report.run), soft_wrap=True, highlight=False)
    console.print(f"compared: {calibration.compared:,} jobs", end="", highlight=False)
    console.print(f"; left out: {calibration.without_logged_wait:,} without a logged wait", highlight=False)
    console.print(verdict_text(report.judgment), highlight=False)
    console.print(checks_table(report.judgment))
    unit = calibration.resource.unit
    console.print(sides_table(calibration.logged, calibration.simulated, unit))
    console.print(agreement_table(calibration.agreement))
    console.print(groups_table(f"by the job's {unit}", unit, calibration.by_size))
    console.print(groups_table(f"by the hour of the submit ({calibration.hours_of})", "hour", calibration.by_hour))
    if schedule.ledger:
        console.print(ledger_table(schedule.ledger))
    if schedule.rejected.any():
        console.print(rejection_table(schedule))
    print_written(console, written)


def verdict_text(judgment: Judgment) -> str:
    """Returns the verdict, its grounds, and the hints as a list."""
    hints = "".join(f"\n  – {escape(hint)}" for hint in judgment.hints)
    return f"\n{_colored(judgment.verdict, judgment.verdict.words)}: {escape(judgment.because)}.{hints}\n"


def _colored(verdict: Verdict, words: str) -> str:
    return f"[bold {VERDICT_COLORS[verdict]}]{words}[/]"


def checks_table(judgment: Judgment) -> Table:
    """Returns the checks of the verdict, of which the worst decides."""
    table = Table("check", title="verdict: the worst of these", title_justify="left")
    table.add_column("value", justify="right")
    for column in ("explains", "roughly", "result"):
        table.add_column(column)
    for check in judgment.checks:
        result = "–" if check.result is None else _colored(check.result, check.result.word)
        table.add_row(check.name, _number(check.value), check.explains, check.roughly, result)
    return table


def sides_table(logged: Side, simulated: Side, unit: str) -> Table:
    """Returns the waits of the log beside those of the simulation; the unit is what is in use, cores or GPUs."""
    table = Table("", title="waits", title_justify="left")
    for side in ("logged", "simulated"):
        table.add_column(side, justify="right")
    for name, title in (("mean", "mean wait"), ("median", "median"), ("p95", "95 %"), ("max", "longest")):
        seconds = [format_seconds(getattr(side, f"{name}_wait_s")) for side in (logged, simulated)]
        table.add_row(title, *seconds)
    for name, title in (
        ("waited_share", "jobs that waited more than a minute"),
        ("room_share", f"of these, with enough {unit} free at their submit"),
        ("utilization", f"{unit} in use, first to last submit"),
    ):
        table.add_row(title, *(percent(getattr(side, name), 2) for side in (logged, simulated)))
    return table


def agreement_table(agreement: Agreement) -> Table:
    """Returns how near the simulated waits are to the logged ones, beyond what the checks tell."""
    table = Table("simulated against logged", title="agreement", title_justify="left")
    table.add_column("value", justify="right")
    table.add_row("bias: mean of simulated − logged", _signed_seconds(agreement.bias_s))
    table.add_row("mean absolute error", format_seconds(agreement.mean_absolute_error_s))
    table.add_row("total absolute error", format_seconds(agreement.total_absolute_error_s))
    table.add_row("jobs within a second", percent(agreement.within_second_share, 2))
    table.add_row("jobs within a minute", percent(agreement.within_minute_share, 2))
    table.add_row("jobs within a minute or 10 %", percent(agreement.within_minute_or_tenth_share, 2))
    table.add_row("explained variance of log(1 + wait)", _number(agreement.explained_log_variance))
    return table


def groups_table(title: str, column: str, groups: Sequence[Group]) -> Table:
    """Returns the mean waits and errors of groups of jobs."""
    table = Table(title=title, title_justify="left")
    for name in (column, "jobs", "logged mean wait", "simulated", "bias", "mean absolute error"):
        table.add_column(name, justify="right")
    for group in groups:
        table.add_row(
            group.label,
            f"{group.jobs:,}",
            _short_seconds(group.logged_mean_wait_s),
            _short_seconds(group.simulated_mean_wait_s),
            _short_seconds(group.bias_s, sign="+"),
            _short_seconds(group.mean_absolute_error_s),
        )
    return table


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}".replace("-", "−")


def _signed_seconds(value: float) -> str:
    return ("−" if value < 0 else "+") + format_seconds(abs(value))


def _short_seconds(value: float | None, sign: str = "") -> str:
    return "–" if value is None else f"{value:{sign},.0f} s".replace("-", "−")


def draw_calibration(schedule: Schedule, waits: Waits, calibration: Calibration, judgment: Judgment) -> Figure:
    """Returns a figure with four panels, to be saved with ``savefig``."""
    figure = new_figure(12, 9.5)
    panels = figure.subplots(2, 2)
    _draw_jobs(panels[0, 0], waits)
    _draw_distribution(panels[0, 1], waits)
    _draw_hours(panels[1, 0], calibration)
    _draw_sizes(panels[1, 1], calibration)
    return finish(figure, panels.flat, _title(schedule, calibration, judgment))


def _title(schedule: Schedule, calibration: Calibration, judgment: Judgment) -> str:
    settings = schedule.settings
    return (
        f"{settings.policy} · {settings.dispatch} on {schedule.cluster.label} {judgment.verdict.words}\n"
        f"{schedule.workload.name}, {calibration.compared:,} jobs"
    )


def _shown(wait_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns waits that a logarithmic axis can show: those below a second as one."""
    return np.maximum(wait_s, 1.0)


def _draw_jobs(panel: Axes, waits: Waits) -> None:
    top = 1.5 * float(max(waits.logged_s.max(), waits.simulated_s.max(), 10.0))
    draw_density(panel, _shown(waits.logged_s), _shown(waits.simulated_s), 1.0, top)
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
    panel.grid(**GRID)
    panel.legend(frameon=False, loc="lower right")


def _name_waits(panel: Axes, axis: str, top: float) -> None:
    """Names waits on a logarithmic axis in units that people use."""
    # A little below one second, so that the jobs that did not wait are not cut by the frame.
    (panel.set_xlim if axis == "x" else panel.set_ylim)(0.8, top)
    name_ticks(panel, axis, ((seconds, name) for seconds, name in TICKS if seconds <= top))


def _draw_hours(panel: Axes, calibration: Calibration) -> None:
    hours = np.arange(HOURS) + 0.5
    for width, (label, color, mean_h) in zip(
        (LOGGED_WIDTH, SIMULATED_WIDTH), _mean_hours(calibration.by_hour), strict=True
    ):
        panel.plot(hours, mean_h, color=color, linewidth=width, marker="o", markersize=1.5 * width + 1, label=label)
    panel.set(title="by the hour of the submit", ylabel="mean wait [h]", xlim=(0, HOURS))
    panel.set_xlabel(f"hour of the day ({calibration.hours_of})")
    panel.set_xticks(range(0, HOURS + 1, 3))
    # Room for the legend above the highest point.
    panel.set_ylim(0, 1.15 * panel.get_ylim()[1])
    panel.grid(**GRID)
    panel.legend(frameon=False)


def _draw_sizes(panel: Axes, calibration: Calibration) -> None:
    groups, unit = calibration.by_size, calibration.resource.unit
    places = np.arange(len(groups))
    for shift, (label, color, mean_h) in zip((-0.5, 0.5), _mean_hours(groups), strict=True):
        panel.bar(places + shift * BAR_WIDTH, mean_h, width=BAR_WIDTH, color=color, label=label)
    names = [f"{group.label}\n({group.jobs:,})" for group in groups]
    panel.set_xticks(places, names, fontsize=7 if len(groups) > 8 else 8)
    panel.set(title=f"by the job's {unit}", xlabel=f"{unit} (jobs)", ylabel="mean wait [h]")
    panel.grid(axis="y", **GRID)
    panel.legend(frameon=False)


def _mean_hours(groups: tuple[Group, ...]) -> tuple[tuple[str, str, NDArray[np.float64]], ...]:
    """Returns label, color and mean waits in hours of both sides; NaN, which leaves a gap, where there is no job."""
    # None becomes NaN here, and so a gap.
    logged = np.array([group.logged_mean_wait_s for group in groups], dtype=np.float64) / HOUR_S
    simulated = np.array([group.simulated_mean_wait_s for group in groups], dtype=np.float64) / HOUR_S
    return ("logged", LOGGED_COLOR, logged), ("simulated", SIMULATED_COLOR, simulated)
