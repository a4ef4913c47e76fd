"""An operation beside a scheduler on a page, from its audit and its status."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from shunter.metrics.labels import counted, percent, short
from shunter.report.page import charts
from shunter.report.page.parts import BAD, NOTE, PLAIN, Beside, Chart, Fact, Page, Part, Prose, Section, Summary, Table
from shunter.report.page.provenance import provenance_section
from shunter.report.page.words import times

POINTS: Final = 500
"""So many points of a line over time are drawn."""
LATEST: Final = 200
"""So many of the latest changes have a row."""
SERIES: Final = (
    ("candidates", "jobs that may start", "jobs"),
    ("disagreement", "pairs that the policy orders otherwise than the scheduler [%]", "%"),
    ("latency_ms", "time to decide [ms]", "ms"),
    ("applied", "changes made in a cycle", "changes"),
)
"""What is drawn over time: its name among the cycles, its title, and its unit."""


@dataclass
class Cycles:
    """What the lines of an audit come to."""

    times_s: list[float] = field(default_factory=list)
    series: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name, *_ in SERIES})
    modes: Counter[str] = field(default_factory=Counter)
    decided_by: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    masks: Counter[str] = field(default_factory=Counter)
    fallbacks: Counter[str] = field(default_factory=Counter)
    changes: list[tuple[float, Mapping[str, Any]]] = field(default_factory=list)
    made: int = 0
    undone: int = 0
    guarded: int = 0

    @classmethod
    def of(cls, lines: Iterable[Mapping[str, Any]]) -> Cycles:
        """Returns what lines of an audit come to."""
        found = cls()
        for line in lines:
            found.see(line)
        return found

    def see(self, line: Mapping[str, Any]) -> None:
        """Takes in one line."""
        self.undone += len(line.get("undone", ()))
        if "order" not in line:
            return
        self.times_s.append(float(line["time_s"]))
        self.series["candidates"].append(len(line["candidates"]))
        self.series["disagreement"].append(100 * float(line["disagreement"]))
        self.series["latency_ms"].append(float(line["latency_ms"]))
        self.series["applied"].append(float(line["applied"]))
        self.modes[str(line.get("mode"))] += 1
        self.decided_by[str(line["decided_by"])] += 1
        self.guarded += len(line.get("guarded", ()))
        self.made += int(line["applied"])
        self.masks.update(map(str, line.get("masked", {}).values()))
        reasons = line.get("reasons", {})
        self.reasons.update(map(str, reasons.values() if isinstance(reasons, Mapping) else reasons))
        if line.get("fallback"):
            self.fallbacks[str(line["fallback"])] += 1
        self.changes += [(float(line["time_s"]), change) for change in line["changes"]]
        del self.changes[:-LATEST]


def operation_page(name: str, lines: Iterable[Mapping[str, Any]], status: Mapping[str, Any]) -> Page:
    """Returns the page of an operation.

    Args:
        name: Of its folder.
        lines: Of its audit, the oldest first.
        status: What ``status.json`` holds; empty where there is none.
    """
    cycles = Cycles.of(lines)
    about = {name: {"version": status.get("version"), "policy": status.get("policy"), **status}}
    sections = (*operation_sections(cycles, status), provenance_section(about))
    return Page(f"Operation {name}", "operation", _summary(name, cycles, status), sections)


def _summary(name: str, cycles: Cycles, status: Mapping[str, Any]) -> Summary:
    asked = len(cycles.times_s)
    span_s = cycles.times_s[-1] - cycles.times_s[0] if asked else 0.0
    policy = status.get("policy") or next(iter(cycles.decided_by), "the policy")
    disagreement = cycles.series["disagreement"]
    mean = float(np.mean(disagreement)) if disagreement else None
    stood_in = sum(cycles.fallbacks.values())
    facts = (
        Fact("decisions", f"{asked:,}", f"over {times(span_s)}"),
        Fact(
            "disagreement", "–" if mean is None else percent(mean / 100), "pairs of jobs ordered otherwise, on average"
        ),
        Fact("changes made", f"{cycles.made:,}", f"{cycles.undone:,} undone"),
        Fact("stand-ins", f"{stood_in:,}", "decisions that another policy made", BAD if stood_in else PLAIN),
    )
    mode = status.get("mode_word") or (cycles.modes.most_common(1)[0][0] if cycles.modes else "unknown")
    headline = (
        f"Beside {status.get('scheduler', 'the scheduler')}, {policy} decided {counted(asked, 'time')} (mode {mode})."
    )
    lines = tuple(str(line) for key in ("counterfactual", "eta") for line in (status.get(key) or {}).get("lines", ()))
    return Summary(headline, lines, facts)


def operation_sections(cycles: Cycles, status: Mapping[str, Any]) -> tuple[Section, ...]:
    """Returns the sections of an operation: its decisions over time, why jobs waited, changes, and trouble."""
    sections = (_over_time(cycles), _why(cycles, status), _changes(cycles), _trouble(cycles, status))
    return tuple(section for section in sections if section.parts)


def _over_time(cycles: Cycles) -> Section:
    parts: list[Part] = []
    if cycles.times_s:
        kept = list(charts.thinned(len(cycles.times_s), POINTS))
        x = [int(1000 * cycles.times_s[place]) for place in kept]
        for name, title, unit in SERIES:
            values = [cycles.series[name][place] for place in kept]
            trace = charts.line(title, x, values, "@c0")
            drawn = charts.figure([trace], charts.axis("", type="date"), charts.axis(unit, rangemode="tozero"), 240)
            mean, most = short(float(np.mean(values))), short(max(values))
            caption = f"{title[0].upper()}{title[1:]}: {mean} on average, {most} at the most."
            parts.append(Chart(drawn, caption, caption))
    lead = "Each point is a cycle in which the policy was asked; with many, some are left out."
    return Section("decisions", "Decisions over time", lead, (Beside(tuple(parts)),) if parts else ())


def _why(cycles: Cycles, status: Mapping[str, Any]) -> Section:
    tables = (
        (
            "Why jobs waited, by the scheduler's own words, at the latest reading",
            Counter(status.get("waiting_for") or {}),
        ),
        ("Why the policy let jobs wait", cycles.reasons),
        ("Why jobs were left alone", cycles.masks),
        ("Who decided", cycles.decided_by),
    )
    parts = tuple(Table(("", "times"), tuple(counter.most_common()), caption) for caption, counter in tables if counter)
    return Section("why", "Why", "Reasons, as often as they were given.", parts)


def _changes(cycles: Cycles) -> Section:
    rows = tuple(
        (_moment(time_s), *(str(change.get(key, "–")) for key in _CHANGE))
        for time_s, change in reversed(cycles.changes)
    )
    table = Table(("time (UTC)", *_CHANGE), rows, "The latest changes, newest first", right=())
    lead = "What was done to jobs of the site's scheduler; everything can be undone (shunter operate undo)."
    return Section("changes", "Changes", lead, (table,) if rows else ())


_CHANGE: Final = ("job", "knob", "old", "new", "applied", "trouble")


def _moment(time_s: float) -> str:
    from datetime import datetime, timezone

    return datetime.fromtimestamp(time_s, timezone.utc).strftime("%Y-%m-%d %H:%M:%S")


def _trouble(cycles: Cycles, status: Mapping[str, Any]) -> Section:
    parts: list[Part] = [
        Prose(str(status[key]), NOTE)
        for key in ("configuration_trouble", "last_failed_read", "last_fallback", "last_failed_side_work")
        if status.get(key)
    ]
    parts += [Prose(str(line), NOTE) for line in status.get("unknown_names") or ()]
    if cycles.fallbacks:
        parts.append(
            Table(("why another policy stood in", "times"), tuple(cycles.fallbacks.most_common()), "Stand-ins")
        )
    return Section("trouble", "Trouble", "What went wrong, and who stood in.", tuple(parts))
