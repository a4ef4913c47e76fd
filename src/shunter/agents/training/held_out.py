"""What a training came to: the learned policy beside what one would have had without it, on days not trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from shunter.agents.learned_policy import load_policy
from shunter.comparison.comparison import best_first
from shunter.comparison.marks import marks_of
from shunter.comparison.report import BESIDE, Contender, LogReport, Report, hold_against, make_report
from shunter.comparison.roles import (
    BASELINE,
    BEGINNING,
    BEST,
    BEST_SAME,
    CHOSEN,
    JUDGED_AGAINST,
    LEARNED,
    TUNED,
)
from shunter.envs.sources import Use
from shunter.policies.checkpoint import BEST as BEST_FOLDER
from shunter.policies.checkpoint import INITIAL

if TYPE_CHECKING:
    from pathlib import Path

    from shunter.agents.training.setup import Site
    from shunter.agents.training.trials import Results, Trials
    from shunter.comparison.combinations import Combination
    from shunter.comparison.objective import Objective
    from shunter.comparison.report import Finding
    from shunter.policies.scheduler import Scheduler


REPORT: Final = "report"
"""The part that the result is judged on, which nobody has looked at before."""


@dataclass(frozen=True)
class PartReport:
    """What happened on a part of the logs that was not trained on."""

    part: str
    """``validation``, on which the best policy was chosen, or ``report``."""
    report: Report[LogReport]
    """By role, the learned policy first; waits and bounds refer to the classic chosen on training days."""

    def to_json(self) -> dict[str, Any]:
        """Returns the part as a plain object: each log, all of them together, and what it comes to."""
        return {
            "part": self.part,
            "metric": self.report.objective.metric,
            "logs": [_log_object(one) for one in self.report.logs],
            "pooled": self.report.pooled_objects(),
            "verdict": [finding.to_json() for finding in self.findings()],
        }

    def findings(self) -> list[Finding]:
        """Returns what can be said of the learned policy, over all logs and on each, and of its bounds."""
        return self.report.findings(LEARNED, "the learned policy", JUDGED_AGAINST)


def _log_object(one: LogReport) -> dict[str, Any]:
    """Returns what happened in the windows of a log."""
    return {
        "name": one.name,
        "windows": len(one.block),
        "blocks": one.blocks,
        "interval_note": one.interval_note,
        "rows": [one.row_object(role) for role in one.contenders],
    }


def report_parts(site: Site, chosen: Sequence[Combination], folder: Path) -> tuple[PartReport, ...]:
    """Measures the best policy of a run, what it began as, and classics.

    Args:
        site: What was learned from.
        chosen: For each log, the classic chosen on training days.
        folder: Of the run.
    """
    parts = (
        ("validation", site.config.validation, Use.VALIDATION),
        (REPORT, site.report_episodes, Use.REPORT),
    )
    reports = []
    for part, episodes, use in parts:
        trials = site.trials(episodes, use)
        reports.append(_report(part, trials, site, chosen, folder))
        # Environments of a thousand windows hold much memory, and the next part opens its own.
        trials.close()
    return tuple(reports)


def _report(part: str, trials: Trials, site: Site, chosen: Sequence[Combination], folder: Path) -> PartReport:
    metrics = tuple(dict.fromkeys((*site.objective.metrics, *BESIDE)))
    measured = {
        LEARNED: _learned(trials, folder / BEST_FOLDER, metrics),
        BEGINNING: _learned(trials, folder / INITIAL, metrics),
    }
    rivals = {CHOSEN: list(chosen), BASELINE: [site.source.usual()] * len(chosen)}
    if (tuned := site.source.tuned()) is not None:
        rivals = {TUNED: [tuned] * len(chosen), **rivals}
    for role, combinations in rivals.items():
        measured[role] = _simulated(trials, combinations, metrics)
    if part == REPORT:
        # In hindsight, on the very windows that all are judged on; on validation nothing is judged.
        for role, those in ((BEST, site.source.rivals()), (BEST_SAME, site.source.rivals(same_estimate=True))):
            if those:
                measured[role] = _best(trials, those, metrics, site.objective)
    logs = []
    for place, (group, block) in enumerate(zip(trials.groups, trials.blocks, strict=True)):
        found = {role: measured[role][place] for role in (LEARNED, *JUDGED_AGAINST) if role in measured}
        held = hold_against(found, block, site.objective, CHOSEN)
        logs.append(LogReport(group.name, block, site.objective, CHOSEN, held))
    return PartReport(part, make_report(logs))


def _learned(trials: Trials, checkpoint: Path, metrics: Sequence[str]) -> list[Contender]:
    """Returns what a checkpoint does, by group."""
    policy = load_policy(checkpoint)
    results = trials.run_policy(policy)
    options, groups = policy.options, len(results)
    labels, schedulers = [checkpoint.name] * groups, [options.scheduler] * groups
    return _contenders(trials, labels, schedulers, results, metrics, is_learned=options.chooses_jobs)


def _simulated(trials: Trials, those: Sequence[Combination], metrics: Sequence[str]) -> list[Contender]:
    """Returns what policies of Shunter's own do, one for each group."""
    schedulers = [one.scheduler for one in those]
    return _contenders(
        trials, [one.label for one in those], schedulers, trials.run_schedulers(schedulers), metrics, is_learned=False
    )


def _contenders(
    trials: Trials,
    labels: Sequence[str],
    schedulers: Sequence[Scheduler],
    results: Sequence[Results],
    metrics: Sequence[str],
    *,
    is_learned: bool,
) -> list[Contender]:
    """Returns what somebody did, by group, with the marks of it."""
    columns = zip(labels, schedulers, trials.benches, results, trials.measured(results, metrics), strict=True)
    return [
        Contender(label, measured, marks_of(scheduler, bench.requests(), bench.bases(found), is_learned=is_learned))
        for label, scheduler, bench, found, measured in columns
    ]


def _best(
    trials: Trials, those: Sequence[Combination], metrics: Sequence[str], objective: Objective
) -> list[Contender]:
    """Returns for each group what the best of some policies does."""
    every = [_simulated(trials, [one] * len(trials.groups), metrics) for one in those]
    return [
        best_first((rows[place] for rows in every), block, objective.metric)[0]
        for place, block in enumerate(trials.blocks)
    ]
