"""The report: contenders against classics in the same windows, with ratios, intervals, bounds, and what they come to.

A contender has a role, by which others are held against it: ``chosen``, ``tuned``, or its label where that is enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import numpy as np

from shunter.comparison.objective import mean_ratio
from shunter.comparison.statistics import (
    LEAST_BLOCKS,
    Contrast,
    Paired,
    Ratio,
    Summary,
    contrast,
    interval_note,
    pooled_ratio,
    summarize,
)
from shunter.metrics.table import higher_is_better

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.comparison.bench import Measured
    from shunter.comparison.objective import Bound, Objective

BETTER, WORSE, UNCLEAR, HOLDS, BROKEN = "better", "worse", "unclear", "holds", "does not hold"
"""What a finding says. Better and worse: the whole interval is on that side."""
WAIT, LONGEST, UTILIZATION = "mean_wait_s", "max_wait_s", "core_utilization"
"""What every report tells beside the metric that it is about."""
BESIDE: Final = (WAIT, LONGEST, UTILIZATION)


@dataclass(frozen=True)
class Held:
    """Whether a bound holds on average over the windows."""

    bound: Bound
    ratio: float
    """Of the means, to the reference."""
    holds: bool

    def to_json(self) -> dict[str, Any]:
        """Returns the bound as a plain object."""
        return asdict(self.bound) | {"ratio": _finite(self.ratio), "holds": self.holds}


@dataclass(frozen=True)
class Row:
    """What one contender did in the windows of a log, held against the others."""

    label: str
    """Which policy it is: ``f2/easy``."""
    metrics: Measured
    summary: Summary
    """Of the objective's metric."""
    against: dict[str, Contrast]
    """The objective's metric against that of other contenders, by role."""
    wait_ratio: float
    """Of the mean waits, to the reference."""
    held: tuple[Held, ...]
    """The objective's bounds, to the reference."""


@dataclass(frozen=True)
class LogReport:
    """What all contenders did in the windows of one log."""

    name: str
    block: NDArray[np.int64]
    """(windows,): the block of the log in which each lies."""
    reference: str
    """The role that waits and bounds refer to."""
    rows: dict[str, Row]
    """By role."""

    @property
    def blocks(self) -> int:
        """In how many blocks the windows lie."""
        return len(np.unique(self.block))

    @property
    def interval_note(self) -> str | None:
        """What a reader must know of the intervals; None if there are enough blocks."""
        return interval_note(self.blocks)

    def row_object(self, role: str) -> dict[str, Any]:
        """Returns a row as a plain object."""
        row = self.rows[role]
        return {
            "role": role,
            "label": row.label,
            "geometric_mean": row.summary.geometric_mean,
            "mean": row.summary.mean,
            "against": {role: contrast.to_json() for role, contrast in row.against.items()},
            WAIT: summarize(row.metrics[WAIT], self.block).mean,
            "mean_wait_ratio": _finite(row.wait_ratio),
            LONGEST: largest(row.metrics[LONGEST]),
            UTILIZATION: summarize(row.metrics[UTILIZATION], self.block).mean,
            "bounds": [held.to_json() for held in row.held],
        }


@dataclass(frozen=True)
class PooledRow:
    """Ratios over all logs, each of which counts the same."""

    against: dict[str, Ratio | None]
    """The objective's metric against that of other contenders, by role."""
    wait_ratio: float
    """The geometric mean over logs."""

    def to_json(self) -> dict[str, Any]:
        """Returns the row as a plain object."""
        against = {role: None if ratio is None else ratio.to_json() for role, ratio in self.against.items()}
        return {"against": against, "mean_wait_ratio": _finite(self.wait_ratio)}


One = TypeVar("One", bound=LogReport)


@dataclass(frozen=True)
class Report(Generic[One]):
    """Contenders against classics on one or several logs."""

    objective: Objective
    logs: tuple[One, ...]
    pooled: dict[str, PooledRow]
    """By role; empty for a single log."""

    def pooled_objects(self) -> list[dict[str, Any]] | None:
        """Returns the rows over all logs as plain objects; None for a single log."""
        return [{"role": role, **row.to_json()} for role, row in self.pooled.items()] or None

    def findings(self, judged: str, name: str, others: Mapping[str, str]) -> list[Finding]:
        """Returns what can be said of one contender, over all logs and then on each, its bounds last.

        Args:
            judged: Its role.
            name: What sentences call it.
            others: What it is held against: by role, what sentences call it.
        """
        found = list(self.findings_over_all(judged, name, others))
        for one in self.logs:
            found += findings_on(one, self.objective.metric, judged, name, others)
        return found

    def findings_over_all(self, judged: str, name: str, others: Mapping[str, str]) -> Iterator[Finding]:
        """Yields what can be said of one contender over all logs; nothing for a single log."""
        for role, words in others.items():
            ratio = self.pooled[judged].against.get(role) if self.pooled else None
            if ratio is not None:
                as_contrast = Contrast(None, ratio.value, ratio.interval, None, None)
                yield _finding(name, None, role, words, as_contrast, self.objective.metric)


@dataclass(frozen=True)
class Finding:
    """One sentence on a contender."""

    label: str
    """What the sentence calls the contender."""
    workload: str | None
    """None: all logs together."""
    against: str
    """A role of the report, or the metric of a bound."""
    result: str
    """One of `BETTER`, `WORSE`, `UNCLEAR`, `HOLDS`, `BROKEN`."""
    sentence: str

    def to_json(self) -> dict[str, Any]:
        """Returns the finding as a plain object."""
        return asdict(self)


def report_rows(
    contenders: Mapping[str, tuple[str, Measured]],
    block: NDArray[np.int64],
    objective: Objective,
    reference: str,
    seed: int = 0,
) -> dict[str, Row]:
    """Holds contenders against each other in the same windows.

    Args:
        contenders: By role: a label, and the metrics of each window. They have the objective's and those of `BESIDE`.
        block: The block of each window.
        objective: The metric that counts, and bounds.
        reference: The role that waits and bounds refer to.
        seed: For the drawing of blocks in the intervals.
    """
    metric, base = objective.metric, contenders[reference][1]
    higher = higher_is_better(metric)

    def against(own: Measured) -> dict[str, Contrast]:
        return {
            role: contrast(own[metric], other[metric], block, higher_is_better=higher, seed=seed)
            for role, (_, other) in contenders.items()
        }

    def held(own: Measured) -> Iterator[Held]:
        for bound in objective.bounds:
            ratio = mean_ratio(own[bound.metric], base[bound.metric])
            yield Held(bound, ratio, objective.excess(bound, own, base) <= 0)

    return {
        role: Row(
            label=label,
            metrics=own,
            summary=summarize(own[metric], block, higher),
            against=against(own),
            wait_ratio=mean_ratio(own[WAIT], base[WAIT]),
            held=tuple(held(own)),
        )
        for role, (label, own) in contenders.items()
    }


def make_report(objective: Objective, logs: Sequence[One], seed: int = 0) -> Report[One]:
    """Returns the report on all logs; for several of them with ratios over all.

    Args:
        objective: The metric that counts, and bounds.
        logs: The report on each; the roles are the same in all.
        seed: For the drawing of blocks in the intervals.
    """
    pooled = {role: _pooled_row(logs, role, objective.metric, seed) for role in logs[0].rows} if len(logs) > 1 else {}
    return Report(objective, tuple(logs), pooled)


def _pooled_row(logs: Sequence[LogReport], role: str, metric: str, seed: int) -> PooledRow:
    def against(base: str) -> Ratio | None:
        pairs = [Paired(one.rows[role].metrics[metric], one.rows[base].metrics[metric], one.block) for one in logs]
        return pooled_ratio(pairs, seed)

    waits = [one.rows[role].wait_ratio for one in logs]
    return PooledRow({base: against(base) for base in logs[0].rows}, float(np.exp(np.mean(np.log(waits)))))


def findings_on(one: LogReport, metric: str, judged: str, name: str, others: Mapping[str, str]) -> list[Finding]:
    """Returns what can be said of one contender on one log: against others, and of its bounds.

    Args:
        one: The log.
        metric: The metric that counts.
        judged: The contender's role.
        name: What sentences call it.
        others: What it is held against: by role, what sentences call it. Roles that the log has not are left out.
    """
    row = one.rows[judged]
    found = [
        _finding(name, one.name, role, f"{words} ({one.rows[role].label})", row.against[role], metric)
        for role, words in others.items()
        if role in one.rows
    ]
    reference = one.rows[one.reference].label
    for held in row.held:
        holds = "holds" if held.holds else "does NOT hold"
        bound = f"the bound on {held.bound.metric}, {held.bound.words} that of {reference},"
        result = HOLDS if held.holds else BROKEN
        found.append(Finding(name, one.name, held.bound.metric, result, f"{bound} {holds}: {held.ratio:.3g} times"))
    return found


def _finding(name: str, workload: str | None, role: str, other: str, found: Contrast, metric: str) -> Finding:
    result, sentence = judge(name, other, found, metric)
    return Finding(name, workload, role, result, sentence)


def judge(name: str, other: str, found: Contrast, metric: str) -> tuple[str, str]:
    """Returns whether one policy is better than another beyond chance, and the sentence that says so.

    The ratio decides; where there is none, for a value is 0, the difference of the means does.

    Args:
        name: What the sentence calls the one.
        other: What it calls the other.
        found: The one against the other.
        metric: What was compared.
    """
    if found.ratio is not None:
        what, value, interval, neutral = "ratio", found.ratio, found.ratio_interval, 1.0
    elif found.difference is not None:
        what, value, interval, neutral = "difference", found.difference, found.difference_interval, 0.0
    else:
        return UNCLEAR, f"{name} against {other} cannot be judged: {metric} has no meaning in these windows"
    if interval is None:
        amount = f"{what} {value:.3g} (no interval: fewer than {LEAST_BLOCKS} blocks)"
        return UNCLEAR, f"{name} against {other} cannot be judged: {amount}"
    low, high = interval
    amount = f"{what} {value:.3g} (95 %: {low:.3g} to {high:.3g})"
    if low <= neutral <= high:
        return UNCLEAR, f"{name} and {other} cannot be told apart: {amount}"
    if (low > neutral) == higher_is_better(metric):
        return BETTER, f"{name} is better than {other}: {amount}"
    return WORSE, f"{name} is WORSE than {other}: {amount}"


def largest(values: NDArray[np.float64]) -> float | None:
    """Returns the largest known value; None if there is none."""
    known = values[np.isfinite(values)]
    return float(known.max()) if len(known) else None


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
