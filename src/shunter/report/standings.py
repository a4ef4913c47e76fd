"""Reports for people: one policy that is judged, beside where it began and what one would have had without it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from rich.markup import escape
from rich.table import Table

from shunter.comparison.roles import JUDGED_AGAINST, OTHERS, ROLES
from shunter.metrics.labels import in_unit, percent, short, wait_unit
from shunter.report.comparisons import BREAK, INDENT, ratio_text, used_columns
from shunter.report.tables import NAME_WIDTH, folded, print_fitted, titled_table
from shunter.report.terminal import Console

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shunter.comparison.report import LogReport

Row = TypeVar("Row")


def print_standing(console: Console, one: LogReport, judged: str, title: str) -> None:
    """Prints the tables of a report, with names folded as little as the width of the console allows."""
    print_fitted(console, lambda most: standing_table(one, judged, title, most))
    print_fitted(console, lambda most: waits_table(one, judged, most))


def standing_table(one: LogReport, judged: str, title: str, most: int = NAME_WIDTH) -> Table:
    """Returns the metric that counts of each contender, and how the one that is judged compares with it.

    Args:
        one: What happened on a log.
        judged: The role of the one that is judged.
        title: Of the table.
        most: How long the lines of a name may be.
    """
    table = titled_table(title)
    ratio = escape(f"{ROLES[judged]} to it\n[95 %]")
    for heading in ("geom.\nmean", "mean", ratio, "of\nmeans", "wins"):
        table.add_column(heading, justify="right", no_wrap=True)
    own = one.contenders[judged]
    for role, row in judged_first(one.contenders, judged).items():
        cells = [short(row.summary.geometric_mean), short(row.summary.mean)]
        if role != judged:
            found = own.against[role]
            cells += [ratio_text(one.metric, found.to_json()), short(found.means_ratio), percent(found.win_rate)]
        table.add_row(role_name(one, role, most), *cells)
    return table


def judged_first(rows: Mapping[str, Row], judged: str) -> dict[str, Row]:
    """Returns rows by role: the one that is judged, where it began, and then the others."""
    return {role: rows[role] for role in (judged, *JUDGED_AGAINST) if role in rows}


def waits_table(one: LogReport, judged: str, most: int = NAME_WIDTH) -> Table:
    """Returns what lies beside the metric: waits, their ratio to the reference's, what was used, and bounds.

    Args:
        one: What happened on a log.
        judged: The role of the one that is judged: it alone was asked to keep bounds.
        most: How long the lines of a name may be.
    """
    rows = [one.row_object(role) for role in judged_first(one.contenders, judged)]
    # Drawn episodes of pick-host last seconds, and logs last months.
    unit, seconds = wait_unit(row["max_wait_s"] for row in rows)
    reference = OTHERS.get(one.reference, ROLES[one.reference])
    table = titled_table(f"waits in {unit}; ratio and bounds: to {reference}")
    # Without "times", so that the table fits on a narrow screen.
    bounds = [f"{held.bound.metric}\n{held.bound.words.removesuffix(' times')}" for held in one.contenders[judged].held]
    used = used_columns(rows)
    for heading in ("mean\nwait", "ratio", "longest\nwait", *used, *bounds):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        ratio = "=" if row["role"] == one.reference else short(row["mean_wait_ratio"])
        cells = [in_unit(row["mean_wait_s"], seconds), ratio, in_unit(row["max_wait_s"], seconds)]
        cells += [percent(row[name], 1) for name in used.values()]
        cells += [_bound_text(bound, row["role"] == judged) for bound in row["bounds"]]
        table.add_row(role_name(one, row["role"], most), *cells)
    return table


def _bound_text(bound: dict[str, Any], is_judged: bool) -> str:
    """Returns whether a bound holds; in red where the one that was asked to hold it does not."""
    text = f"{short(bound['ratio'])} {'kept' if bound['holds'] else 'broken'}"
    return f"[red]{text}[/]" if is_judged and not bound["holds"] else text


def role_name(one: LogReport, role: str, most: int) -> str:
    """Returns what a row is, and below it which policy, in lines of so many characters."""
    label = escape(folded(one.shown_label(role), most - len(INDENT))).replace(BREAK, BREAK + INDENT)
    return f"{folded(ROLES[role], most)}{BREAK}{INDENT}{label}"
