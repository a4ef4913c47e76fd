"""Learned policies on held-out windows, beside the classics that one would have had without learning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from shunter.comparison.compare import held_against
from shunter.comparison.objective import mean_ratio
from shunter.comparison.rows import combination_rows
from shunter.comparison.statistics import LEAST_BLOCKS, contrast
from shunter.metrics.table import higher_is_better
from shunter.policies.estimates import REQUESTED

if TYPE_CHECKING:
    from shunter.comparison.combinations import Combination
    from shunter.comparison.compare import Comparison, Scored
    from shunter.comparison.statistics import Contrast

LEARNED, ALSO, CLASSIC = "learned", "also", "classic"
BEST, BEST_SAME = "best classic", "best classic with the same estimate"
"""What a row is. The best are the best in hindsight: on the very windows that everything is judged on."""
BETTER, WORSE, UNCLEAR = "better", "worse", "unclear"
PERCENT: Final = 100.0


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
class Finding:
    """One sentence on a policy."""

    label: str
    against: str
    """The label of a classic."""
    result: str
    """One of `BETTER`, `WORSE`, `UNCLEAR`."""
    sentence: str

    def to_json(self) -> dict[str, Any]:
        """Returns the finding as a plain object."""
        return asdict(self)


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

    def _of(self, judged: Combination) -> Iterator[Finding]:
        estimates = {REQUESTED: "the best classic in hindsight"}
        if judged.scheduler.estimate.kind != REQUESTED:
            estimates[judged.settings.estimate] = "the best classic in hindsight with the same estimate"
        own = next(one for one in self.comparison.scored if one.combination == judged)
        for estimate, words in estimates.items():
            best = self.best(estimate)
            if best is not None:
                yield self._finding(own, best, f"{words} ({best.combination.label})")

    def _finding(self, own: Scored, best: Scored, words: str) -> Finding:
        metric, block = self.comparison.metric, self.comparison.windows.block
        higher = higher_is_better(metric)
        found = contrast(own.metrics[metric], best.metrics[metric], block, higher_is_better=higher, seed=self.seed)
        label = own.combination.label
        result, sentence = _verdict(label, words, found, higher)
        return Finding(label, best.combination.label, result, sentence)


def _best(comparison: Comparison, entrants: Entrants, estimate: str) -> Scored | None:
    for one in comparison.scored:
        if one.combination in entrants.classics and one.combination.settings.estimate == estimate:
            return one
    return None


def _verdict(name: str, other: str, found: Contrast, higher: bool) -> tuple[str, str]:
    """Returns whether a policy is better than another for sure, and the sentence that says so."""
    if found.ratio is None:
        amount = "" if found.difference is None else f": difference of the means {found.difference:.3g}"
        return UNCLEAR, f"{name} against {other} cannot be judged by a ratio, for a value is 0{amount}"
    if found.ratio_interval is None:
        few = f"no interval: fewer than {LEAST_BLOCKS} blocks"
        return UNCLEAR, f"{name} against {other} cannot be judged: ratio {found.ratio:.3g} ({few})"
    low, high = found.ratio_interval
    if low <= 1 <= high:
        return (
            UNCLEAR,
            f"{name} and {other} cannot be told apart: ratio {found.ratio:.3g} (95 %: {low:.3g} to {high:.3g})",
        )
    gains = sorted(abs(PERCENT * (ratio - 1)) for ratio in (low, high))
    is_better = (low > 1) == higher
    words = "better" if is_better else "WORSE"
    by = f"{abs(PERCENT * (found.ratio - 1)):.3g} % (95 %: {gains[0]:.3g} to {gains[1]:.3g} %)"
    return BETTER if is_better else WORSE, f"{name} is {words} than {other} by {by}"


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
