"""The tables of ``shunter tune``, for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from shunter.comparison.report import BETTER, BROKEN, WORSE, findings_on
from shunter.metrics.labels import cluster_label, counted, percent
from shunter.report.comparison_tables import ratio_text, short
from shunter.report.tables import ledger_table
from shunter.tuning.report import BEST, CHOSEN, OTHERS, ROLES, TUNED

if TYPE_CHECKING:
    from shunter.cli.tuning import Tuning
    from shunter.comparison.report import Finding, Report
    from shunter.tuning.report import LaterReport
    from shunter.tuning.tune import Tuned

HOUR_S = 3600.0
COLORS = {BETTER: "green", WORSE: "red", BROKEN: "red"}
"""Of what is found; the rest has none."""


def print_tuning(tuning: Tuning, written: Sequence[Path]) -> None:
    """Prints what was found, how it does on later days, what that comes to, and what was written."""
    console = Console()
    console.print(_title(tuning), soft_wrap=True, highlight=False)
    console.print(parameter_table(tuning))
    metric = tuning.report.objective.metric
    for one in tuning.report.logs:
        console.print(_log_title(tuning, one), soft_wrap=True, highlight=False)
        console.print(metric_table(one, metric))
        console.print(beside_table(one))
        if one.scored[TUNED].ledger:
            console.print(ledger_table(one.scored[TUNED].ledger))
        _print_findings(console, findings_on(one, metric, TUNED, TUNED, OTHERS))
        if note := one.interval_note:
            console.print(note, markup=False, highlight=False, soft_wrap=True)
    if tuning.report.pooled:
        console.print()
        console.print(pooled_table(tuning.report))
        _print_findings(console, tuning.report.findings_over_all(TUNED, TUNED, OTHERS))
    for path in written:
        console.print(f"written: {path}", markup=False, highlight=False, soft_wrap=True)


def _title(tuning: Tuning) -> str:
    tuned, plan, objective = tuning.tuned, tuning.arguments.plan, tuning.report.objective
    bounds = "".join(f", {bound.metric} {bound.words}" for bound in objective.bounds)
    settings = tuned.scheduler.settings
    drawn = min(plan.drawn, plan.windows)
    return (
        f"[bold]{tuned.kind}[/bold] tuned for {objective.metric}{bounds}\n"
        f"{settings.dispatch} · {settings.placement} · estimate {escape(tuning.arguments.estimate)}\n"
        f"on the first {100 * plan.train[1]:g} % of {counted(len(tuning.inputs), 'log')}: "
        f"{counted(plan.generations, 'generation')} of {plan.population} candidates, each in {drawn} of "
        f"{counted(plan.windows, 'window')} of {plan.length:,} jobs, seed {plan.seed}\n"
        f"{tuned.simulations:,} simulations; {tuning.seconds:.3g} s with the choice of classics\n"
        f"cost on all training windows {tuned.costs[-1]:.3f}, where the search began {tuned.costs[0]:.3f} "
        f"(0 is as good as the classic chosen there){_warning(tuned)}"
    )


def _warning(tuned: Tuned) -> str:
    """Returns a line on a policy that does not even serve the days that it was tuned on."""
    if tuned.costs[-1] <= 0:
        return ""
    return "\n[bold]on training days it is worse than the classic chosen there: do not use it[/bold]"


def parameter_table(tuning: Tuning) -> Table:
    """Returns the parameters that were found."""
    table = Table("parameter")
    table.add_column("value", justify="right")
    for name, value in tuning.tuned.parameters.items():
        table.add_row(name, f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}")
    return table


def _log_title(tuning: Tuning, one: LaterReport) -> str:
    later = one.later
    windows = later.windows
    warmup = f", after {windows.warmup:,} to warm up" if windows.warmup else ""
    rejected = one.scored[TUNED].rejected
    text = (
        f"\n[bold]{escape(later.log.workload.name)}[/bold] on {escape(cluster_label(later.log.cluster))}\n"
        f"later days, {tuning.arguments.report} of the log: {counted(len(windows), 'window')} of {windows.length:,} "
        f"jobs{warmup}, in {counted(windows.blocks, 'block')}"
    )
    return text + (f"; {rejected:,} jobs can never fit, and were rejected" if rejected else "")


def metric_table(one: LaterReport, metric: str) -> Table:
    """Returns the objective's metric, against the best classic in hindsight and the one chosen on training days."""
    table = _table(f"{metric} on later days")
    for heading in ("geom.\nmean", "mean", escape("to the best\n[95 %]"), escape("to the chosen\n[95 %]")):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in one.to_json()["rows"]:
        means = [short(row["geometric_mean"]), short(row["mean"])]
        table.add_row(_name(row), *means, *_ratios(metric, row))
    return table


def beside_table(one: LaterReport) -> Table:
    """Returns what lies beside the metric, and whether bounds hold."""
    table = _table("waits in hours; ratio and bounds: to the classic chosen in training")
    bounds = [f"{held.bound.metric}\n{held.bound.words}" for held in one.rows[TUNED].held]
    for heading in ("mean\nwait", "ratio", "max\nwait", "cores\nused", *bounds):
        table.add_column(heading, justify="right")
    for row in one.to_json()["rows"]:
        cells = [_hours(row["mean_wait_s"]), short(row["mean_wait_ratio"]), _hours(row["max_wait_s"])]
        cells += [percent(row["core_utilization"], 1), *(_bound_text(row["role"], bound) for bound in row["bounds"])]
        table.add_row(_name(row), *cells)
    return table


def pooled_table(report: Report[LaterReport]) -> Table:
    """Returns the ratios over all logs."""
    metric = report.objective.metric
    table = _table(f"all {len(report.logs)} logs together: {metric}, each log counting the same")
    for heading in (
        escape("to the best\n[95 %]"),
        escape("to the chosen\n[95 %]"),
        "mean wait\nto the chosen",
    ):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in report.pooled_objects() or []:
        ratios = _ratios(metric, row)
        table.add_row(ROLES[row["role"]], *ratios, short(row["mean_wait_ratio"]))
    return table


def _print_findings(console: Console, findings: Iterable[Finding]) -> None:
    """Prints sentences, those that speak against the tuned policy in red."""
    for finding in findings:
        color = COLORS.get(finding.result)
        text = escape(finding.sentence)
        console.print(f"[{color}]{text}[/]" if color else text, highlight=False, soft_wrap=True)


def _ratios(metric: str, row: dict[str, Any]) -> list[str]:
    """Returns the ratios of a row to the best classic in hindsight and to the chosen one."""
    against = [(base, row["against"][base]) for base in (BEST, CHOSEN)]
    return [
        "=" if base == row["role"] else "–" if values is None else ratio_text(metric, values)
        for base, values in against
    ]


def _table(title: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("", overflow="fold")
    return table


def _name(row: dict[str, Any]) -> str:
    """Returns what a row is, and below it which policy."""
    return f"{ROLES[row['role']]}\n  {escape(row['label'])}"


def _hours(seconds: float | None) -> str:
    return "–" if seconds is None else short(seconds / HOUR_S)


def _bound_text(role: str, bound: dict[str, Any]) -> str:
    """Returns whether a bound holds; only the tuned policy was asked to hold it."""
    text = f"{short(bound['ratio'])} {'yes' if bound['holds'] else 'no'}"
    return f"[red]{text}[/]" if role == TUNED and not bound["holds"] else text
