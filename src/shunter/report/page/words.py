"""What pages call metrics and times, and how they write values; names, units and directions are those of the table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from shunter.metrics.labels import brief_seconds, percent, short
from shunter.metrics.table import METRICS, NO_UNIT, SECONDS, SHARE
from shunter.report.page.parts import BAD, GOOD, PLAIN, Commands, Part, Prose, Table, Toned

PROGRAM: Final = "shunter"
SECONDS_ENDING: Final = "_s"
RENAMED: Final = {"p95": "95 %", "p99": "99 %", "max": "longest", "gpu": "GPU", "gpus": "GPUs", "milp": "MILP"}
"""Words of names that people write otherwise."""


def metric_words(name: str) -> str:
    """Returns what people call a metric: ``mean bounded slowdown``."""
    words = name.removesuffix(SECONDS_ENDING).split("_")
    return " ".join(RENAMED.get(word, word) for word in words)


def metric_title(name: str) -> str:
    """Returns a metric with its unit and which way is better: for axes and the heads of columns."""
    metric = METRICS.get(name)
    if metric is None:
        return metric_words(name)
    unit = "" if metric.unit in (NO_UNIT, SECONDS, SHARE) else f" [{metric.unit}]"
    return f"{metric_words(name)}{unit} ({metric.better} is better)"


def metric_value(name: str, value: float | None) -> str:
    """Returns a metric with its unit: ``2.44 h``, ``71 %``, ``21.9``."""
    metric = METRICS.get(name)
    if value is None:
        return "–"
    if metric is None or metric.unit == NO_UNIT:
        return short(value)
    if metric.unit == SECONDS:
        return times(value)
    return percent(value, 1) if metric.unit == SHARE else f"{short(value)} {metric.unit}"


def times(seconds: float | None) -> str:
    """Returns a time in its largest unit: ``8.35 h``; a dash where there is none."""
    return "–" if seconds is None else brief_seconds(seconds) if seconds else "0 s"


def interval(low: float | None, high: float | None) -> str:
    """Returns a 95 % interval in words; that there is none, where there is none."""
    return "no interval" if low is None or high is None else f"95 %: {short(low)} to {short(high)}"


def ratio_cell(row: Mapping[str, Any], higher: bool) -> Toned:
    """Returns a ratio with its interval, colored where the whole interval lies on one side.

    Args:
        row: With ``ratio``, ``ratio_low``, ``ratio_high``, ``identical``.
        higher: Whether more of the metric is better.
    """
    if row.get("identical"):
        return Toned("identical")
    ratio, low, high = row.get("ratio"), row.get("ratio_low"), row.get("ratio_high")
    if ratio is None:
        return Toned("–")
    if low is None or high is None:
        return Toned(f"{short(ratio)} (no interval)")
    return Toned(f"{short(ratio)} [{short(low)}, {short(high)}]", tone_of(low, high, higher))


def tone_of(low: float | None, high: float | None, higher: bool) -> str:
    """Returns whether the interval of a ratio is on the good side of 1, on the bad one, or holds both."""
    if low is None or high is None or low <= 1 <= high:
        return PLAIN
    return GOOD if (low > 1) == higher else BAD


def metrics_table(metrics: Mapping[str, Mapping[str, float | None]], caption: str) -> Table:
    """Returns metrics of several runs beside each other, those that tell something of any of them.

    Args:
        metrics: By run, then by metric.
        caption: Of the table.
    """
    names = list(dict.fromkeys(name for one in metrics.values() for name in one))
    told = [name for name in names if any(one.get(name) is not None for one in metrics.values())]
    rows = [
        (metric_words(name), *(metric_value(name, one.get(name)) for one in metrics.values()), _better(name))
        for name in told
    ]
    right = tuple(range(1, len(metrics) + 1))
    return Table(("metric", *metrics, "better"), tuple(rows), caption, right=right)


def _better(name: str) -> str:
    return METRICS[name].better if name in METRICS else "–"


def next_steps(text: str) -> tuple[Part, ...]:
    """Returns what to do, as ``next_step`` of a result has it: sentences, and the commands on lines of their own."""
    parts: list[Part] = []
    for line in text.removeprefix("What to do: ").splitlines():
        words, command, rest = line.strip().partition(f"{PROGRAM} ")
        if command and words.endswith(": "):
            parts.append(Commands((command + rest,), capitalized(words.removesuffix(": "))))
        elif line.strip():
            parts.append(Prose(capitalized(line.strip())))
    return tuple(parts)


def capitalized(text: str) -> str:
    """Returns a text that begins like a sentence."""
    return text[:1].upper() + text[1:]


def comparison_words(found: Mapping[str, Any], higher: bool) -> str:
    """Returns how one is to another, as a verb: ``is better than``; proved by the whole interval, or not at all.

    Args:
        found: The contrast, with ``ratio_low``, ``ratio_high`` and ``identical``.
        higher: Whether more of the metric is better.
    """
    if found.get("identical"):
        return "does the same as"
    if found.get("ratio_low") is None:
        return "cannot be judged against"
    tone = tone_of(found["ratio_low"], found["ratio_high"], higher)
    return {GOOD: "is better than", BAD: "is worse than"}.get(tone, "cannot be told apart from")


def ledger_table(ledger: Iterable[Mapping[str, Any]], caption: str = "Repairs and stand-ins") -> Table:
    """Returns what was repaired in a log, and what stands in for what it does not tell."""
    rows = tuple((str(one["rule"]), int(one["count"]), str(one["example"])) for one in ledger)
    return Table(("rule", "jobs or records", "for example"), rows, caption)
