"""What tables for people share, and those of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from shunter.metrics.run import turnaround_by_gpus, turnaround_by_priority
from shunter.metrics.table import COUNT, METRICS, SECONDS, SHARE
from shunter.model.log import FROM_WORKLOAD

if TYPE_CHECKING:
    from shunter.metrics.run import Run
    from shunter.model.log import Ledger
    from shunter.model.schedule import Schedule

UNITS_S: tuple[tuple[str, int], ...] = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
"""Units of time, from the largest."""


def titled_table(title: str, first: str = "") -> Table:
    """Returns a table with a title on its left, whose first column holds names that may be folded."""
    table = Table(title=title, title_justify="left")
    table.add_column(first, overflow="fold")
    return table


def print_line(console: Console, line: str) -> None:
    """Prints a line as it is: a file's name may look like markup."""
    console.print(line, markup=False, highlight=False, soft_wrap=True)


def print_written(console: Console, written: Sequence[Path]) -> None:
    """Prints which files were written."""
    for path in written:
        print_line(console, f"written: {path}")


def short(value: float | None) -> str:
    """Returns a number with about three digits; a dash where there is none."""
    if value is None:
        return "–"
    size = abs(value)
    return f"{value:,.0f}" if size >= 100 else f"{value:.1f}" if size >= 10 else f"{value:.2f}"


def hours(seconds: float | None) -> str:
    """Returns seconds as hours with about three digits; a dash where there are none."""
    return "–" if seconds is None else short(seconds / 3600.0)


def print_run(run: Run, written: Sequence[Path]) -> None:
    """Prints the metrics, the ledger, the rejected jobs, and what was written."""
    console = Console()
    console.print(run_title(run), soft_wrap=True, highlight=False)
    console.print(metrics_table(run.metrics))
    for table in breakdown_tables(run.schedule):
        console.print(table)
    if run.schedule.ledger:
        console.print(ledger_table(run.schedule.ledger))
    if run.schedule.rejected.any():
        console.print(rejection_table(run.schedule))
    print_written(console, written)


def run_title(run: Run) -> str:
    """Returns what was simulated, in three lines."""
    schedule, settings = run.schedule, run.schedule.settings
    # A reader must see that the size of the machine was taken from the log, and not given.
    cluster = schedule.cluster.label + (", as the workload says" if run.log.cluster_from == FROM_WORKLOAD else "")
    counts, bases = schedule.outcomes(), schedule.bases()
    others = "".join(f", {counts[name]:,} {name}" for name in ("killed", "failed", "unfinished") if counts[name])
    return (
        f"[bold]{escape(schedule.workload.name)}[/bold] on {escape(cluster)}\n"
        f"{escape(settings.policy)} · {settings.dispatch} · {settings.placement} · "
        f"estimate {escape(settings.estimate)}{_bases(settings.estimate, bases)}\n"
        f"{len(schedule):,} jobs, {counts['rejected']:,} rejected{others}, simulated in {run.seconds:.3g} s"
    )


def _bases(estimate: str, bases: dict[str, int]) -> str:
    """Returns what the estimates rested on, where their name does not say it."""
    # Nothing is said where all jobs rest on what the name promises.
    said = {"requested": ["request"], "perfect": ["run-time"]}.get(estimate, [])
    if list(bases) in ([], said):
        return ""
    return f" ({', '.join(f'{count:,} {name}' for name, count in bases.items())})"


def metrics_table(metrics: dict[str, float | None]) -> Table:
    """Returns all metrics, one a row."""
    table = Table("metric")
    table.add_column("value", justify="right")
    for name, value in metrics.items():
        table.add_row(name, format_metric(name, value))
    return table


def breakdown_tables(schedule: Schedule) -> Iterator[Table]:
    """Yields the turnarounds by GPUs and by priority, where the jobs have them."""
    for name, rows in (("GPUs", turnaround_by_gpus(schedule)), ("priority", turnaround_by_priority(schedule))):
        if rows is not None:
            table = Table(name, title=f"turnaround by {name}", title_justify="left")
            for column in ("jobs", "mean", "median", "95 %"):
                table.add_column(column, justify="right")
            for label, jobs, *times in (row.values() for row in rows):
                table.add_row(label, f"{jobs:,}", *(format_seconds(seconds) for seconds in times))
            yield table


def format_metric(name: str, value: float | None) -> str:
    """Returns a metric with its unit: ``12,345 s (3 h 25 min)``, ``71.2 %``; a dash where it has no meaning."""
    if value is None:
        return "–"
    unit = METRICS[name].unit
    if unit == SECONDS:
        return format_seconds(value)
    if unit == SHARE:
        return f"{100 * value:.2f} %"
    if unit == COUNT:
        return f"{value:,.0f}"
    return f"{value:,.4f}" if value < 1000 else f"{value:,.1f}"


def format_seconds(seconds: float) -> str:
    """Returns seconds, with the two largest units beside them from a minute on: ``12,345 s (3 h 25 min)``."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:,.2f} s".replace(".00 s", " s")
    largest = next(index for index, (_, size) in enumerate(UNITS_S) if whole >= size)
    (unit, size), (next_unit, next_size) = UNITS_S[largest : largest + 2]
    # Rounding to the smaller unit first keeps "60 min" out.
    parts = round(seconds / next_size)
    per = size // next_size
    text = f"{parts // per:,} {unit}" + (f" {parts % per} {next_unit}" if parts % per else "")
    return f"{whole:,} s ({text})"


def brief_seconds(seconds: float) -> str:
    """Returns a time in its largest unit, short enough for a column: ``8.35 h``."""
    unit, size = next((unit for unit in UNITS_S if abs(seconds) >= unit[1]), UNITS_S[-1])
    return f"{short(seconds / size)} {unit}"


def ledger_table(ledger: Ledger) -> Table:
    """Returns the repairs and stand-ins behind the result."""
    table = Table("repair or stand-in", title="ledger", title_justify="left")
    table.add_column("jobs", justify="right")
    table.add_column("first example")
    for entry in ledger.entries:
        table.add_row(escape(entry.rule), f"{entry.count:,}", escape(entry.example))
    return table


def rejection_table(schedule: Schedule) -> Table:
    """Returns the rejected jobs by reason, with the first of each."""
    from shunter.model.fitting import REASON_TITLES, first_rejection

    table = Table("rejected: can never fit", title="rejected jobs", title_justify="left")
    table.add_column("jobs", justify="right")
    table.add_column("first example")
    for reason, title in REASON_TITLES.items():
        jobs = int((schedule.rejected & (schedule.reject_reason == reason)).sum())
        if jobs:
            first = first_rejection(schedule, reason)
            where = "" if first.where is None else f"{first.where}: "
            table.add_row(title, f"{jobs:,}", escape(f"{where}{first.text}"))
    return table
