"""The tables of trainings with several seeds, of studies and of searches, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape

from shunter.comparison.roles import OTHERS
from shunter.metrics.labels import counted
from shunter.report.tables import print_fitted, print_line, titled_table
from shunter.report.terminal import Console
from shunter.studies.runs import HELD_AGAINST

if TYPE_CHECKING:
    from rich.table import Table

    from shunter.studies.aggregates import Estimate
    from shunter.studies.runs import Ratio
    from shunter.studies.seeds import SeedsReport

OVER_SEEDS = (
    "The interval over seeds tells what other seeds could have given on the same days, not what other days would."
)


def with_interval(value: float, interval: tuple[float, float] | None, digits: int = 3) -> str:
    """Returns a number and its 95 % interval: ``0.931 [0.902, 0.960]``."""
    text = f"{value:.{digits}f}"
    # Markup would take the brackets for a style.
    return text if interval is None else escape(f"{text} [{interval[0]:.{digits}f}, {interval[1]:.{digits}f}]")


def ratio_text(ratio: Ratio | None) -> str:
    """Returns a ratio with its interval; a dash where there is none."""
    return "–" if ratio is None else with_interval(ratio.ratio, ratio.interval)


def estimate_text(estimate: Estimate | None, digits: int = 3) -> str:
    """Returns an estimate with its interval; a dash where there is none."""
    return "–" if estimate is None else with_interval(estimate.value, estimate.interval, digits)


def print_seeds(report: SeedsReport) -> None:
    """Prints what a training came to with each seed, and over all of them."""
    console = Console()
    objective = report.to_json()["objective"] or "the metric"
    print_fitted(console, lambda most: _seeds_table(report, f"{objective} on later days; below 1 is better"))
    for seed, record in report.failed.items():
        print_line(console, f"seed {seed} failed: {record.error}")
    for note in report.notes:
        print_line(console, note)
    ended = len(report.records) - len(report.failed)
    print_line(console, f"{counted(ended, 'seed')} of {len(report.records)} ended. {OVER_SEEDS}")
    print_line(console, f"written: {report.folder}; learning curves: shunter plot {report.folder}")


def _seeds_table(report: SeedsReport, title: str) -> Table:
    table = titled_table(title, "seed")
    table.add_column("best at\nstep", justify="right", no_wrap=True)
    for role in HELD_AGAINST:
        words = OTHERS[role].replace("the classic chosen on training days", "the classic\nchosen on training days")
        table.add_column(escape(f"to {words}\n[95 %]"), justify="right", no_wrap=True)
    for seed, record in report.records.items():
        if record.result is None:
            table.add_row(str(seed), "failed", *("–" for _ in HELD_AGAINST))
        else:
            best = f"{record.result['outcome']['best_steps'] or 0:,}"
            table.add_row(str(seed), best, *(ratio_text(record.ratio(role)) for role in HELD_AGAINST))
    table.add_section()
    over = [estimate_text(report.over_seeds(role)) for role in HELD_AGAINST]
    table.add_row("over seeds", "", *over)
    return table
