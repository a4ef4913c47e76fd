"""The tables of trainings with several seeds, of studies and of searches, for people."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.markup import escape

from shunter.comparison.roles import OTHERS
from shunter.metrics.labels import counted, short
from shunter.report.tables import folded, print_fitted, print_line, titled_table
from shunter.report.terminal import Console
from shunter.studies.aggregates import LEAST_SEEDS
from shunter.studies.runs import DONE, FAILED, HELD_AGAINST, MISSING
from shunter.studies.search import BEST_FILE

if TYPE_CHECKING:
    from rich.table import Table

    from shunter.studies.aggregates import Estimate
    from shunter.studies.runs import Ratio
    from shunter.studies.search import Search, Trial
    from shunter.studies.seeds import SeedsReport
    from shunter.studies.study import StudyReport

FEW_SEEDS = f"With fewer than {LEAST_SEEDS} seeds there is no interval over seeds."
OVER_SEEDS = "Intervals over seeds tell what other seeds could have given on the same days, and nothing of other days."


def with_interval(value: float, interval: tuple[float, float] | None, digits: int = 3) -> str:
    """Returns a number and its 95 % interval: ``0.931 [0.902, 0.960]``."""
    text, *bounds = (f"{one:.{digits}f}" if abs(one) < 10 else short(one) for one in (value, *(interval or ())))
    # Markup would take the brackets for a style.
    return escape(f"{text} [{', '.join(bounds)}]") if bounds else text


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
    words = FEW_SEEDS if ended < LEAST_SEEDS else OVER_SEEDS
    print_line(console, f"{counted(ended, 'seed')} of {len(report.records)} ended. {words}")
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


def print_study(report: StudyReport) -> None:
    """Prints how a study stands: each variant on each log, all logs together, and the search."""
    console = Console()
    study, json = report.study, report.to_json()
    if report.search is not None:
        print_search(console, report.search)
    objective = ", ".join(report.objectives) or "the metric"
    title = f"{study.name}: {objective} on later days to {OTHERS[HELD_AGAINST[0]]}"
    print_fitted(console, lambda most: _study_table(report, title, most))
    print_fitted(console, lambda most: _aggregates_table(report, most))
    for cell, record in report.runs:
        if record.status == FAILED:
            print_line(console, f"{record.task.name} failed: {record.error}")
            print_line(console, f"  {cell.task.folder}")
    for note in json["notes"]:
        print_line(console, note)
    counts = [sum(one.status == status for _, one in report.runs) for status in (DONE, FAILED, MISSING)]
    missing = f", {counts[2]} yet to be done" if counts[2] else ""
    print_line(console, f"{counted(counts[0], 'run')} of {len(report.runs)} done, {counts[1]} failed{missing}.")
    print_line(console, FEW_SEEDS if len(study.seeds) < LEAST_SEEDS else OVER_SEEDS)
    print_line(console, f"folder: {study.out}")


def _study_table(report: StudyReport, title: str, most: int) -> Table:
    table = titled_table(title, "variant")
    for log in report.study.logs:
        table.add_column(escape(f"{folded(log, most)}\n[95 %]"), justify="right", no_wrap=True)
    table.add_column("seeds", justify="right", no_wrap=True)
    for variant in report.variants:
        own = [report.records(variant, log) for log in report.study.logs]
        done = [sum(one.status == DONE for one in records) for records in own]
        seeds = f"{min(done)}" if min(done) == max(done) else f"{min(done)}–{max(done)}"
        ratios = [estimate_text(report.ratio(variant, log, HELD_AGAINST[0])) for log in report.study.logs]
        table.add_row(escape(folded(variant, most)), *ratios, seeds)
    return table


def _aggregates_table(report: StudyReport, most: int) -> Table:
    table = titled_table("all logs and seeds together: interquartile mean", "variant")
    headings = ["to the\nclassic chosen\n[95 %]", "to the\nbeginning\n[95 %]"]
    for heading in (*headings, f"beats\n{folded(report.study.base, most)}\n[95 %]"):
        table.add_column(escape(heading), justify="right", no_wrap=True)
    for variant in report.variants:
        means = [estimate_text(report.aggregate(variant, role)) for role in HELD_AGAINST]
        chance = report.improvement(variant, HELD_AGAINST[0])
        table.add_row(escape(folded(variant, most)), *means, estimate_text(chance, 2))
    return table


def print_search(console: Console, search: Search) -> None:
    """Prints the trials of a search, the best first."""
    print_fitted(console, lambda most: _search_table(search))
    for trial in search.trials:
        if trial.error is not None:
            print_line(console, f"trial {trial.number} failed: {trial.error}")
    if search.best is not None:
        print_line(console, f"best: trial {search.best.number}, written to {BEST_FILE}; below it is called searched\n")
    else:
        print_line(console, "the search has no best trial yet\n")


def _search_table(search: Search) -> Table:
    title = f"search ({search.method}) from {search.base}: the metric on validation days to the chosen classic"
    table = titled_table(title, "trial")
    for count, steps in search.rungs:
        table.add_column(f"{steps:,} steps\n{counted(count, 'trial')}", justify="right", no_wrap=True)
    keys = [(section, key) for section, table_ in search.trials[0].settings.items() for key in table_]
    for section, key in keys:
        table.add_column(escape(f"{section}.\n{key}"), justify="right", no_wrap=True)
    for trial in search.trials:
        values = [_value_text(trial.settings[section][key]) for section, key in keys]
        table.add_row(str(trial.number), *_score_texts(trial, len(search.rungs)), *values)
    return table


def _score_texts(trial: Trial, rungs: int) -> list[str]:
    """Returns what each rung said of a trial: the ratio, and whether a bound was broken."""
    texts = []
    for score in trial.scores:
        text = "–" if score is None else f"{math.exp(score.objective):.3f}"
        texts.append(text + (" [red]breaks a bound[/]" if score is not None and score.broken > 0 else ""))
    return texts + [""] * (rungs - len(texts))


def _value_text(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else escape(str(value))
