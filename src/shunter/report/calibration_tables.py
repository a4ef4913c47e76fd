"""A calibration as tables for people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from shunter.metrics.labels import percent
from shunter.report.tables import format_seconds, ledger_table, rejection_table, run_title

if TYPE_CHECKING:
    from shunter.cli.calibrate import Report
    from shunter.metrics.calibrate import Agreement, Group, Side
    from shunter.metrics.calibration_verdict import Judgment, Verdict

COLORS = ("red", "yellow", "green")
"""By the number of the verdict."""


def print_report(report: Report, written: Sequence[Path]) -> None:
    """Prints the verdict with its grounds, both sides, how they agree, and where they do not."""
    console = Console()
    schedule, calibration = report.run.schedule, report.calibration
    console.print(run_title(report.run), soft_wrap=True, highlight=False)
    console.print(f"compared: {calibration.compared:,} jobs", end="", highlight=False)
    console.print(f"; left out: {calibration.without_logged_wait:,} without a logged wait", highlight=False)
    console.print(verdict_text(report.judgment), highlight=False)
    console.print(checks_table(report.judgment))
    console.print(sides_table(calibration.logged, calibration.simulated))
    console.print(agreement_table(calibration.agreement))
    console.print(groups_table("by the job's cores", "cores", calibration.by_cores))
    console.print(groups_table(f"by the hour of the submit ({calibration.hours_of})", "hour", calibration.by_hour))
    if schedule.ledger:
        console.print(ledger_table(schedule.ledger))
    if schedule.rejected.any():
        console.print(rejection_table(schedule))
    for path in written:
        console.print(f"written: {path}", markup=False, highlight=False, soft_wrap=True)


def verdict_text(judgment: Judgment) -> str:
    """Returns the verdict, its grounds, and the hints as a list."""
    hints = "".join(f"\n  – {escape(hint)}" for hint in judgment.hints)
    return f"\n{_colored(judgment.verdict, judgment.verdict.words)}: {escape(judgment.because)}.{hints}\n"


def _colored(verdict: Verdict, words: str) -> str:
    return f"[bold {COLORS[verdict]}]{words}[/]"


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


def sides_table(logged: Side, simulated: Side) -> Table:
    """Returns the waits of the log beside those of the simulation."""
    table = Table("", title="waits", title_justify="left")
    for side in ("logged", "simulated"):
        table.add_column(side, justify="right")
    for name, title in (("mean", "mean wait"), ("median", "median"), ("p95", "95 %"), ("max", "longest")):
        seconds = [format_seconds(getattr(side, f"{name}_wait_s")) for side in (logged, simulated)]
        table.add_row(title, *seconds)
    for name, title in (
        ("waited_share", "jobs that waited more than a minute"),
        ("room_share", "of these, with enough cores free at their submit"),
        ("core_utilization", "core utilization, first to last submit"),
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
