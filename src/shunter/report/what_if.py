"""The table of ``shunter what-if``: a column a case, with the difference to the base."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table

from shunter.metrics.table import METRICS, SECONDS
from shunter.report.tables import brief_seconds, format_metric, ledger_table, print_line, run_title

if TYPE_CHECKING:
    from shunter.comparison.changes import Case

ANY_WIDTH = 10_000
"""No table is as wide."""
TIMES_FROM = 10
"""From so many times the base on, the difference is told as a factor."""


def print_cases(cases: Sequence[Case]) -> None:
    """Prints what the base is, what the changes amount to, the differences, and the base's ledger."""
    base = cases[0].run
    console = Console()
    console.print(run_title(base), soft_wrap=True, highlight=False)
    for case in cases:
        for note in case.notes:
            print_line(console, f"{case.name}: {note}")
    table = difference_table(cases)
    if Measurement.get(console, console.options.update(max_width=ANY_WIDTH), table).maximum > console.width:
        # Where the terminal is narrow, each difference stands below its value.
        table = difference_table(cases, apart="\n")
    console.print(table)
    if base.schedule.ledger:
        console.print(ledger_table(base.schedule.ledger))


def difference_table(cases: Sequence[Case], apart: str = " ") -> Table:
    """Returns all metrics, one a row, and a column a case; behind each value how much more it is than the base's."""
    table = Table()
    table.add_column("metric", no_wrap=True)
    for case in cases:
        table.add_column(escape(case.name.replace(",", ",\n")), justify="right", overflow="fold")
    base = cases[0].run
    for name, old in base.metrics.items():
        cells = [
            f"{_brief(name, new)}{apart}{more(new, old)}".rstrip()
            for new in (case.run.metrics[name] for case in cases[1:])
        ]
        table.add_row(name, _brief(name, old), *cells)
    table.add_row("rejected jobs", *(f"{int(case.run.schedule.rejected.sum()):,}" for case in cases))
    return table


def more(new: float | None, old: float | None) -> str:
    """Returns how much more a value is than the base's: ``+54 %``, ``12x``; nothing where that is unknown."""
    if new is None or not old:
        return ""
    if new == old:
        return "="
    if new / old >= TIMES_FROM:
        return f"{new / old:,.0f}x"
    percent = 100 * (new - old) / abs(old)
    return f"{percent:+.{0 if abs(percent) >= 10 else 1}f} %".replace("-", "−")


def _brief(name: str, value: float | None) -> str:
    """Returns a metric with its unit, short enough for a column: ``8.35 h``."""
    if value is None or METRICS[name].unit != SECONDS:
        return format_metric(name, value)
    return brief_seconds(value)
