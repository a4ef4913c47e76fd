"""Evaluations for people: each policy that is judged against where it began, and then everybody."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

from shunter.metrics.labels import short
from shunter.report.comparisons import (
    comparison_notes,
    comparison_title,
    metric_table,
    print_findings,
    print_grounds,
    ratio_table,
)
from shunter.report.standings import print_standing
from shunter.report.tables import (
    NAME_WIDTH,
    hours,
    ledger_table,
    print_fitted,
    print_line,
    print_warning,
    print_written,
)
from shunter.report.terminal import Console

if TYPE_CHECKING:
    from shunter.comparison.comparison import Comparison
    from shunter.comparison.evaluation import Evaluation


def print_evaluation(evaluation: Evaluation, top: int, written: Sequence[Path], *, named: bool) -> None:
    """Prints each policy that is judged against where it began, what it comes to, and then everybody.

    Args:
        evaluation: What came out.
        top: How many classics are shown.
        written: What was written.
        named: Whether the user named the checkpoints.
    """
    console, comparison = Console(), evaluation.comparison
    if not named:
        newest = evaluation.entrants.learned[0].settings.policy
        console.print(f"the newest run: [bold]{escape(newest)}[/bold]", soft_wrap=True, highlight=False)
    console.print(comparison_title(comparison), soft_wrap=True, highlight=False)
    print_grounds(console, comparison)
    # Rows of 1.00 would look like a result.
    if comparison.quiet_note is None:
        _print_results(console, evaluation, top)
    for line in comparison_notes(comparison):
        print_line(console, line)
    if ledger := comparison.scored[0].ledger:
        console.print(ledger_table(ledger))
    for warning in evaluation.warnings:
        print_warning(console, warning)
    print_line(console, evaluation.next_step.text)
    print_written(console, written)


def _print_results(console: Console, evaluation: Evaluation, top: int) -> None:
    """Prints each policy against where it began, what that comes to, and then everybody."""
    comparison = evaluation.comparison
    for judged, one in zip(evaluation.entrants.judged, evaluation.standings, strict=True):
        if evaluation.is_shown_beside(judged):
            continue
        print_standing(console, one, next(iter(one.contenders)), f"{escape(one.name)}: {comparison.metric}")
    print_findings(console, evaluation.findings())
    shown = {one.combination.label for one in evaluation.shown(top)}
    rows = [row for row in evaluation.rows() if row["label"] in shown]
    print_fitted(console, lambda most: metric_table(comparison, rows, most))
    print_fitted(console, lambda most: judged_table(comparison, rows, most))
    if (hidden := len(comparison.scored) - len(rows)) > 0:
        print_line(console, f"not shown (--top): {hidden} classics")


def judged_table(comparison: Comparison, rows: Sequence[dict[str, Any]], most: int = NAME_WIDTH) -> Table:
    """Returns each row against the best classic, and what users and cluster had of it."""

    def waits(row: dict[str, Any]) -> list[str]:
        return [hours(row["mean_wait_s"]), short(row["mean_wait_ratio"]), hours(row["max_wait_s"])]

    return ratio_table(comparison, rows, "hours", ("mean\nwait", "wait\nratio", "max\nwait"), waits, most)
