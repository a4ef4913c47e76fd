"""The tables of ``shunter trace estimate``, for people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from shunter.metrics.forecasts import FITTED
from shunter.metrics.labels import percent
from shunter.model.schedule import BASES, count_bases
from shunter.report.comparison_tables import short
from shunter.report.tables import ledger_table
from shunter.report.what_if_tables import brief

if TYPE_CHECKING:
    from shunter.metrics.estimate_errors import Quality
    from shunter.metrics.forecasts import Forecast, Trial


def print_trial(trial: Trial, written: Sequence[Path]) -> None:
    """Prints what each estimate rests on, how good it is, and how far the fitted posterior can be taken at its word."""
    console = Console()
    console.print(_title(trial), soft_wrap=True, highlight=False)
    for note in trial.notes:
        console.print(f"– {note}", markup=False, highlight=False)
    console.print(basis_table(trial.forecasts))
    if any(forecast.quality for forecast in trial.forecasts):
        console.print(quality_table(trial.forecasts))
    if trial.forecasts[-1].quality:
        console.print(calibration_table(trial.forecasts[-1].quality))
    if trial.workload.ledger:
        console.print(ledger_table(trial.workload.ledger))
    for path in written:
        console.print(f"written: {path}", markup=False, highlight=False, soft_wrap=True)


def _title(trial: Trial) -> str:
    return (
        f"[bold]{escape(trial.workload.name)}[/bold]\n"
        f"'{FITTED}' is the posterior with a prior fitted on the first {trial.training_jobs:,} jobs\n"
        f"all figures are over the {trial.later_jobs:,} jobs after them, as estimated at their submit times"
    )


def quality_table(forecasts: Sequence[Forecast]) -> Table:
    """Returns the errors of each estimate, and how often it puts two jobs in the wrong order."""
    table = _table("error: ln(estimate / run time); 0.69 is a factor of 2")
    headings = ("jobs", "mean\n|err|", "RMS\nerror", "bias", "in x2", "over", "under", "wrong\norder")
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for forecast in forecasts:
        quality = forecast.quality
        if quality is None:
            table.add_row(escape(forecast.name), "0", *["–"] * (len(headings) - 1))
            continue
        table.add_row(
            escape(forecast.name),
            f"{quality.jobs:,}",
            short(quality.mean_absolute_log_error),
            short(quality.root_mean_square_log_error),
            f"{quality.log_bias:+.2f}".replace("-", "−"),
            percent(quality.within_factor_two_share),
            percent(quality.over_share),
            percent(quality.under_share),
            percent(quality.wrong_order_rate, 1),
        )
    return table


def basis_table(forecasts: Sequence[Forecast]) -> Table:
    """Returns for how many jobs each estimate rested on what; a stand-in is in no other figure."""
    counts = [count_bases(forecast.basis) for forecast in forecasts]
    bases = [basis for basis in BASES if any(basis in count for count in counts)]
    table = _table("jobs estimated from")
    for basis in bases:
        table.add_column(basis, justify="right")
    for forecast, count in zip(forecasts, counts, strict=True):
        table.add_row(escape(forecast.name), *(f"{count[basis]:,}" if basis in count else "–" for basis in bases))
    return table


def calibration_table(quality: Quality) -> Table:
    """Returns what became of the jobs of each tenth of the estimates."""
    table = Table(title=f"run times by the estimate '{FITTED}', and their ratios to it", title_justify="left")
    headings = (
        "estimate\nup to",
        "jobs",
        "median\nrun",
        "mean\nrun",
        "median\nratio",
        "mean\nratio",
        "balanced\nratio",
    )
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for decile in quality.deciles:
        table.add_row(
            brief("highest_estimate_s", decile.highest_estimate_s),
            f"{decile.jobs:,}",
            brief("median_run_s", decile.median_run_s),
            brief("mean_run_s", decile.mean_run_s),
            short(decile.median_ratio),
            short(decile.mean_ratio),
            short(decile.balanced_ratio),
        )
    return table


def _table(title: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("estimate", overflow="fold")
    return table
