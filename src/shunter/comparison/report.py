"""The report: contenders against classics in the same windows, with ratios, intervals, bounds, and what they come to.

A contender has a role, by which others are held against it: ``chosen``, ``tuned``, or its label where that is enough.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import numpy as np

from shunter.comparison.marks import Marks, marked, shared_marks
from shunter.comparison.objective import told_ratio
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

    from shunter.comparison.log_windows import Measured
    from shunter.comparison.objective import Bound, Objective

BETTER, WORSE, UNCLEAR, HOLDS, BROKEN = "better", "worse", "unclear", "holds", "does not hold"
IDENTICAL: Final = "identical"
"""What a finding says. Better and worse: the whole interval is on that side. Identical: there is nothing to compare."""
WAIT, LONGEST = "mean_wait_s", "max_wait_s"
UTILIZATIONS: Final = ("core_utilization", "gpu_utilization")
"""What every report tells beside the metric that it is about."""
BESIDE: Final = (WAIT, LONGEST, *UTILIZATIONS)
NOTHING_KNOWN: Final = Summary(None, None, None, None, None, None)


@dataclass(frozen=True)
class Held:
    """Whether a bound holds on average over the windows."""

    bound: Bound
    ratio: float
    """Of the means, to the reference; NaN where that is 0."""
    holds: bool

    @property
    def words(self) -> str:
        """The ratio as part of a sentence."""
        return f"{self.ratio:.3g} times" if math.isfinite(self.ratio) else "that is 0"

    def to_json(self) -> dict[str, Any]:
        """Returns the bound as a plain object."""
        return asdict(self.bound) | {"ratio": _finite(self.ratio), "holds": self.holds}


@dataclass(frozen=True)
class Contender:
    """What one way to schedule did in the windows of a log, and how it compares with others there.

    What it did is known first; `hold_against` fills in the rest.
    """

    label: str
    """Which policy it is: ``f2/easy``."""
    metrics: Measured
    marks: Marks = ()
    """What it has that no real scheduler has."""
    summary: Summary = NOTHING_KNOWN
    """Of the objective's metric."""
    against: dict[str, Contrast] = field(default_factory=dict)
    """The objective's metric against that of other contenders, by role."""
    wait_ratio: float = math.nan
    """Of the mean waits, to the reference; NaN where nobody waits under that."""
    held: tuple[Held, ...] = ()
    """The objective's bounds, to the reference."""


C = TypeVar("C", bound=Contender)


def hold_against(
    contenders: Mapping[str, C],
    block: NDArray[np.int64],
    objective: Objective,
    reference: str,
    others: Collection[str] | None = None,
    seed: int = 0,
) -> dict[str, C]:
    """Returns contenders with how they compare with each other in the same windows.

    Args:
        contenders: By role. They have the objective's metrics and those of `BESIDE`.
        block: The block of each window.
        objective: The metric that counts, and bounds.
        reference: The role that waits and bounds refer to.
        others: The roles that all are held against; None: all of them. Each takes thousands of draws.
        seed: For the drawing of blocks in the intervals.
    """
    metric, base = objective.metric, contenders[reference].metrics
    higher = higher_is_better(metric)
    bases = {role: contenders[role].metrics for role in (contenders if others is None else others)}

    def compared(one: C) -> C:
        own = one.metrics
        return replace(
            one,
            summary=summarize(own[metric], block, higher),
            against={
                role: replace(
                    contrast(own[metric], other[metric], block, higher_is_better=higher, seed=seed),
                    identical=_same(own, other),
                )
                for role, other in bases.items()
            },
            wait_ratio=told_ratio(own[WAIT], base[WAIT]),
            held=tuple(
                Held(bound, told_ratio(own[bound.metric], base[bound.metric]), objective.excess(bound, own, base) <= 0)
                for bound in objective.bounds
            ),
        )

    return {role: compared(one) for role, one in contenders.items()}


@dataclass(frozen=True)
class LogReport:
    """What all contenders did in the windows of one log."""

    name: str
    block: NDArray[np.int64]
    """(windows,): the block of the log in which each lies."""
    objective: Objective
    """The metric that counts, and bounds."""
    reference: str
    """The role that waits and bounds refer to."""
    contenders: Mapping[str, Contender]
    """By role, held against each other."""
    part_of: LogReport | None = None
    """The report that these contenders were taken from: what all of its rows share is told there."""

    @property
    def metric(self) -> str:
        """The metric that counts."""
        return self.objective.metric

    @property
    def blocks(self) -> int:
        """In how many blocks the windows lie."""
        return len(np.unique(self.block))

    @property
    def interval_note(self) -> str | None:
        """What a reader must know of the intervals; None if there are enough blocks."""
        return interval_note(self.blocks)

    @property
    def shared_marks(self) -> Marks:
        """The marks that all contenders carry, which are told once."""
        if self.part_of is not None:
            return self.part_of.shared_marks
        return shared_marks(one.marks for one in self.contenders.values())

    def shown_label(self, role: str) -> str:
        """Returns a contender's label, with the symbols of the marks that not all carry."""
        one = self.contenders[role]
        return marked(one.label, one.marks, self.shared_marks)

    def mean(self, one: Contender, metric: str) -> float | None:
        """Returns the mean of a contender's metric over the windows."""
        return summarize(one.metrics[metric], self.block).mean

    def row_object(self, role: str) -> dict[str, Any]:
        """Returns a contender as a plain object."""
        one = self.contenders[role]
        return {
            "role": role,
            "label": one.label,
            "marks": [mark.name for mark in one.marks],
            "geometric_mean": one.summary.geometric_mean,
            "mean": one.summary.mean,
            "against": {role: contrast.to_json() for role, contrast in one.against.items()},
            WAIT: self.mean(one, WAIT),
            "mean_wait_ratio": _finite(one.wait_ratio),
            LONGEST: largest_known(one.metrics[LONGEST]),
            **{name: self.mean(one, name) for name in UTILIZATIONS},
            "bounds": [held.to_json() for held in one.held],
        }

    def findings(self, judged: str, name: str, others: Mapping[str, str]) -> list[Finding]:
        """Returns what can be said of one contender here: against others, and of its bounds.

        Args:
            judged: The contender's role.
            name: What sentences call it.
            others: What it is held against: by role, what sentences call it. Roles that are not here are left out.
        """
        one = self.contenders[judged]
        found = [
            _finding(name, self.name, role, f"{words} ({self.shown_label(role)})", one.against[role], self.metric)
            for role, words in others.items()
            if role in self.contenders and role != judged
        ]
        own = [mark for mark in one.marks if mark not in self.shared_marks]
        # Nobody shall read that it is the best without reading what it has that no scheduler has.
        caveat = "".join(f"; but it {mark.words}" for mark in own)
        names = tuple(mark.name for mark in own)
        found = [replace(each, sentence=each.sentence + caveat, marks=names) for each in found]
        reference = self.contenders[self.reference].label
        for held in one.held:
            holds = "holds" if held.holds else "does NOT hold"
            bound = f"the bound on {held.bound.metric}, {held.bound.words} that of {reference},"
            sentence = f"{bound} {holds}: {held.words}"
            found.append(Finding(name, self.name, held.bound.metric, HOLDS if held.holds else BROKEN, sentence))
        return found


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

    logs: tuple[One, ...]
    pooled: dict[str, PooledRow]
    """By role; empty for a single log."""

    @property
    def objective(self) -> Objective:
        """The metric that counts, and bounds: the same on all logs."""
        return self.logs[0].objective

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
            found += one.findings(judged, name, others)
        return found

    def findings_over_all(self, judged: str, name: str, others: Mapping[str, str]) -> Iterator[Finding]:
        """Yields what can be said of one contender over all logs; nothing for a single log."""
        for role, words in others.items():
            ratio = self.pooled[judged].against.get(role) if self.pooled else None
            if ratio is not None and role != judged:
                # A ratio over logs is judged by the same words as one on a log.
                as_contrast = Contrast(None, ratio.value, ratio.interval, None, None, ratio.identical)
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
    """One of `BETTER`, `WORSE`, `UNCLEAR`, `IDENTICAL`, `HOLDS`, `BROKEN`."""
    sentence: str
    marks: tuple[str, ...] = ()
    """Of the contender, by name; those that all share are left out."""

    def to_json(self) -> dict[str, Any]:
        """Returns the finding as a plain object."""
        return asdict(self) | {"marks": list(self.marks)}


def make_report(logs: Sequence[One], seed: int = 0) -> Report[One]:
    """Returns the report on all logs; for several of them with ratios over all.

    Args:
        logs: The report on each; objective and roles are the same in all.
        seed: For the drawing of blocks in the intervals.
    """
    pooled = {role: _pooled_row(logs, role, seed) for role in logs[0].contenders} if len(logs) > 1 else {}
    return Report(tuple(logs), pooled)


def _pooled_row(logs: Sequence[LogReport], role: str, seed: int) -> PooledRow:
    def against(base: str) -> Ratio | None:
        pairs = [
            Paired(one.contenders[role].metrics[one.metric], one.contenders[base].metrics[one.metric], one.block)
            for one in logs
        ]
        ratio, same = pooled_ratio(pairs, seed), all(one.contenders[role].against[base].identical for one in logs)
        return None if ratio is None else replace(ratio, identical=same)

    # A geometric mean, so that each log counts the same however long people wait there.
    waits = [one.contenders[role].wait_ratio for one in logs]
    return PooledRow({base: against(base) for base in logs[0].contenders}, float(np.exp(np.mean(np.log(waits)))))


def _finding(name: str, workload: str | None, role: str, other: str, found: Contrast, metric: str) -> Finding:
    result, sentence = judge_contrast(name, other, found, metric)
    return Finding(name, workload, role, result, sentence)


def judge_contrast(name: str, other: str, found: Contrast, metric: str) -> tuple[str, str]:
    """Returns whether one policy is better than another beyond chance, and the sentence that says so.

    The ratio decides; where there is none, for a value is 0, the difference of the means does.

    Args:
        name: What the sentence calls the one.
        other: What it calls the other.
        found: The one against the other.
        metric: What was compared.
    """
    if found.identical:
        return IDENTICAL, f"{name} and {other} are identical: the same in every window"
    if found.ratio is not None:
        # The ratio first: windows differ by orders of magnitude, and busy ones would rule the difference.
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
    # Not "better by 3 %": an interval that holds both answers gives none.
    if low <= neutral <= high:
        return UNCLEAR, f"{name} and {other} cannot be told apart: {amount}"
    if (low > neutral) == higher_is_better(metric):
        return BETTER, f"{name} is better than {other}: {amount}"
    return WORSE, f"{name} is WORSE than {other}: {amount}"


def _same(own: Measured, other: Measured) -> bool:
    """Returns whether two did the same in every window, by every metric that both have."""
    return all(np.array_equal(values, other[name], equal_nan=True) for name, values in own.items() if name in other)


def largest_known(values: NDArray[np.float64]) -> float | None:
    """Returns the largest known value; None if there is none."""
    known = values[np.isfinite(values)]
    return float(known.max()) if len(known) else None


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
