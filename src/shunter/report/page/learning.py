"""Trainings, tuning and studies on a page: how learning went, and what it came to on days that it has not seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from shunter.agents.training.curves import IS_BEST, Curves
from shunter.comparison.roles import BASELINE, BEST, CHOSEN, LEARNED, ROLES, TUNED
from shunter.metrics.labels import counted, percent
from shunter.metrics.table import higher_is_better
from shunter.report.learning_columns import PANELS, RATIO
from shunter.report.page import charts
from shunter.report.page.comparisons import findings_table
from shunter.report.page.parts import NOTE, PLAIN, Beside, Chart, Details, Fact, Part, Prose, Section, Summary, Table
from shunter.report.page.words import (
    capitalized,
    comparison_words,
    interval,
    ledger_table,
    metric_value,
    metric_words,
    next_steps,
    ratio_cell,
    times,
    tone_of,
)

POINTS: Final = 400
"""So many points of a curve are drawn."""
AGAINST: Final = (CHOSEN, BASELINE, BEST)
"""What a result is held against first, where it is there."""


def training_summary(name: str, result: Mapping[str, Any]) -> Summary:
    """Returns what a training came to.

    Args:
        name: Of its folder.
        result: What ``result.json`` holds; empty while the training runs.
    """
    if not result:
        return Summary(f"{name} has not ended: the curves show how far it is.")
    outcome, parts = result["outcome"], result["parts"]
    report = next((part for part in reversed(parts) if part["logs"]), None)
    facts: list[Fact] = []
    headline, tone = f"{name} was trained for {outcome['steps']:,} steps.", PLAIN
    if report is not None:
        log = report["logs"][0]
        learned = next(row for row in log["rows"] if row["role"] == LEARNED)
        role = next((role for role in AGAINST if role in learned["against"]), LEARNED)
        found, metric = learned["against"][role], str(report["metric"])
        tone = tone_of(found["ratio_low"], found["ratio_high"], higher_is_better(metric))
        other = next((row["label"] for row in log["rows"] if row["role"] == role), role)
        words = comparison_words(found, higher_is_better(metric))
        headline = f"What {name} has learned {words} {other} on later days of {log['name']}."
        facts = [
            Fact(
                f"{metric_words(metric)}, against {other}",
                metric_value("", found["ratio"]),
                interval(found["ratio_low"], found["ratio_high"]),
                tone,
            ),
            Fact("mean wait", times(learned["mean_wait_s"]), f"{other}: {times(_row(log, role).get('mean_wait_s'))}"),
            Fact("longest wait", times(learned["max_wait_s"]), f"{other}: {times(_row(log, role).get('max_wait_s'))}"),
            Fact(
                "steps",
                f"{outcome['steps']:,}",
                f"in {times(outcome['elapsed_s'])}; the best after {outcome['best_steps']:,}",
            ),
        ]
    steps = tuple(part for text in result.get("next_steps", ()) for part in next_steps(str(text)))
    return Summary(headline, tuple(str(note) for note in result.get("notes", ())), tuple(facts), steps, tone)


def _row(log: Mapping[str, Any], role: str) -> Mapping[str, Any]:
    return next((row for row in log["rows"] if row["role"] == role), {})


def tuning_summary(result: Mapping[str, Any]) -> Summary:
    """Returns what a tuning came to on later days of its first log.

    Args:
        result: What ``shunter tune --json`` prints.
    """
    log, metric = result["logs"][0], str(result["objective"])
    tuned, chosen = _row(log, TUNED), _row(log, CHOSEN)
    found = tuned["against"][CHOSEN]
    words = comparison_words(found, higher_is_better(metric))
    facts = [
        Fact(f"{metric_words(metric)}, ratio to {chosen['label']}", metric_value("", found["ratio"]), _ends(found)),
        *(
            Fact(title, times(tuned[key]), f"{chosen['label']}: {times(chosen[key])}")
            for key, title in (("mean_wait_s", "mean wait"), ("max_wait_s", "longest wait"))
        ),
        Fact("simulations", f"{result['training']['simulations']:,}", "of windows of training days"),
    ]
    steps = tuple(part for text in result["next_steps"] for part in next_steps(str(text)))
    headline = f"{tuned['label']} {words} {chosen['label']} on later days of {log['workload']}."
    return Summary(headline, (), tuple(facts), steps)


def _ends(found: Mapping[str, Any]) -> str:
    return "identical" if found.get("identical") else interval(found["ratio_low"], found["ratio_high"])


def learning_sections(curves: Sequence[Curves]) -> tuple[Section, ...]:
    """Returns how trainings went: validation against the classic, and what tells of trouble."""
    if not curves:
        return ()
    lead = "Validation measures each policy on days that training does not see; below 1 it is better than the classic."
    panels = [_curve_chart(curves, column, title) for column, title, _ in PANELS]
    known = tuple(panel for panel in panels if panel is not None)
    main = _validation_chart(curves)
    parts: tuple[Part, ...] = (main, *((Beside(known),) if known else ()))
    return (Section("learning", "Learning curves", lead, parts),)


def _validation_chart(curves: Sequence[Curves]) -> Part:
    traces: list[dict[str, Any]] = []
    bests = []
    for run, color in zip(curves, charts.colors(len(curves)), strict=True):
        steps, ratio = run.of(RATIO)
        if not len(steps):
            continue
        traces += _band(run, RATIO, color)
        traces.append(charts.line(charts.chart_text(run.name), steps, ratio, color, mode="lines+markers"))
        last = run.where(IS_BEST)[-1:]
        for step, value in zip(steps, ratio, strict=True):
            if step in last:
                bests.append(f"{run.name}: {value:.3f} after {step:,.0f} steps")
                traces.append(charts.points("best", [step], [value], color, size=13, showlegend=False))
    if not traces:
        return Prose("Nothing was validated yet.", NOTE)
    drawn = charts.figure(traces, "steps", "ratio to the classic", 380, shapes=[charts.horizontal_line(1.0)])
    caption = "The metric in validation as a ratio to the classic chosen on training days (dashed line)."
    return Chart(drawn, f"{caption} Best: {'; '.join(bests)}." if bests else caption, "; ".join(bests) or caption)


def _band(run: Curves, column: str, color: str) -> list[dict[str, Any]]:
    """Returns from the least to the largest of all seeds; nothing for one run."""
    if not run.seeds or not len(run.of(column)[0]):
        return []
    steps, low, high = run.range_of(column)
    edge: dict[str, Any] = {"width": 0, "showlegend": False, "hoverinfo": "skip"}
    lower = charts.line("least", steps, low, color, **edge)
    upper = charts.line("largest", steps, high, color, fill="tonexty", fillcolor=f"{color}/0.18", **edge)
    return [lower, upper]


def _curve_chart(curves: Sequence[Curves], column: str, title: str) -> Chart | None:
    traces: list[dict[str, Any]] = []
    for run, color in zip(curves, charts.colors(len(curves)), strict=True):
        steps, values = run.of(column)
        if len(steps):
            kept = list(charts.thinned(len(steps), POINTS))
            traces += _band(run, column, color)
            traces.append(charts.line(charts.chart_text(run.name), steps[kept], values[kept], color))
    if not traces:
        return None
    drawn = charts.figure(traces, "steps", "", 250)
    return Chart(drawn, title[0].upper() + title[1:], f"{title} over the steps of training.")


def standings_sections(result: Mapping[str, Any]) -> tuple[Section, ...]:
    """Returns what a training or a tuning came to, part by part and log by log.

    Args:
        result: What ``result.json`` of a training holds, or what ``shunter tune --json`` prints.
    """
    parts: list[Part] = []
    for part in result.get("parts") or [_tuned_part(result)]:
        for log in part["logs"]:
            parts += _standings(part, log)
        if part.get("verdict"):
            parts.append(Details(f"Every finding in words ({part['part']})", (findings_table(part["verdict"]),)))
    ledgers = result.get("ledgers") or [
        {"log": log.get("workload"), "ledger": log.get("ledger")} for log in result.get("logs", ())
    ]
    for one in ledgers:
        if one["ledger"]:
            parts.append(ledger_table(one["ledger"], f"Repairs and stand-ins in {one['log']}"))
    lead = "On later days, which neither learning nor choosing has seen, and on validation days."
    return (Section("standings", "What it came to", lead, tuple(parts)),)


def _tuned_part(result: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "part": "later days",
        "metric": result["objective"],
        "logs": result["logs"],
        "verdict": result.get("verdict"),
    }


def _standings(part: Mapping[str, Any], log: Mapping[str, Any]) -> Iterator[Part]:
    metric, rows = str(part["metric"]), log["rows"]
    judged = next((row for row in rows if row["role"] in (LEARNED, TUNED)), rows[0])
    higher = higher_is_better(metric)
    cells = tuple(
        (
            str(row["label"]),
            ROLES.get(str(row["role"]), str(row["role"])),
            metric_value(metric, row["geometric_mean"]),
            ratio_cell(judged["against"].get(row["role"]) or {}, higher) if row is not judged else "–",
            times(row["mean_wait_s"]),
            times(row["max_wait_s"]),
            percent(row.get("core_utilization")),
        )
        for row in rows
    )
    name = log.get("name") or log.get("workload")
    where = (
        f"{name}, {part['part']}: {counted(int(log['windows']), 'window')} in {counted(int(log['blocks']), 'block')}"
    )
    columns = (
        "",
        "role",
        f"{metric_words(metric)}",
        f"{judged['label']} to it [95 %]",
        "mean wait",
        "longest wait",
        "cores in use",
    )
    yield Table(columns, cells, where, right=(2, 3, 4, 5, 6))
    if log.get("interval_note"):
        yield Prose(f"{capitalized(str(log['interval_note']))}.", NOTE)


def seeds_sections(result: Mapping[str, Any]) -> tuple[Section, ...]:
    """Returns what each of several seeds came to, and all of them together.

    Args:
        result: What ``seeds.json`` holds.
    """
    rows = tuple((f"seed {one['seed']}", *_run_cells(one)) for one in result["seeds"])
    over = [
        Prose(f"Against {ROLES.get(role, role)}, over all seeds: ratio {_ratio(one)}.")
        for role, one in result["over_seeds"].items()
        if one
    ]
    table = Table(("", *RUN_COLUMNS), rows, "Each seed on later days", right=(2, 3))
    notes = tuple(Prose(str(note), NOTE) for note in result.get("notes", ()))
    lead = "Other seeds tell what chance in learning makes of the same days; they tell nothing of other days."
    return (Section("seeds", "Seeds", lead, (*over, table, *notes)),)


def study_sections(result: Mapping[str, Any]) -> tuple[Section, ...]:
    """Returns what a study came to.

    Args:
        result: What ``study.json`` holds.
    """
    rows = tuple(
        (
            str(row["variant"]),
            str(row["log"]),
            f"{row['done']} of {row['runs']}",
            *(_ratio(row["ratio"].get(role)) for role in _roles(result)),
        )
        for row in result["rows"]
    )
    heads = tuple(f"ratio to {ROLES.get(role, role)} [95 %]" for role in _roles(result))
    table = Table(
        ("variant", "log", "runs done", *heads), rows, "Variants on each log", right=tuple(range(3, 3 + len(heads)))
    )
    runs = tuple((f"{one['variant']}, {one['log']}, seed {one['seed']}", *_run_cells(one)) for one in result["runs"])
    every = Details("Every run", (Table(("run", *RUN_COLUMNS), runs, "Every run", right=(2, 3)),))
    notes = tuple(Prose(str(note), NOTE) for note in result.get("notes", ()))
    lead = (
        f"{counted(len(result['rows']), 'pair')} of variant and log, with {counted(len(result['seeds']), 'seed')} each."
    )
    return (Section("study", "Variants", lead, (*_study_chart(result), table, *notes, every)),)


def _study_chart(result: Mapping[str, Any]) -> tuple[Chart, ...]:
    rows = [row for row in result["rows"] if (row["ratio"].get(CHOSEN) or {}).get("value") is not None]
    if not rows:
        return ()
    names = [charts.chart_text(f"{row['variant']}, {row['log']}", 40) for row in rows]
    value, low, high = ([row["ratio"][CHOSEN][key] for row in rows] for key in ("value", "low", "high"))
    ends = charts.error_bars(value, low, high) | {"color": "@c0"}
    trace = charts.points("ratio", value, names, "@c0", size=10, error_x=ends)
    axis = {"autorange": "reversed", "type": "category", "title": {"text": ""}}
    lines = [charts.vertical_line(1.0)]
    drawn = charts.figure(
        [trace], "ratio to the classic chosen on training days", axis, 130 + 26 * len(rows), shapes=lines
    )
    caption = (
        "Each variant on each log, over its seeds, with 95 % intervals; left of the line is better than the classic."
    )
    return (Chart(drawn, caption, f"{caption} The best: {min(value):.3f}."),)


def _roles(result: Mapping[str, Any]) -> list[str]:
    return list(dict.fromkeys(role for row in result["rows"] for role in row["ratio"]))


def _ratio(one: Mapping[str, Any] | None) -> str:
    return "–" if one is None else f"{metric_value('', one['value'])} ({interval(one['low'], one['high'])})"


RUN_COLUMNS: Final = ("state", "ratio to the classic", "steps", "classic")


def _run_cells(one: Mapping[str, Any]) -> tuple[str, str, str, str]:
    against, outcome = one.get("against") or {}, one.get("outcome") or {}
    steps = f"{outcome['steps']:,}" if outcome.get("steps") is not None else "–"
    state = f"{one['status']}: {one['error']}" if one.get("error") else str(one["status"])
    return (
        state,
        metric_value("", (against.get(CHOSEN) or {}).get("ratio")),
        steps,
        ", ".join(one.get("chosen") or ()) or "–",
    )
