"""A comparison or an evaluation on a page, from the object that ``--json`` prints and ``comparison.json`` holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from shunter.comparison.marks import MARKS
from shunter.comparison.report import BETTER, WORSE
from shunter.comparison.roles import ROLES
from shunter.metrics.calibration_verdict import Verdict
from shunter.metrics.labels import counted, percent, short, wait_unit
from shunter.metrics.table import METRICS
from shunter.report.drawing import time_unit
from shunter.report.page import charts
from shunter.report.page.parts import (
    BAD,
    GOOD,
    NOTE,
    PLAIN,
    Cell,
    Chart,
    Details,
    Fact,
    Part,
    Prose,
    Section,
    Summary,
    Table,
    Toned,
)
from shunter.report.page.words import (
    capitalized,
    comparison_words,
    interval,
    ledger_table,
    metric_title,
    metric_value,
    metric_words,
    next_steps,
    ratio_cell,
    times,
    tone_of,
)

Row = Mapping[str, Any]

DRAWN: Final = 16
"""So many contenders are in the figure of ratios, besides the baseline."""
NAMED_POINTS: Final = 4
"""So many of the best have their names beside their points."""
LINES: Final = 4
"""So many of the best have a line of waits by size, besides the baseline."""
ROW_HEIGHT, FRAME_HEIGHT = 26, 120
"""Of figures with a row for each contender, in pixels."""


def comparison_summary(result: Mapping[str, Any]) -> Summary:
    """Returns what a comparison comes to: the best against the baseline, how sure that is, and what to do.

    Of an evaluation it is the first policy that is judged, against the best classic.

    Args:
        result: What ``shunter compare --json`` or ``shunter evaluate --json`` prints.
    """
    rows, metric = result["combinations"], str(result["metric"])
    base, shared = _baseline(result), set(result.get("shared_marks", ()))
    # Who has what no scheduler has is no answer.
    shown = next((row for row in rows if not set(row["marks"]) - shared), rows[0])
    if result.get("judged"):
        shown = next((row for row in rows if row["label"] == result["judged"][0]["label"]), shown)
    tone, headline = _headline(shown, base, metric, result)
    facts = [
        Fact(f"{metric_words(metric)}, ratio to {base['label']}", short(shown["ratio"]), _interval(shown), tone),
        *(
            Fact(
                metric_words(name),
                metric_value(name, shown[name]),
                f"{base['label']}: {metric_value(name, base[name])}",
            )
            for name in ("mean_wait_s", "max_wait_s", "core_utilization", "gpu_utilization")
            if shown.get(name) is not None and base.get(name) is not None
        ),
    ]
    notes = (result.get("interval_note"), result.get("contention_note"))
    sentences = [f"{capitalized(str(text))}." for text in notes if text]
    if believed := result.get("believability"):
        sentences.insert(0, f"The simulation {believed['verdict']}: {believed['because']}.")
    return Summary(headline, tuple(sentences), tuple(facts[:4]), next_steps(str(result.get("next_step") or "")), tone)


def _headline(shown: Row, base: Row, metric: str, result: Mapping[str, Any]) -> tuple[str, str]:
    higher = METRICS[metric].higher_is_better if metric in METRICS else False
    words, name, against, log = metric_words(metric), shown["label"], base["label"], result["workload"]
    if name == against:
        return PLAIN, f"Nothing is better than {against} on {log}."
    tone = tone_of(shown["ratio_low"], shown["ratio_high"], higher)
    if shown.get("identical") or tone == PLAIN:
        return PLAIN, f"{name} {comparison_words(shown, higher)} {against} by {words} on {log}."
    change, direction = percent(abs(1 - shown["ratio"])), "higher" if shown["ratio"] > 1 else "lower"
    headline = f"{name} has a {words} {change} {direction} than {against} on {log}"
    if not _is_believed(result):
        # Whoever reads no further must not take it for an advice.
        return PLAIN, f"In a simulation that does not explain the log, {headline}."
    return tone, f"{headline}."


def _is_believed(result: Mapping[str, Any]) -> bool:
    believed = result.get("believability")
    return believed is None or str(believed["verdict"]) != Verdict.DOES_NOT.words


def _baseline(result: Mapping[str, Any]) -> Row:
    rows: Sequence[Row] = result["combinations"]
    return next((row for row in rows if row["label"] == result["baseline"]), rows[-1])


def _interval(row: Row) -> str:
    return "identical" if row.get("identical") else interval(row["ratio_low"], row["ratio_high"])


def comparison_sections(result: Mapping[str, Any]) -> tuple[Section, ...]:
    """Returns the sections of a comparison or an evaluation.

    Args:
        result: What ``shunter compare --json`` or ``shunter evaluate --json`` prints.
    """
    sections = [_contenders(result), _trade_off(result), _sizes(result), _not_done(result)]
    return tuple(section for section in sections if section.parts)


def _contenders(result: Mapping[str, Any]) -> Section:
    metric, windows = str(result["metric"]), result["windows"]
    words, blocks = metric_words(metric), counted(int(windows["blocks"]), "block")
    where = f"the same {counted(int(windows['count']), 'window')} of {windows['length']:,} jobs in {blocks}"
    lead = (
        f"{counted(len(result['combinations']), 'way')} to schedule, in {where}, held against {result['baseline']}. "
        f"Best first by {words} ({result.get('sorted_by', 'mean')})."
    )
    parts: list[Part] = []
    if believed := result.get("believability"):
        tone = PLAIN if _is_believed(result) else NOTE
        parts.append(
            Prose(f"The simulation {believed['verdict']} ({believed['policy']}): {believed['because']}.", tone)
        )
    parts += [_ratio_chart(result), _contenders_table(result)]
    if verdict := result.get("verdict"):
        parts.append(Details("Every finding in words", (findings_table(verdict),)))
    return Section("contenders", "Contenders", lead, tuple(parts))


def findings_table(findings: Sequence[Row]) -> Table:
    """Returns findings as ``--json`` has them, one sentence a row."""
    tones = {BETTER: GOOD, WORSE: BAD}
    rows = tuple(
        (Toned(str(one["result"]), tones.get(str(one["result"]), PLAIN)), str(one["sentence"])) for one in findings
    )
    return Table(("finding", "in words"), rows, "What can be said of each")


def _ratio_chart(result: Mapping[str, Any]) -> Part:
    metric = str(result["metric"])
    rows = [row for row in result["combinations"] if row["ratio"] is not None]
    base = _baseline(result)
    shown = rows[:DRAWN] if base in rows[:DRAWN] else [*rows[:DRAWN], base]
    if not shown:
        return Prose(
            f"{metric_words(metric)} cannot be held against {base['label']}: a value is 0 or has no meaning.", NOTE
        )
    names = [charts.chart_text(_called(row), 40) for row in shown]
    values, low, high = ([row[key] for row in shown] for key in ("ratio", "ratio_low", "ratio_high"))
    trace = charts.points(
        "ratio", values, names, "@c0", size=10, error_x=charts.error_bars(values, low, high) | {"color": "@c0"}
    )
    scale = _ratio_axis(f"{metric_words(metric)}: ratio to {charts.chart_text(base['label'])}", [*values, *low, *high])
    rows_axis = {"autorange": "reversed", "type": "category", "title": {"text": ""}}
    drawn = charts.figure(
        [trace], scale, rows_axis, FRAME_HEIGHT + ROW_HEIGHT * len(shown), shapes=[charts.vertical_line(1.0)]
    )
    better = "right" if METRICS[metric].higher_is_better else "left"
    caption = (
        f"The {metric_words(metric)} of each as a ratio to {base['label']} (dashed line), geometric mean over windows, "
        f"with 95 % intervals. Further {better} is better; an interval that crosses the line proves nothing."
    )
    first = shown[0]
    alt = f"Ratios to {base['label']}; the best is {first['label']} at {short(first['ratio'])}, {_interval(first)}."
    return Chart(drawn, caption, alt)


def _ratio_axis(title: str, values: Sequence[float | None]) -> dict[str, Any]:
    """Returns an axis of ratios; logarithmic where one is many times another."""
    known = [value for value in values if value is not None and value > 0]
    if not known or max(known) < 4 * min(known):
        return charts.axis(title)
    places = [place for place in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)]
    return charts.axis(title, type="log", tickvals=places, ticktext=[f"{place:g}" for place in places])


def _called(row: Row) -> str:
    """Returns a label with the symbols of its marks."""
    symbols = "".join(mark.symbol for mark in MARKS if mark.name in row["marks"])
    return f"{row['label']} {symbols}" if symbols else str(row["label"])


def _contenders_table(result: Mapping[str, Any]) -> Table:
    metric = str(result["metric"])
    higher = METRICS[metric].higher_is_better if metric in METRICS else False
    rows: Sequence[Row] = result["combinations"]
    beside = [
        name
        for name in ("mean_wait_s", "p95_wait_s", "max_wait_s", "core_utilization", "gpu_utilization", "lost_gpu_hours")
        if any(row.get(name) is not None for row in rows)
    ]
    has_roles = any(ROLES.get(str(row.get("role", "")), "") for row in rows)
    columns = (
        "",
        *(["role"] if has_roles else []),
        f"{metric_words(metric)}, mean",
        f"ratio to {result['baseline']} [95 %]",
        "windows won",
        *map(metric_words, beside),
    )
    cells: tuple[tuple[Cell, ...], ...] = tuple(
        (
            _called(row),
            *([ROLES.get(str(row.get("role", "")), "")] if has_roles else []),
            metric_value(metric, row["mean"]),
            ratio_cell(row, higher),
            percent(row.get("win_rate")),
            *(metric_value(name, row.get(name)) for name in beside),
        )
        for row in rows
    )
    first = 2 if has_roles else 1
    better = "higher" if higher else "lower"
    caption = f"All contenders, best first by {metric_words(metric)} ({better} is better)"
    return Table(columns, cells, caption, right=tuple(range(first, len(columns))))


def _trade_off(result: Mapping[str, Any]) -> Section:
    metric = str(result["metric"])
    rows = [row for row in result["combinations"] if row["mean"] is not None and row["max_wait_s"] is not None]
    base = _baseline(result)
    if len(rows) < 2:
        return Section("trade-off", "Trade-off", "")
    best, others = rows[:NAMED_POINTS], [row for row in rows[NAMED_POINTS:] if row is not base]
    longest = max(float(row["max_wait_s"]) for row in rows)
    traces = [
        _cloud("others", others, metric, charts.OTHERS, named=False),
        _cloud("the best", [row for row in best if row is not base], metric, "@c0", named=True),
        _cloud("baseline", [base] if base in rows else [], metric, "@c1", named=True),
    ]
    scale = charts.log_time_axis("longest wait (lower is better)", longest)
    low = min(float(row["max_wait_s"]) for row in rows)
    if low > 0 and longest < 30 * low:
        unit, seconds = time_unit(longest)
        scale = charts.axis(f"longest wait [{unit}] (lower is better)", rangemode="tozero")
        for trace in traces:
            trace["y"] = charts.plain([value / seconds for value in trace["y"]])
    values = [float(row["mean"]) for row in rows]
    spread = {"type": "log"} if min(values) > 0 and max(values) > 12 * min(values) else {}
    drawn = charts.figure([one for one in traces if one["x"]], charts.axis(metric_title(metric), **spread), scale, 420)
    caption = (
        "Each point is one way to schedule: how well jobs fare on average, against the job that waits longest. "
        "What is further down and to the better side costs nobody anything; in between, it is a choice."
    )
    against = f"{base['label']} has {times(base['max_wait_s'])}"
    alt = f"{metric_words(metric)} against the longest wait of {len(rows)} contenders; {against}."
    return Section(
        "trade-off",
        "Trade-off",
        "A policy that is good on average may let a few jobs wait very long.",
        (Chart(drawn, caption, alt),),
    )


def _cloud(name: str, rows: Sequence[Row], metric: str, color: str, named: bool) -> dict[str, Any]:
    labels = [charts.chart_text(_called(row)) for row in rows]
    values, waits = [float(row["mean"]) for row in rows], [float(row["max_wait_s"]) for row in rows]
    shown: dict[str, Any] = (
        {"mode": "markers+text", "textposition": "top center", "textfont": {"size": 11}} if named else {}
    )
    hover = [
        f"{label}<br>{metric_value(metric, value)}, {times(wait_s)}"
        for label, value, wait_s in zip(labels, values, waits, strict=True)
    ]
    return charts.points(
        name, values, waits, color, text=labels, hovertext=hover, hoverinfo="text", cliponaxis=False, **shown
    )


def _sizes(result: Mapping[str, Any]) -> Section:
    base = _baseline(result)
    first = [row for row in result["combinations"] if row is not base][:LINES]
    rows = [row for row in (*first, base) if row.get("wait_by_size_s")]
    classes = [label for label, wait_s in base.get("wait_by_size_s", {}).items() if wait_s is not None]
    if not rows or not classes:
        return Section("sizes", "Waits by size", "")
    every = [row["wait_by_size_s"].get(label) for row in rows for label in classes]
    unit, seconds = wait_unit(every)
    colors = charts.colors(len(rows))
    traces = [
        charts.line(
            charts.chart_text(_called(row)),
            classes,
            [_scaled(row["wait_by_size_s"].get(label), seconds) for label in classes],
            charts.QUIET if row is base else color,
            style="dash" if row is base else "solid",
            mode="lines+markers",
        )
        for row, color in zip(rows, colors, strict=True)
    ]
    known = [value for value in every if value]
    spread = {"type": "log"} if known and max(known) > 50 * min(known) else {"rangemode": "tozero"}
    what = "GPUs" if result.get("sizes_of") == "gpus" else "cores"
    drawn = charts.figure(
        traces, charts.axis(f"{what} of the job", type="category"), charts.axis(f"mean wait [{unit}]", **spread)
    )
    caption = f"Mean wait by the size of the job in {what}, over all windows; dashed: {base['label']}."
    table = Table(
        (f"{what} of the job", *(_called(row) for row in rows)),
        tuple((label, *(times(row["wait_by_size_s"].get(label)) for row in rows)) for label in classes),
        "Mean waits by size",
        right=tuple(range(1, len(rows) + 1)),
    )
    alt = f"Mean waits by size for {counted(len(rows), 'contender')}, in {unit}."
    return Section(
        "sizes", "Waits by size", "Which jobs gain, and which wait for them.", (Chart(drawn, caption, alt), table)
    )


def _scaled(value: float | None, seconds: float) -> float | None:
    return None if value is None else value / seconds


def _not_done(result: Mapping[str, Any]) -> Section:
    parts = list(_caveats(result))
    rows: Sequence[Row] = result["combinations"]
    # Contenders share the log: what one has repaired, all have; what stands in depends on the policy.
    rules = {(one["rule"], one["count"], one["example"]): one for row in rows for one in row.get("ledger", ())}
    if rules:
        parts.append(ledger_table(rules.values()))
    lead = "What the reader must know: what was left out, what stands in, what no real scheduler has."
    return Section("caveats", "What was not done", lead, tuple(parts))


def _caveats(result: Mapping[str, Any]) -> Iterator[Part]:
    for text in (result.get("contention_note"), result.get("interval_note"), *result.get("warnings", ())):
        if text:
            yield Prose(f"{capitalized(str(text))}.", NOTE)
    if cold := result.get("cold_start"):
        waits = [times(cold[name]) for name in ("cold_s", "warm_s")]
        text = (
            f"The windows begin on an empty cluster, on which {cold['policy']} has a mean wait of {waits[0]}; with "
            f"{cold['warmup']:,} jobs before each window it has {waits[1]}."
        )
        yield Prose(text, NOTE)
    words = dict(result.get("marks", {}))
    for mark in MARKS:
        if mark.name in words:
            who = "Every contender" if mark.name in result.get("shared_marks", ()) else f"Whoever has {mark.symbol}"
            yield Prose(f"{who} {words[mark.name]}.")
    if skipped := result.get("skipped"):
        yield Table(("left out",), tuple((str(one),) for one in skipped), "Combinations that were not run", right=())
