"""Waits on a page: how many jobs wait how long, and which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from shunter.metrics.labels import counted, wait_unit
from shunter.report.page import charts
from shunter.report.page.parts import NOTE, Beside, Chart, Part, Prose, Section, Table
from shunter.report.page.runs import MILLI, STYLES, ShownRun
from shunter.report.page.words import times

if TYPE_CHECKING:
    from numpy.typing import NDArray

TOP_USERS: Final = 12
HALF: Final = 330
QUANTILES: Final = 201
DAY_S: Final = 86_400
MOST_USERS: Final = 200
"""So many users have a row."""


def waits_section(runs: Sequence[ShownRun]) -> Section:
    """Returns who waits how long, by size, hour and user."""
    parts: list[Part] = [Beside((_wait_distribution(runs), _waits_by_size(runs)))]
    parts.append(Beside((_waits_by_hour(runs), _waits_by_user(runs))))
    return Section("waits", "Waits", "Who waits how long: from the submit to the first start.", tuple(parts))


def _wait_distribution(runs: Sequence[ShownRun]) -> Chart:
    traces, medians, longest_s = [], [], 60.0
    for place, (run, color) in enumerate(zip(runs, charts.colors(len(runs)), strict=True)):
        known_s = run.wait_s[np.isfinite(run.wait_s)]
        if not len(known_s):
            continue
        share = np.linspace(0, 1, QUANTILES)
        values = np.maximum(np.quantile(known_s, share), 1.0)
        longest_s = max(longest_s, float(values[-1]))
        median_s, most_s = float(np.median(known_s)), float(known_s.max())
        medians.append(f"{run.name}: half wait up to {times(median_s)}, one {times(most_s)}")
        traces.append(
            charts.line(charts.chart_text(run.name), values, 100 * share, color, style=STYLES[place % len(STYLES)])
        )
    drawn = charts.figure(
        traces, charts.log_time_axis("wait (below 1 s: 1 s)", longest_s), "jobs that wait no longer [%]", HALF
    )
    caption = f"How many jobs wait how long. {'; '.join(medians)}."
    return Chart(drawn, caption, caption)


def _group_means(
    runs: Sequence[ShownRun], classes: Sequence[NDArray[np.int64]], count: int
) -> list[NDArray[np.float64]]:
    """Returns the mean wait in seconds of each class, for each run; NaN where there is no job that started."""
    found = []
    for run, number in zip(runs, classes, strict=True):
        known = np.isfinite(run.wait_s)
        jobs = np.bincount(number[known], minlength=count)
        sums = np.bincount(number[known], weights=run.wait_s[known], minlength=count)
        found.append(np.divide(sums, jobs, out=np.full(count, np.nan), where=jobs > 0))
    return found


def _grouped_chart(
    runs: Sequence[ShownRun], means: Sequence[NDArray[np.float64]], labels: Sequence[str], title: str, caption: str
) -> Chart:
    filled = [place for place in range(len(labels)) if any(np.isfinite(one[place]) for one in means)]
    unit, seconds = wait_unit(
        [float(one[place]) for one in means for place in filled if np.isfinite(one[place])] or [0.0]
    )
    traces = [
        charts.bars(charts.chart_text(run.name), [labels[place] for place in filled], mean[filled] / seconds, color)
        for run, mean, color in zip(runs, means, charts.colors(len(runs)), strict=True)
    ]
    drawn = charts.figure(traces, charts.axis(title, type="category"), f"mean wait [{unit}]", HALF)
    return Chart(drawn, caption, caption)


def _waits_by_size(runs: Sequence[ShownRun]) -> Chart:
    resource = runs[0].resource
    classes = [resource.classes(run.amount(resource)) for run in runs]
    count = 1 + max(int(one.max(initial=0)) for one in classes)
    means = _group_means(runs, classes, count)
    labels = [resource.label(number) for number in range(count)]
    return _grouped_chart(
        runs, means, labels, f"{resource.unit} of the job", f"Mean wait by the {resource.unit} of the job."
    )


def _waits_by_hour(runs: Sequence[ShownRun]) -> Chart:
    classes = [((run.record.submit_ms / MILLI) % DAY_S // 3600).astype(np.int64) for run in runs]
    labels = [str(hour) for hour in range(24)]
    meaning = "UTC" if runs[0].origin_s is not None else "as the log counts"
    return _grouped_chart(
        runs,
        _group_means(runs, classes, 24),
        labels,
        f"hour of the submit ({meaning})",
        "Mean wait by the hour of the submit.",
    )


def _waits_by_user(runs: Sequence[ShownRun]) -> Part:
    users = runs[0].record.rows["user"]
    if users.null_count() == len(users):
        return Prose("The log tells no users.", NOTE)
    frames = [
        pl.DataFrame({"user": run.record.rows["user"].cast(pl.String), "wait_s": run.wait_s})
        .drop_nulls()
        .filter(pl.col("wait_s").is_finite())
        for run in runs
    ]
    means = [
        frame.group_by("user").agg(pl.len().alias("jobs"), pl.col("wait_s").mean(), longest_s=pl.col("wait_s").max())
        for frame in frames
    ]
    first = means[0].sort(["jobs", "user"], descending=[True, False])
    by_user = [{row["user"]: row for row in mean.iter_rows(named=True)} for mean in means]
    rows = tuple(
        (user, by_user[0][user]["jobs"], *(cell for waits in by_user for cell in _user_cells(waits.get(user))))
        for user in first["user"].to_list()
    )
    heads = [
        f"{words}{f' ({run.name})' if len(runs) > 1 else ''}" for run in runs for words in ("mean wait", "longest")
    ]
    table = Table(
        ("user", "jobs", *heads),
        rows[:MOST_USERS],
        f"Waits by user, those with the most jobs first ({counted(len(rows), 'user')})",
        shown=TOP_USERS,
        right=tuple(range(1, 2 + 2 * len(runs))),
    )
    return table


def _user_cells(row: Mapping[str, Any] | None) -> tuple[str, str]:
    return ("–", "–") if row is None else (times(row["wait_s"]), times(row["longest_s"]))
