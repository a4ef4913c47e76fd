"""A calibration on a page, from the object that ``calibration.json`` holds and the waits of each job beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shunter.metrics.calibration_verdict import Verdict
from shunter.metrics.labels import percent, short
from shunter.report.page import charts
from shunter.report.page.parts import (
    BAD,
    GOOD,
    NOTE,
    PLAIN,
    Beside,
    Chart,
    Fact,
    Part,
    Prose,
    Section,
    Summary,
    Table,
    Toned,
)
from shunter.report.page.words import ledger_table, times

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

TONES: Final = {Verdict.EXPLAINS.word: GOOD, Verdict.ROUGHLY.word: NOTE}
"""By the result of a check; any other speaks against the simulation."""
LOGGED, SIMULATED = "@c1", "@c0"
CELLS: Final = 48
"""Of the figure of all jobs, along each axis."""
QUANTILES: Final = 201


def calibration_summary(result: Mapping[str, Any]) -> Summary:
    """Returns whether a simulation explains the waits of its log, and what to do if it does not.

    Args:
        result: What ``shunter calibrate --json`` prints.
    """
    logged, simulated = result["logged"], result["simulated"]
    explains = result["verdict"] == Verdict.EXPLAINS.words
    facts = (
        Fact("mean wait, logged", times(logged["mean_wait_s"]), f"longest {times(logged['max_wait_s'])}"),
        Fact(
            "mean wait, simulated",
            times(simulated["mean_wait_s"]),
            f"longest {times(simulated['max_wait_s'])}",
        ),
        Fact(
            "rank correlation",
            _number(result["agreement"]["rank_correlation"]),
            "of the waits; 1: the same jobs wait longest",
        ),
        Fact("jobs compared", f"{result['compared']:,}", f"{result['without_logged_wait']:,} without a logged wait"),
    )
    about = f"{result['workload']} on {result['cluster']}"
    headline = f"Simulating {result['policy']}/{result['dispatch']} {result['verdict']}: {about}."
    sentences = (f"{str(result['because'])[:1].upper()}{str(result['because'])[1:]}.",)
    steps = () if explains else tuple(Prose(str(hint)) for hint in result["hints"])
    return Summary(headline, sentences, facts, steps, GOOD if explains else BAD)


def calibration_sections(result: Mapping[str, Any], waits: pl.DataFrame | None = None) -> tuple[Section, ...]:
    """Returns the section on whether a simulation is believable.

    Args:
        result: What ``shunter calibrate --json`` prints and ``calibration.json`` holds.
        waits: The waits of each job, as ``waits.parquet`` has them; None: they are not at hand.
    """
    lead = (
        f"{result['policy']}/{result['dispatch']} was simulated on {result['cluster']}, its waits held against those "
        f"of the log: it {result['verdict']}."
    )
    charts_of_jobs: tuple[Part, ...] = ()
    if waits is not None and len(waits):
        logged_s, simulated_s = (
            np.asarray(waits[name], dtype=np.float64) for name in ("logged_wait_s", "simulated_wait_s")
        )
        charts_of_jobs = (Beside((_distribution(logged_s, simulated_s), _each_job(logged_s, simulated_s))),)
    unit = str(result.get("sizes_of", "cores"))
    groups = tuple(
        _groups_chart(result[key], title, what)
        for key, title, what in (
            (f"by_{unit}", f"{unit} of the job", "by size"),
            ("by_hour", f"hour of the submit ({result['hours_of']})", "by the hour"),
        )
        if result.get(key)
    )
    hints = tuple(Prose(str(hint), NOTE) for hint in result["hints"])
    parts = (_checks(result["checks"]), *hints, *charts_of_jobs, Beside(groups), _sides(result))
    ledger = (ledger_table(result["ledger"]),) if result.get("ledger") else ()
    return (Section("believability", "Is it believable?", lead, (*parts, *ledger)),)


def _checks(checks: Sequence[Mapping[str, Any]]) -> Table:
    rows = tuple(
        (
            str(one["check"]),
            _number(one["value"]),
            str(one["explains"]),
            str(one["roughly"]),
            Toned(str(one["result"] or "–"), TONES.get(one["result"], BAD if one["result"] else PLAIN)),
        )
        for one in checks
    )
    return Table(("check", "value", "explains", "roughly", "result"), rows, "The worst of these decides", right=(1,))


def _number(value: float | None) -> str:
    return "–" if value is None else short(value)


def _sides(result: Mapping[str, Any]) -> Table:
    logged, simulated = result["logged"], result["simulated"]
    waits = (
        ("mean_wait_s", "mean wait"),
        ("median_wait_s", "median wait"),
        ("p95_wait_s", "95 % of the waits are below"),
        ("max_wait_s", "longest wait"),
    )
    unit = str(result.get("sizes_of", "cores"))
    shares = (
        ("waited_share", "jobs that waited more than a minute"),
        ("room_share", f"of these, with enough {unit} free at their submit"),
        (f"{unit.removesuffix('s')}_utilization", f"{unit} in use, first to last submit"),
    )
    rows = [(words, times(logged[name]), times(simulated[name])) for name, words in waits]
    rows += [(words, percent(logged.get(name), 1), percent(simulated.get(name), 1)) for name, words in shares]
    return Table(("", "logged", "simulated"), tuple(rows), "Both sides", right=(1, 2))


def _groups_chart(groups: Sequence[Mapping[str, Any]], title: str, what: str) -> Chart:
    labels = [str(one["label"]) for one in groups]
    traces = [
        charts.bars(name, labels, [None if one[key] is None else one[key] / 3600 for one in groups], color)
        for name, key, color in (
            ("logged", "logged_mean_wait_s", LOGGED),
            ("simulated", "simulated_mean_wait_s", SIMULATED),
        )
    ]
    drawn = charts.figure(traces, charts.axis(title, type="category"), "mean wait [h]", 320, bargap=0.25)
    return Chart(
        drawn,
        f"Mean waits {what}, logged and simulated.",
        f"Mean waits {what}, logged beside simulated, in {len(groups)} groups.",
    )


def _distribution(logged_s: NDArray[np.float64], simulated_s: NDArray[np.float64]) -> Chart:
    share = np.linspace(0, 100, QUANTILES)
    traces = [
        charts.line(name, np.maximum(np.quantile(wait_s, share / 100), 1.0), share, color)
        for name, wait_s, color in (("logged", logged_s, LOGGED), ("simulated", simulated_s, SIMULATED))
    ]
    longest_s = float(max(logged_s.max(), simulated_s.max()))
    drawn = charts.figure(
        traces, charts.log_time_axis("wait (below 1 s: 1 s)", longest_s), "jobs that wait no longer [%]", 340
    )
    medians = [times(float(np.median(wait_s))) for wait_s in (logged_s, simulated_s)]
    alt = f"Median wait {medians[0]} logged, {medians[1]} simulated."
    return Chart(
        drawn,
        "How long jobs wait: where the lines lie on each other, the simulation is right about how many wait how long.",
        alt,
    )


def _each_job(logged_s: NDArray[np.float64], simulated_s: NDArray[np.float64]) -> Chart:
    longest_s = float(max(logged_s.max(), simulated_s.max()))
    high = float(np.log10(1.6 * max(longest_s, 60.0)))
    edges = np.linspace(0.0, high, CELLS + 1)
    counts, _, _ = np.histogram2d(
        np.log10(np.maximum(simulated_s, 1.0)), np.log10(np.maximum(logged_s, 1.0)), bins=(edges, edges)
    )
    middle = 10 ** ((edges[1:] + edges[:-1]) / 2)
    shown = np.where(counts > 0, np.log10(np.maximum(counts, 1.0)), np.nan)
    most = int(np.log10(max(counts.max(), 1.0)))
    ticks = {"tickvals": list(range(most + 1)), "ticktext": [f"{10**power:,}" for power in range(most + 1)]}
    grid = charts.heat(middle, middle, list(shown), "jobs", hoverinfo="skip")
    grid["colorbar"] |= ticks
    same = charts.line(
        "the same", [1.0, 10**high], [1.0, 10**high], charts.QUIET, style="dash", width=1.2, hoverinfo="skip"
    )
    axes = (charts.log_time_axis("logged wait", longest_s), charts.log_time_axis("simulated wait", longest_s))
    drawn = charts.figure([grid, same], *axes, 340, showlegend=False)
    near = float(np.mean(np.abs(logged_s - simulated_s) <= np.maximum(60.0, 0.1 * logged_s)))
    caption = "Each job: on the dashed line it waits as long in the simulation as in the log."
    return Chart(drawn, caption, f"{percent(near)} of the jobs wait as long as logged, to a minute or a tenth.")
