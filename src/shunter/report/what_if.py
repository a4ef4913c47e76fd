"""The table of ``shunter what-if``: a column a case, with the difference to the base."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table

from shunter.comparison.marks import mark_lines, marked, restart_warning, shared_lines, shared_marks
from shunter.metrics.labels import brief_seconds
from shunter.metrics.table import METRICS, SECONDS
from shunter.report.tables import (
    ANY_WIDTH,
    folded,
    format_metric,
    ledger_table,
    print_line,
    print_warning,
    run_title,
    told_metrics,
)
from shunter.report.terminal import Console

if TYPE_CHECKING:
    from shunter.comparison.what_if import Case, WhatIf

TIMES_FROM = 10
"""From so many times the base on, the difference is told as a factor."""
LAYOUTS: Final = ((" ", 40), ("\n", 24), ("\n", 16), ("\n", 12))
"""What stands between a value and its difference, and how long the lines of a case's name may be, the widest first."""


def print_what_if(found: WhatIf) -> None:
    """Prints what the base is, what the changes amount to, the differences, and the base's ledger."""
    cases, base = found.cases, found.base.run
    console = Console()
    console.print(run_title(base), soft_wrap=True, highlight=False)
    if found.believability is not None:
        print_line(console, found.believability.line)
    if found.following is not None:
        print_line(console, found.following.line)
    shared = shared_marks(case.marks for case in cases)
    for line in shared_lines(shared):
        print_line(console, line)
    for case in cases:
        for note in case.notes:
            print_line(console, f"{case.name}: {note}")
    for table in fitted_tables(console, cases):
        console.print(table)
    for line in mark_lines((case.marks for case in cases), shared):
        print_line(console, line)
    if found.quiet_note:
        print_line(console, found.quiet_note)
    print_warning(console, restart_warning((case.run.scheduler for case in cases), base.schedule.workload))
    if base.schedule.ledger:
        console.print(ledger_table(base.schedule.ledger))


def fitted_tables(console: Console, cases: Sequence[Case]) -> list[Table]:
    """Returns the differences in one table; in several, with fewer cases each, where the console is too narrow."""
    anywhere = console.options.update(max_width=ANY_WIDTH)
    names = told_metrics(*(case.run for case in cases))
    base, others = cases[0], cases[1:]
    tables: list[Table] = []
    for together in range(len(others), 0, -1):
        parts = [[base, *others[first : first + together]] for first in range(0, len(others), together)]
        for apart, most in LAYOUTS:
            tables = [difference_table(part, names, apart, most) for part in parts]
            if all(Measurement.get(console, anywhere, table).maximum <= console.width for table in tables):
                return tables
    return tables


def difference_table(cases: Sequence[Case], names: Sequence[str], apart: str = " ", most: int = 40) -> Table:
    """Returns metrics, one a row, and a column a case; behind each value how much more it is than the base's.

    Args:
        cases: The base first.
        names: Which metrics.
        apart: What stands between a value and its difference.
        most: How long the lines of a case's name may be.
    """
    table = Table()
    table.add_column("metric", no_wrap=True)
    shared = shared_marks(case.marks for case in cases)
    for case in cases:
        name = folded(marked(case.name, case.marks, shared), most)
        table.add_column(escape(name), justify="right", no_wrap=True)
    base = cases[0].run
    for name in names:
        old = base.metrics[name]
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
