"""A tuned policy on later days, beside what the site has, and what it could have had without tuning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from shunter.comparison.compare import compare
from shunter.comparison.objective import mean_ratio
from shunter.comparison.pooled import Paired, pooled_ratio
from shunter.comparison.statistics import contrast
from shunter.metrics.table import higher_is_better
from shunter.policies.estimates import REQUESTED
from shunter.tuning.tune import Progress, classics, learns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.comparison.combinations import Combination
    from shunter.comparison.compare import Scored
    from shunter.comparison.objective import Bound, Objective
    from shunter.comparison.pooled import Ratio
    from shunter.comparison.statistics import Contrast
    from shunter.model.log import Log
    from shunter.model.windows import Windows

SITE, CHOSEN, BEST, TUNED = "site", "chosen", "best", "tuned"
CHOSEN_LEARNED, BEST_LEARNED = "chosen-same-estimate", "best-same-estimate"
ROLES: Final = {
    SITE: "the site's",
    CHOSEN: "chosen in training",
    BEST: "best in hindsight",
    CHOSEN_LEARNED: "chosen + estimate",
    BEST_LEARNED: "hindsight + estimate",
    TUNED: "tuned",
}
"""The rows of a report. Classics see requested times, or (+ estimate) what the tuned policy sees."""


@dataclass(frozen=True)
class Later:
    """The later days of a log, and which classics would have been chosen on its training days."""

    log: Log
    windows: Windows
    chosen: str
    """Among classics that see requested times, as ``f2/easy``."""
    chosen_learned: str
    """Among classics that see the estimate of the tuned policy."""


@dataclass(frozen=True)
class Held:
    """Whether a bound holds on average over the windows."""

    bound: Bound
    ratio: float
    """Of the means, to the classic chosen on training days."""
    holds: bool


@dataclass(frozen=True)
class Row:
    """One way to schedule on the later days of a log."""

    scored: Scored
    against: dict[str, Contrast]
    """The objective's metric against that of other rows, by role."""
    wait_ratio: float
    """Of the mean waits, to the classic chosen on training days."""
    held: tuple[Held, ...]


@dataclass(frozen=True)
class LogReport:
    """What happened on the later days of one log."""

    later: Later
    rows: dict[str, Row]
    """By role, in the order of `ROLES`."""


@dataclass(frozen=True)
class PooledRow:
    """Ratios over all logs, each of which counts the same."""

    against: dict[str, Ratio | None]
    """The objective's metric against that of other rows, by role."""
    wait_ratio: float
    """The geometric mean over logs."""


@dataclass(frozen=True)
class Report:
    """A tuned policy on the later days of all logs."""

    objective: Objective
    logs: tuple[LogReport, ...]
    pooled: dict[str, PooledRow]
    """By role; empty for a single log."""


def report(
    logs: Sequence[Later],
    tuned: Combination,
    site: Combination,
    objective: Objective,
    *,
    seed: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
) -> Report:
    """Simulates everything in windows of later days, and compares.

    Args:
        logs: The later days of each log.
        tuned: The tuned policy with its dispatch rule and its estimate.
        site: What the site has now.
        objective: What the policy was tuned for.
        seed: For the drawing of blocks in the intervals.
        threads: How many threads share the windows.
        progress: Called after each combination with how many are done, and of how many.
    """
    judge = _Judge(tuned, site, objective, seed, threads)
    reports = []
    for place, later in enumerate(logs):
        reports.append(judge.on(later, part_of(progress, place, len(logs))))
    return Report(objective, tuple(reports), judge.pooled(reports) if len(reports) > 1 else {})


def part_of(progress: Progress | None, place: int, parts: int) -> Progress | None:
    """Returns what is told of the progress of one of several parts that are alike."""
    if progress is None:
        return None
    return lambda done, total: progress(place * total + done, parts * total)


class _Judge:
    """Holds everything against the same classics."""

    def __init__(self, tuned: Combination, site: Combination, objective: Objective, seed: int, threads: int) -> None:
        self._tuned = tuned
        self._site = site
        self._objective = objective
        self._seed = seed
        self._threads = threads
        self._requested = classics(tuned.scheduler, [REQUESTED])
        self._learned = (
            classics(tuned.scheduler, [tuned.scheduler.settings.estimate]) if learns(tuned.scheduler) else ()
        )

    def on(self, later: Later, progress: Progress | None) -> LogReport:
        """Returns all rows on one log."""
        comparison = compare(
            later.log.workload,
            later.log.cluster,
            list(dict.fromkeys([*self._requested, *self._learned, self._site, self._tuned])),
            later.windows,
            metric=self._objective.metric,
            seed=self._seed,
            threads=self._threads,
            progress=progress,
        )
        # In the order of the comparison: the best first.
        found = {one.combination: one for one in comparison.scored}
        requested = {key.label: one for key, one in found.items() if key in self._requested}
        learned = {key.label: one for key, one in found.items() if key in self._learned}
        roles = {SITE: found[self._site], CHOSEN: requested[later.chosen], BEST: next(iter(requested.values()))}
        if learned:
            roles |= {CHOSEN_LEARNED: learned[later.chosen_learned], BEST_LEARNED: next(iter(learned.values()))}
        roles[TUNED] = found[self._tuned]
        return LogReport(later, {role: self._row(scored, roles, later) for role, scored in roles.items()})

    def _row(self, scored: Scored, roles: Mapping[str, Scored], later: Later) -> Row:
        own, chosen = scored.metrics, roles[CHOSEN].metrics
        metric, block = self._objective.metric, later.windows.block
        higher = higher_is_better(metric)
        against = {
            role: contrast(own[metric], base.metrics[metric], block, higher_is_better=higher, seed=self._seed)
            for role, base in roles.items()
        }
        held = (
            Held(
                bound,
                mean_ratio(own[bound.metric], chosen[bound.metric]),
                self._objective.excess(bound, own, chosen) <= 0,
            )
            for bound in self._objective.bounds
        )
        return Row(scored, against, mean_ratio(own["mean_wait_s"], chosen["mean_wait_s"]), tuple(held))

    def pooled(self, reports: Sequence[LogReport]) -> dict[str, PooledRow]:
        """Returns the rows over all logs."""
        return {role: self._pooled_row(reports, role) for role in reports[0].rows}

    def _pooled_row(self, reports: Sequence[LogReport], role: str) -> PooledRow:
        def values(one: LogReport, of: str) -> NDArray[np.float64]:
            return one.rows[of].scored.metrics[self._objective.metric]

        def against(base: str) -> Ratio | None:
            pairs = [Paired(values(one, role), values(one, base), one.later.windows.block) for one in reports]
            return pooled_ratio(pairs, self._seed)

        waits = [one.rows[role].wait_ratio for one in reports]
        pooled_wait = float(np.exp(np.mean(np.log(waits))))
        return PooledRow({base: against(base) for base in reports[0].rows}, pooled_wait)
