"""A log on a page, from the plain object that `metrics.log_profile` makes of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from shunter.metrics.labels import counted, percent, short
from shunter.report.drawing import time_unit
from shunter.report.page import charts
from shunter.report.page.parts import NOTE, Beside, Chart, Part, Prose, Section, Table
from shunter.report.page.words import ledger_table, times

TIMES: Final = (
    ("requested_s", "requested time", "@c5", "solid"),
    ("logged_wait_s", "wait, as logged", "@c2", "dash"),
    ("run_s", "run time", "@c0", "solid"),
)
"""Columns of times, what they are called, and how they are drawn."""
WEEKDAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
HALF: Final = 320
"""The height of a figure that stands beside another, in pixels."""


def log_section(profile: Mapping[str, Any]) -> Section:
    """Returns the section on a log: when jobs come, how large and long they are, whose, and what the log leaves out.

    Args:
        profile: What `log_profile` returns.
    """
    about = profile["description"]
    parts: list[Part] = [
        _arrivals(profile),
        Beside((_week(profile), _times(profile))),
        Beside((_sizes(profile), _requests(profile))),
    ]
    if profile["owners"] is not None:
        parts.append(_owners(profile["owners"]))
    parts += _untold(about)
    return Section("log", "The log", _lead(about), tuple(parts))


def _lead(about: Mapping[str, Any]) -> str:
    unit, seconds = time_unit(about["span_s"])
    sentences = [f"{about['workload']}: {about['jobs']:,} jobs in {short(about['span_s'] / seconds)} {unit}"]
    if about["first_submit"] is not None:
        sentences.append(f"from {about['first_submit'][:10]} to {about['last_submit'][:10]}")
    if about["cluster"]:
        sentences.append(f"on {about['cluster']['name']} ({_machine(about['cluster'])})")
    load = about["offered_load"]
    return ", ".join(sentences) + (
        "." if load is None else f". They would keep {percent(load)} of it busy (offered load)."
    )


def _machine(cluster: Mapping[str, Any]) -> str:
    gpus = f", {cluster['gpus']:,} GPUs" if cluster["gpus"] else ""
    return f"{cluster['cores']:,.6g} cores{gpus}"


def _arrivals(profile: Mapping[str, Any]) -> Chart:
    about, arrivals = profile["description"], profile["arrivals"]
    x, axis = _time_axis(about, arrivals["edges_s"][:-1])
    traces = [charts.bars(f"jobs per {arrivals['bin']}", x, arrivals["jobs"], "@c0")]
    layout: dict[str, Any] = {}
    if profile["load"] is not None:
        load = profile["load"]
        places, _ = _time_axis(about, load["edges_s"][:-1])
        percents = [100 * value for value in load["load"]]
        line = charts.line(f"offered load by {load['bin']} [%]", places, percents, "@c1", yaxis="y2")
        line["line"]["shape"] = "hv"
        traces.append(line)
        top = max(110.0, 1.3 * float(np.quantile(load["load"], 0.98)) * 100)
        beside = {"overlaying": "y", "side": "right", "showgrid": False, "tickmode": "auto"}
        layout["yaxis2"] = charts.axis("offered load [%]", range=[0, top], **beside)
    drawn = charts.figure(traces, axis, f"jobs per {arrivals['bin']}", 340, bargap=0, **layout)
    busiest = max(arrivals["jobs"])
    caption = f"When jobs come. The busiest {arrivals['bin']} has {busiest:,}."
    return Chart(drawn, caption, f"Arrivals over time, up to {busiest:,} jobs per {arrivals['bin']}.")


def _time_axis(about: Mapping[str, Any], times_s: Sequence[float]) -> tuple[list[Any], dict[str, Any]]:
    """Returns times as an axis has them, and the axis: of dates where the log has some, otherwise from its begin."""
    values = np.asarray(times_s, dtype=np.float64)
    if about["first_submit"] is not None:
        # Whole milliseconds, which Plotly takes for dates.
        return [int(1000 * value) for value in values], charts.axis("", type="date")
    unit, seconds = time_unit(about["span_s"])
    return charts.plain((values - about["first_submit_s"]) / seconds), charts.axis(f"{unit} since the first arrival")


def _week(profile: Mapping[str, Any]) -> Chart:
    about = profile["description"]
    known = about["first_submit"] is not None
    rows = [profile["week"][24 * day : 24 * (day + 1)] for day in range(7)]
    names = WEEKDAYS if known else [f"day {number}" for number in range(1, 8)]
    grid = charts.heat(list(range(24)), names, rows, "jobs per hour")
    axes = charts.axis(f"hour of the day ({about['clock']})", dtick=3), {"autorange": "reversed", "title": {"text": ""}}
    means = [value for value in profile["week"] if value is not None]
    caption = f"Jobs per hour of the week, on average: up to {short(max(means))}."
    return Chart(charts.figure([grid], *axes, HALF), caption, caption)


def _times(profile: Mapping[str, Any]) -> Chart:
    told = [(name, words, color, style) for name, words, color, style in TIMES if name in profile["times"]]
    longest_s = max(profile["times"][name][-1] for name, *_ in told)
    traces = []
    for name, words, color, style in told:
        values = profile["times"][name]
        traces.append(charts.line(words, values, np.linspace(0, 100, len(values)), color, style=style))
    drawn = charts.figure(
        traces, charts.log_time_axis("time (below 1 s: 1 s)", longest_s), "jobs with no longer time [%]", HALF
    )
    medians = ", ".join(
        f"{words} {times(profile['times'][name][len(profile['times'][name]) // 2])}" for name, words, *_ in told
    )
    return Chart(drawn, f"How long jobs run, wait and ask for. Medians: {medians}.", f"Medians: {medians}.")


def _sizes(profile: Mapping[str, Any]) -> Chart:
    sizes, unit = profile["sizes"], "GPU" if profile["description"]["sizes_of"] == "gpus" else "core"
    traces = [
        charts.bars(words, sizes["names"], [100 * share for share in sizes[key]], color)
        for key, words, color in (("jobs", "of the jobs", "@c0"), ("work", f"of the {unit}-hours", "@c1"))
    ]
    axis = charts.axis(f"{unit}s of the job, from this number up to the next", type="category")
    drawn = charts.figure(traces, axis, "share [%]", HALF)
    largest = sizes["names"][int(np.argmax(sizes["work"]))]
    caption = f"How large jobs are: most {unit}-hours are of jobs with {largest} {unit}s or more, below the next class."
    return Chart(drawn, caption, f"Shares of jobs and of {unit}-hours by size.")


def _requests(profile: Mapping[str, Any]) -> Chart:
    requests = profile["requests"]
    if requests is None:
        return _run_times(profile)
    edges = np.asarray(requests["edges_s"])
    middle = np.sqrt(edges[1:] * edges[:-1])
    counts = np.asarray(requests["jobs"], dtype=np.float64)
    grid = charts.heat(
        middle, middle, list(np.where(counts > 0, np.log10(np.maximum(counts, 1)), np.nan)), "jobs", hoverinfo="skip"
    )
    most = int(np.log10(max(counts.max(), 1)))
    grid["colorbar"] |= {"tickvals": list(range(most + 1)), "ticktext": [f"{10**power:,}" for power in range(most + 1)]}
    same = charts.line(
        "used up", [1.0, edges[-1]], [1.0, edges[-1]], charts.QUIET, style="dash", width=1.2, hoverinfo="skip"
    )
    longest_s = float(edges[-1]) / 1.6
    axes = charts.log_time_axis("requested time", longest_s), charts.log_time_axis("run time", longest_s)
    share = profile["description"]["median_run_to_request"]
    used = "" if share is None else f" Half of the jobs use less than {percent(share)} of what they ask for."
    caption = f"Requests against run times; on the dashed line a request is used up.{used}"
    return Chart(charts.figure([grid, same], *axes, HALF, showlegend=False), caption, caption)


def _run_times(profile: Mapping[str, Any]) -> Chart:
    times, names = profile["run_s_by_size"], profile["sizes"]["names"]
    labels = [names[place] for place in times["size"]]
    traces = []
    for low, high, width, words in (("p5", "p95", 2, "5 to 95 %"), ("p25", "p75", 8, "25 to 75 %")):
        x = [value for label in labels for value in (label, label, None)]
        y = [
            value
            for ends in zip(times[low], times[high], strict=True)
            for value in (*(max(one, 1.0) for one in ends), None)
        ]
        traces.append(charts.line(words, x, y, "@c4", width=width))
    traces.append(charts.points("median", labels, [max(value, 1.0) for value in times["p50"]], "@c0"))
    unit = "GPU" if profile["description"]["sizes_of"] == "gpus" else "core"
    axes = charts.axis(f"{unit}s of the job", type="category"), charts.log_time_axis("run time", max(times["p95"]))
    caption = "Run times by size."
    return Chart(charts.figure(traces, *axes, HALF), caption, caption)


def _owners(owners: Mapping[str, Any]) -> Table:
    rows = tuple(
        (str(who), percent(jobs, 1), percent(work, 1))
        for who, jobs, work in zip(owners["who"], owners["jobs"], owners["work"], strict=True)
    )
    what = "Users with the most work" if owners["column"] == "user" else "Statuses (the log tells no users)"
    return Table((str(owners["column"]), "of the jobs", "of the work"), rows, what, right=(1, 2))


def _untold(about: Mapping[str, Any]) -> Iterator[Part]:
    if absent := about["absent"]:
        yield Prose(f"The log does not tell: {', '.join(absent)}.", NOTE)
    if beyond := about["beyond_request_jobs"]:
        yield Prose(f"{counted(beyond, 'job')} ran longer than requested.")
    if about["ledger"]:
        yield ledger_table(
            about["ledger"], "What was repaired in the log, and what stands in for what it does not tell"
        )
