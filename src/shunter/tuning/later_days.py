"""A tuned policy on later days, beside what the site has, and what it could have had without tuning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shunter.comparison.classics import Progress, classics, learns, part_of
from shunter.comparison.comparison import Comparison, best_first, run_combinations
from shunter.comparison.report import Report, make_report
from shunter.comparison.roles import BASELINE, BEGINNING, BEST, BEST_SAME, CHOSEN, CHOSEN_SAME, EARLIEST, TUNED
from shunter.policies.native import REQUESTED

if TYPE_CHECKING:
    from shunter.comparison.combinations import Combination
    from shunter.comparison.comparison import Scored
    from shunter.comparison.objective import Objective
    from shunter.engines.base import Engine
    from shunter.model.log import Log
    from shunter.model.windows import Windows


@dataclass(frozen=True)
class Later:
    """The later days of a log, and which classics would have been chosen on its training days."""

    log: Log
    windows: Windows
    chosen: str
    """Among classics that see requested times, as ``f2/easy``."""
    chosen_learned: str
    """Among classics that see the estimate of the tuned policy."""


def later_object(one: Comparison) -> dict[str, Any]:
    """Returns what happened on the later days of one log as a plain object."""
    tuned = one.contenders[TUNED]
    return {
        "workload": one.workload.name,
        "workload_sha256": one.workload.content_sha256,
        "cluster": one.cluster.name,
        "jobs": len(one.workload),
        "windows": len(one.windows),
        "blocks": one.windows.blocks,
        "first": one.windows.first.tolist(),
        "interval_note": one.interval_note,
        "believability": None if one.believability is None else one.believability.to_json(),
        "contention_note": one.quiet_note,
        "rejected": tuned.rejected,
        "estimated_from": tuned.estimated_from,
        "ledger": tuned.ledger.to_json(),
        "rows": later_rows(one),
    }


def later_rows(one: Comparison) -> list[dict[str, Any]]:
    """Returns each role as a plain object, with the settings behind it."""
    rows = []
    for role, scored in one.contenders.items():
        settings = scored.combination.settings
        words = {"policy": settings.policy, "dispatch": settings.dispatch, "estimate": settings.estimate}
        rows.append(one.row_object(role) | words)
    return rows


def report_later(
    logs: Sequence[Later],
    tuned: Combination,
    site: Combination,
    objective: Objective,
    beginning: Combination,
    earliest: Combination | None = None,
    *,
    seed: int = 0,
    threads: int = 1,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Report[Comparison]:
    """Simulates everything in windows of later days, and compares.

    Args:
        logs: The later days of each log.
        tuned: The tuned policy with its dispatch rule and its estimate.
        site: What the site has now.
        objective: What the policy was tuned for.
        beginning: The score that the search began with.
        earliest: The rule of the earliest finish, where types of GPUs are chosen.
        seed: For the drawing of blocks in the intervals.
        threads: How many threads share the windows.
        engine: Where chunks of windows run; None: in this process.
        progress: Called after each combination with how many are done, and of how many.
    """
    requested = classics(tuned.scheduler, [REQUESTED])
    learned = classics(tuned.scheduler, [tuned.scheduler.settings.estimate]) if learns(tuned.scheduler) else ()
    # The site may have one of the classics, which is then run once.
    everybody = list(dict.fromkeys([*requested, *learned, site, beginning, *([earliest] if earliest else []), tuned]))
    reports = []
    for place, later in enumerate(logs):
        told = part_of(progress, place, len(logs))
        runs = run_combinations(
            later.log, everybody, later.windows, objective.metric, threads=threads, engine=engine, progress=told
        )
        # In hindsight: on the very windows on which all are judged. Nobody could have known it before, which makes it
        # the hardest rival.
        ordered = best_first(runs.values(), later.windows.block, objective.metric)
        roles = {BASELINE: runs[site]}
        roles |= _classic_roles([one for one in ordered if one.combination in requested], CHOSEN, later.chosen, BEST)
        if learned:
            those = [one for one in ordered if one.combination in learned]
            roles |= _classic_roles(those, CHOSEN_SAME, later.chosen_learned, BEST_SAME)
        roles |= {EARLIEST: runs[earliest]} if earliest else {}
        roles |= {BEGINNING: runs[beginning], TUNED: runs[tuned]}
        whole = Comparison.of(roles, later.log, later.windows, objective, CHOSEN, seed=seed, site=site.scheduler)
        reports.append(whole)
    return make_report(reports, seed)


def _classic_roles(scored: Sequence[Scored], chosen: str, label: str, best: str) -> dict[str, Scored]:
    """Returns the classic that training days would choose, and the best of all, which comes first."""
    return {chosen: next(one for one in scored if one.label == label), best: scored[0]}
