"""The tables of ``shunter evaluate``, for people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from shunter.comparison.evaluation import ALSO, BEST, BEST_SAME, CLASSIC, LEARNED
from shunter.comparison.report import BETTER, WORSE
from shunter.metrics.labels import cluster_label, counted, percent
from shunter.report.comparison_tables import metric_table, ratio_text, short
from shunter.report.tables import ledger_table

if TYPE_CHECKING:
    from shunter.cli.evaluating import Evaluated

HOUR_S: Final = 3600.0
COLORS: Final = {BETTER: "green", WORSE: "red"}
"""Of what is found; the rest has none."""
ROLES: Final = {
    LEARNED: "learned",
    ALSO: "also judged",
    BEST: "best in hindsight",
    BEST_SAME: "best, same estimate",
    CLASSIC: "",
}
"""What the tables say below a label."""


def print_evaluation(evaluated: Evaluated, top: int, written: Sequence[Path], *, named: bool) -> None:
    """Prints the metric over windows, what lies beside it, and what it comes to.

    Args:
        evaluated: What came out.
        top: How many classics are shown.
        written: What was written.
        named: Whether the user named the checkpoints.
    """
    console = Console()

    def say(line: str) -> None:
        console.print(line, markup=False, highlight=False, soft_wrap=True)

    console.print(_title(evaluated, named), soft_wrap=True, highlight=False)
    shown = {one.combination.label for one in evaluated.evaluation.shown(top)}
    rows = [row for row in evaluated.rows() if row["label"] in shown]
    console.print(metric_table(evaluated.comparison, [row | {"label": _name(row)} for row in rows]))
    console.print(beside_table(evaluated, rows))
    if (hidden := len(evaluated.comparison.scored) - len(rows)) > 0:
        say(f"not shown (--top): {hidden} classics")
    for line in _notes(evaluated):
        say(line)
    if ledger := evaluated.comparison.scored[0].ledger:
        console.print(ledger_table(ledger))
    for warning in evaluated.warnings:
        console.print(f"[yellow]warning: {escape(warning)}[/]", highlight=False, soft_wrap=True)
    for finding in evaluated.evaluation.findings():
        color, text = COLORS.get(finding.result), escape(finding.sentence)
        console.print(f"[{color}]{text}[/]" if color else text, highlight=False, soft_wrap=True)
    for path in written:
        say(f"written: {path}")


def _title(evaluated: Evaluated, named: bool) -> str:
    comparison, windows = evaluated.comparison, evaluated.comparison.windows
    told = ", as the workload says" if evaluated.inputs.cluster_from_workload else ""
    warmup = f", after {windows.warmup:,} to warm up" if windows.warmup else ""
    policies = [one.settings.policy for one in evaluated.evaluation.entrants.learned]
    newest = "" if named else f"the newest run: [bold]{escape(policies[0])}[/bold]\n"
    combinations, simulations = len(comparison.scored), len(comparison.scored) * len(windows)
    part, seed = evaluated.arguments.part, evaluated.arguments.shared.seed
    site = escape(cluster_label(comparison.cluster) + told)
    return (
        f"{newest}[bold]{escape(comparison.workload.name)}[/bold] on {site}\n"
        f"{counted(len(windows), 'window')} of {windows.length:,} jobs{warmup}, in "
        f"{counted(windows.blocks, 'block')} of {part} of the log, seed {seed}\n"
        f"{counted(combinations, 'combination')}, {counted(simulations, 'simulation')} in {evaluated.seconds:.3g} s"
    )


def beside_table(evaluated: Evaluated, rows: Sequence[dict[str, Any]]) -> Table:
    """Returns each row against the baseline, and what users and cluster had of it."""
    comparison = evaluated.comparison
    table = Table(title=f"against {escape(comparison.baseline.label)}; waits in hours", title_justify="left")
    table.add_column("combination", overflow="fold")
    table.add_column(escape("ratio [95 %]"), justify="right", no_wrap=True)
    for heading in ("mean\nwait", "wait\nratio", "max\nwait", "cores\nused"):
        table.add_column(heading, justify="right")
    for row in rows:
        is_baseline = row["label"] == comparison.baseline.label
        ratio = "baseline" if is_baseline else ratio_text(comparison.metric, row)
        waits = [_hours(row["mean_wait_s"]), short(row["mean_wait_ratio"]), _hours(row["max_wait_s"])]
        table.add_row(escape(_name(row)), ratio, *waits, percent(row["core_utilization"], 1))
    return table


def _name(row: dict[str, Any]) -> str:
    """Returns the label, and below it what the row is."""
    role = ROLES[row["role"]]
    return f"{row['label']}\n  {role}" if role else str(row["label"])


def _hours(seconds: float | None) -> str:
    return "–" if seconds is None else short(seconds / HOUR_S)


def _notes(evaluated: Evaluated) -> list[str]:
    """Returns what a reader of the tables must know."""
    from shunter.comparison.statistics import interval_note

    comparison, windows = evaluated.comparison, evaluated.comparison.windows
    notes = []
    if len(windows) < evaluated.arguments.windows:
        notes.append(f"{evaluated.arguments.windows} windows were asked for; the log has room for {len(windows)}")
    if note := interval_note(windows.blocks):
        notes.append(note)
    if rejected := max(one.rejected for one in comparison.scored):
        notes.append(f"{rejected:,} of {windows.length * len(windows):,} jobs can never fit, and were rejected")
    return notes
