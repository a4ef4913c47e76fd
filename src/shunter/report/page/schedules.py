"""Runs on a page: metrics, use of the machine, waits, and a Gantt chart of each, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from shunter.metrics.labels import counted
from shunter.metrics.sizes import GPUS
from shunter.report.page.gantt_data import MOST_JOBS, pack
from shunter.report.page.over_time import fragmentation_section, over_time_section
from shunter.report.page.parts import Details, Fact, Gantt, Part, Section, Summary, Table
from shunter.report.page.runs import ShownRun, named_apart
from shunter.report.page.waits import waits_section
from shunter.report.page.words import ledger_table, metric_value, metric_words, metrics_table

FACTS: Final = ("mean_bounded_slowdown", "mean_wait_s", "max_wait_s")


def runs_summary(runs: Sequence[ShownRun]) -> Summary:
    """Returns the main figures of one run, or of the first of several beside those of the others."""
    first, others = runs[0], runs[1:]
    metrics = first.result.get("metrics", {})
    use = "gpu_utilization" if first.resource is GPUS else "core_utilization"
    facts = tuple(
        Fact(metric_words(name), metric_value(name, metrics.get(name)), _beside(name, others))
        for name in (*FACTS, use)
        if metrics.get(name) is not None
    )
    jobs, where = f"{len(first.record):,} jobs of {first.workload}", first.record.cluster.label
    if others:
        headline = f"{counted(len(runs), 'run')} side by side: {jobs} under {', '.join(run.name for run in runs)}."
    else:
        wait = metric_value("mean_wait_s", metrics.get("mean_wait_s"))
        headline = f"Under {first.name}, {jobs} on {where} wait {wait} on average."
    sentences = [] if not others else [f"The figures are those of {first.name}; below them the same of the others."]
    for run in runs:
        left = [f"{run.result[name]:,} {words}" for name, words in _LEFT if run.result.get(name)]
        if left:
            sentences.append(f"{run.name}: {', '.join(left)}.")
    return Summary(headline, tuple(sentences), facts)


_LEFT: Final = (
    ("rejected", "jobs can never fit"),
    ("killed", "jobs were killed at their requested time"),
    ("failed", "jobs failed with their nodes"),
    ("unfinished", "jobs never ended"),
)
"""What became of jobs that did not simply run."""


def _beside(name: str, others: Sequence[ShownRun]) -> str:
    return "; ".join(f"{run.name}: {metric_value(name, run.result.get('metrics', {}).get(name))}" for run in others)


def schedule_sections(runs: Sequence[ShownRun]) -> tuple[Section, ...]:
    """Returns the sections of one run, or of several side by side; with a Gantt chart of each."""
    runs = named_apart(runs)
    every = (_metrics(runs), over_time_section(runs), waits_section(runs), fragmentation_section(runs), _gantts(runs))
    return tuple(section for section in every if section is not None)


def run_ledger(runs: Sequence[ShownRun]) -> Iterator[Part]:
    """Yields what was repaired and what stood in, once for runs that share it."""
    shared: dict[str, list[ShownRun]] = {}
    for run in runs:
        if run.result.get("ledger"):
            shared.setdefault(str(run.result["ledger"]), []).append(run)
    for group in shared.values():
        yield ledger_table(group[0].result["ledger"], f"Repairs and stand-ins ({', '.join(run.name for run in group)})")


def _metrics(runs: Sequence[ShownRun]) -> Section:
    table = metrics_table(
        {run.name: run.result.get("metrics", {}) for run in runs}, "Every metric (docs/metrics.md defines them)"
    )
    table = Table(table.columns, table.rows, table.caption, shown=9, right=table.right)
    return Section("metrics", "Metrics", "What the schedule is like, in figures.", (table, *run_ledger(runs)))


def _gantts(runs: Sequence[ShownRun]) -> Section:
    charts_of_runs = [_gantt(run) for run in runs]
    lead = "Every job: click it to see what it asked for, when it waited and ran, where, and why it waited."
    first, others = charts_of_runs[0], charts_of_runs[1:]
    return Section("gantt", "Jobs over time", lead, (first, *(Details(one.title, (one,)) for one in others)))


def _gantt(run: ShownRun) -> Gantt:
    unit = run.resource.unit
    nodes = len(run.record.cluster.nodes)
    rows = f"Rows are {unit}" + (f" of {nodes:,} nodes, one below the other." if nodes > 1 else ".")
    exact = (
        "Why a job waited is worked out for those that waited longest, as far as that is quick, and read off the "
        "schedule for the others; for any job, exactly: shunter explain FOLDER JOB."
    )
    limit = f" Of {len(run.record):,} jobs the first {MOST_JOBS:,} are drawn." if len(run.record) > MOST_JOBS else ""
    without = int((run.amount(run.resource) == 0).sum())
    left = f" {counted(without, 'job')} without {unit} have no bar." if without else ""
    return Gantt(f"Jobs under {run.name}", pack(run.record, run.origin_s), f"{rows} {exact}{limit}{left}")
