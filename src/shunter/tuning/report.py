"""A tuned policy on later days, beside what the site has, and what it could have had without tuning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from shunter.comparison.classics import Progress, classics, learns, part_of
from shunter.comparison.comparison import compare_combinations
from shunter.comparison.report import LogReport, Report, make_report, report_rows
from shunter.policies.native import REQUESTED

if TYPE_CHECKING:
    from shunter.comparison.combinations import Combination
    from shunter.comparison.comparison import Scored
    from shunter.comparison.objective import Objective
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
OTHERS: Final = {
    BEST: "the best classic in hindsight",
    BEST_LEARNED: "the best classic in hindsight with the same estimate",
    CHOSEN: "the classic chosen on training days",
    SITE: "the site's policy",
}
"""What the tuned policy is held against, and what sentences call it."""


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
class LaterReport(LogReport):
    """What happened on the later days of one log."""

    later: Later
    scored: dict[str, Scored]
    """By role."""

    def to_json(self) -> dict[str, Any]:
        """Returns the report on this log as a plain object."""
        workload, windows, tuned = self.later.log.workload, self.later.windows, self.scored[TUNED]
        return {
            "workload": workload.name,
            "workload_sha256": workload.content_sha256,
            "cluster": self.later.log.cluster.name,
            "jobs": len(workload),
            "windows": len(windows),
            "blocks": windows.blocks,
            "first": windows.first.tolist(),
            "interval_note": self.interval_note,
            "rejected": tuned.rejected,
            "estimated_from": tuned.estimated_from,
            "ledger": tuned.ledger.to_json(),
            "rows": [self.row_object(role) for role in self.rows],
        }

    def row_object(self, role: str) -> dict[str, Any]:
        """Returns a row as a plain object, with the settings behind it."""
        settings = self.scored[role].combination.settings
        words = {"policy": settings.policy, "dispatch": settings.dispatch, "estimate": settings.estimate}
        return super().row_object(role) | words


def report_later(
    logs: Sequence[Later],
    tuned: Combination,
    site: Combination,
    objective: Objective,
    *,
    seed: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
) -> Report[LaterReport]:
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
    requested = classics(tuned.scheduler, [REQUESTED])
    learned = classics(tuned.scheduler, [tuned.scheduler.settings.estimate]) if learns(tuned.scheduler) else ()
    everybody = list(dict.fromkeys([*requested, *learned, site, tuned]))
    reports = []
    for place, later in enumerate(logs):
        comparison = compare_combinations(
            later.log,
            everybody,
            later.windows,
            metric=objective.metric,
            seed=seed,
            threads=threads,
            progress=part_of(progress, place, len(logs)),
        )
        # In the order of the comparison: the best first.
        found = {one.combination: one for one in comparison.scored}
        roles = _classic_roles([one for key, one in found.items() if key in requested], CHOSEN, later.chosen, BEST)
        if learned:
            those = [one for key, one in found.items() if key in learned]
            roles |= _classic_roles(those, CHOSEN_LEARNED, later.chosen_learned, BEST_LEARNED)
        roles = {SITE: found[site], **roles, TUNED: found[tuned]}
        contenders = {role: (one.combination.label, one.metrics) for role, one in roles.items()}
        rows = report_rows(contenders, later.windows.block, objective, CHOSEN, seed)
        reports.append(LaterReport(later.log.workload.name, later.windows.block, CHOSEN, rows, later, roles))
    return make_report(objective, reports, seed)


def _classic_roles(scored: Sequence[Scored], chosen: str, label: str, best: str) -> dict[str, Scored]:
    """Returns the classic that training days would choose, and the best of all, which comes first."""
    return {chosen: next(one for one in scored if one.combination.label == label), best: scored[0]}
