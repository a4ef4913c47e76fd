"""Learned policies on held-out windows, beside the classics that one would have had without learning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shunter.comparison.classics import learns
from shunter.comparison.compare import held_against
from shunter.comparison.objective import Objective, mean_ratio
from shunter.comparison.report import Finding, LogReport, findings_on, report_rows
from shunter.comparison.rows import combination_rows
from shunter.policies.estimates import REQUESTED

if TYPE_CHECKING:
    from shunter.comparison.combinations import Combination
    from shunter.comparison.compare import Comparison, Scored

LEARNED, ALSO, CLASSIC = "learned", "also", "classic"
BEST, BEST_SAME = "best classic", "best classic with the same estimate"
"""What a row is. The best are the best in hindsight: on the very windows that everything is judged on."""


@dataclass(frozen=True)
class Entrants:
    """Who takes part."""

    learned: tuple[Combination, ...]
    also: tuple[Combination, ...]
    """Other policies that are judged like the learned ones."""
    classics: tuple[Combination, ...]
    """Some see requested times, others what learned policies see."""

    @property
    def all(self) -> tuple[Combination, ...]:
        """Everybody, each once."""
        return tuple(dict.fromkeys([*self.learned, *self.also, *self.classics]))


@dataclass(frozen=True)
class Evaluation:
    """What everybody did, held against the best classic in hindsight."""

    comparison: Comparison
    entrants: Entrants
    seed: int

    @staticmethod
    def of(comparison: Comparison, entrants: Entrants, seed: int = 0) -> Evaluation:
        """Takes a comparison of all entrants, whatever its baseline; without classics the baseline stays."""
        best = _best(comparison, entrants, REQUESTED)
        if best is not None:
            comparison = held_against(comparison, best.combination, seed)
        return Evaluation(comparison, entrants, seed)

    def best(self, estimate: str = REQUESTED) -> Scored | None:
        """Returns the best classic that sees these run times; None if there is none."""
        return _best(self.comparison, self.entrants, estimate)

    def role(self, combination: Combination) -> str:
        """Returns what a row is."""
        for role, members in ((LEARNED, self.entrants.learned), (ALSO, self.entrants.also)):
            if combination in members:
                return role
        best = self.best(combination.settings.estimate)
        if best is None or best.combination != combination:
            return CLASSIC
        return BEST if combination.settings.estimate == REQUESTED else BEST_SAME

    def rows(self) -> list[dict[str, Any]]:
        """Returns one row a combination, the best first: what a comparison tells, its role, and the wait's ratio."""
        base = self.comparison.against.metrics["mean_wait_s"]
        return [
            row
            | {
                "role": self.role(one.combination),
                "mean_wait_ratio": mean_ratio(one.metrics["mean_wait_s"], base),
            }
            for row, one in zip(combination_rows(self.comparison), self.comparison.scored, strict=True)
        ]

    def shown(self, classics: int) -> tuple[Scored, ...]:
        """Returns what a table has room for: everybody who is judged, the best classics, the best of each estimate."""
        left = classics
        kept = []
        for one in self.comparison.scored:
            plain = self.role(one.combination) == CLASSIC
            is_classic = one.combination in self.entrants.classics
            if not plain or left > 0:
                kept.append(one)
            left -= is_classic
        return tuple(kept)

    def findings(self) -> list[Finding]:
        """Returns what it comes to: every policy that is judged, against the best classics in hindsight."""
        return [finding for judged in (*self.entrants.learned, *self.entrants.also) for finding in self._of(judged)]

    def _of(self, judged: Combination) -> list[Finding]:
        words = {REQUESTED: "the best classic in hindsight"}
        if learns(judged.scheduler):
            words[judged.settings.estimate] = "the best classic in hindsight with the same estimate"
        best = {estimate: self.best(estimate) for estimate in words}
        others = {one.combination.label: words[estimate] for estimate, one in best.items() if one is not None}
        return findings_on(self._report(judged, others), self.comparison.metric, judged.label, judged.label, others)

    def _report(self, judged: Combination, others: Mapping[str, str]) -> LogReport:
        """Returns a policy beside some of the classics; roles are labels."""
        comparison, labels = self.comparison, (judged.label, *others)
        found = {one.combination.label: one.metrics for one in comparison.scored}
        contenders = {label: (label, found[label]) for label in labels}
        objective = Objective(comparison.metric)
        rows = report_rows(contenders, comparison.windows.block, objective, judged.label, self.seed)
        return LogReport(comparison.workload.name, comparison.windows.block, judged.label, rows)


def _best(comparison: Comparison, entrants: Entrants, estimate: str) -> Scored | None:
    for one in comparison.scored:
        if one.combination in entrants.classics and one.combination.settings.estimate == estimate:
            return one
    return None


def settings_warnings(entrants: Entrants) -> list[str]:
    """Returns a warning for each learned policy that does not work under the conditions of the classics."""
    warnings = []
    first, *others = entrants.learned
    for name in ("placement", "missing_request", "reserve_by", "max_wait_s"):
        shared = getattr(first.settings, name)
        for other in others:
            if (own := getattr(other.settings, name)) != shared:
                what = f"{name} {own}, and {first.label} and all classics with {shared}"
                warnings.append(f"{other.label} runs with {what}; evaluate it alone")
    return warnings
