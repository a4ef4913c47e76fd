"""What a report comes to, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from shunter.comparison.statistics import LEAST_BLOCKS
from shunter.metrics.table import higher_is_better
from shunter.tuning.report import BEST, BEST_LEARNED, CHOSEN, SITE, TUNED

if TYPE_CHECKING:
    from shunter.comparison.statistics import Contrast
    from shunter.tuning.report import LogReport, Report

BETTER, WORSE, UNCLEAR, HOLDS, BROKEN = "better", "worse", "unclear", "holds", "does not hold"
_WORDS: Final = {
    BETTER: "tuned beats {}, beyond the interval",
    WORSE: "tuned LOSES to {}, beyond the interval",
    UNCLEAR: "tuned and {} cannot be told apart",
}
_OTHERS: Final = {
    BEST: "the best classic in hindsight",
    BEST_LEARNED: "the best classic in hindsight with the same estimate",
    CHOSEN: "the classic chosen on training days",
    SITE: "the site's policy",
}
"""What the tuned policy is held against."""

Interval = tuple[float, float] | None


@dataclass(frozen=True)
class Finding:
    """One sentence on the tuned policy."""

    workload: str | None
    """None: all logs together."""
    against: str
    """A role of the report, or the metric of a bound."""
    result: str
    """One of the words above."""
    sentence: str

    def to_json(self) -> dict[str, Any]:
        """Returns the finding as a plain object."""
        return asdict(self)


def findings_over_all(report: Report) -> list[Finding]:
    """Returns what can be said of the tuned policy over all logs; nothing for a single log."""
    if not report.pooled:
        return []
    found, metric = [], report.objective.metric
    for role, words in _OTHERS.items():
        ratio = report.pooled[TUNED].against.get(role)
        if ratio is not None:
            result = _result(ratio.interval, 1.0, metric)
            found.append(_finding(None, role, words, f"ratio {_text(ratio.value, ratio.interval)}", result))
    return found


def findings_on(one: LogReport, metric: str) -> list[Finding]:
    """Returns what can be said of the tuned policy on one log, by the objective's metric and by its bounds."""
    found = []
    for role, words in _OTHERS.items():
        if role in one.rows:
            other = f"{words} ({one.rows[role].scored.combination.label})"
            amount, result = _judge(one.rows[TUNED].against[role], metric)
            found.append(_finding(one.later.log.workload.name, role, other, amount, result))
    return [*found, *_of_bounds(one)]


def _judge(contrast: Contrast, metric: str) -> tuple[str, str]:
    """Returns by how much a policy differs, and what that means; by the difference where there is no ratio."""
    if contrast.ratio is not None:
        amount = f"ratio {_text(contrast.ratio, contrast.ratio_interval)}"
        return amount, _result(contrast.ratio_interval, 1.0, metric)
    if contrast.difference is not None:
        amount = f"difference {_text(contrast.difference, contrast.difference_interval)}"
        return amount, _result(contrast.difference_interval, 0.0, metric)
    return f"{metric} has no meaning in these windows", UNCLEAR


def _result(interval: Interval, neutral: float, metric: str) -> str:
    if interval is None or interval[0] <= neutral <= interval[1]:
        return UNCLEAR
    return BETTER if (interval[0] > neutral) == higher_is_better(metric) else WORSE


def _text(value: float, interval: Interval) -> str:
    if interval is None:
        return f"{value:.3g} (no interval: fewer than {LEAST_BLOCKS} blocks)"
    return f"{value:.3g} [{interval[0]:.3g}, {interval[1]:.3g}]"


def _finding(workload: str | None, role: str, other: str, amount: str, result: str) -> Finding:
    return Finding(workload, role, result, f"{_WORDS[result].format(other)}: {amount}")


def _of_bounds(one: LogReport) -> Iterator[Finding]:
    chosen = one.rows[CHOSEN].scored.combination.label
    for held in one.rows[TUNED].held:
        holds = "holds" if held.holds else "does NOT hold"
        bound = f"the bound on {held.bound.metric}, {held.bound.words} that of {chosen},"
        result = HOLDS if held.holds else BROKEN
        yield Finding(
            one.later.log.workload.name, held.bound.metric, result, f"{bound} {holds}: {held.ratio:.3g} times"
        )
