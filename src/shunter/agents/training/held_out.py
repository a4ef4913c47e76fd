"""What a training came to: the learned policy beside what one would have had without it, on days not trained on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
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
    from shunter.comparison.classics import Progress
    from shunter.comparison.combinations import Combination
    from shunter.comparison.objective import Objective
    from shunter.comparison.report import Finding
    from shunter.model.settings import Settings
    from shunter.policies.scheduler import Scheduler

CHECKPOINTS: Final = {LEARNED: BEST_FOLDER, BEGINNING: INITIAL}
"""The folders of a run whose policies are judged, by role."""


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


def report_parts(
    site: Site, chosen: Sequence[Combination], folder: Path, progress: Progress | None = None
) -> tuple[PartReport, ...]:
    """Measures the best policy of a run, what it began as, and classics.

    Args:
        site: What was learned from.
        chosen: For each log, the classic chosen on training days.
        folder: Of the run.
        progress: Called after each policy with how many are done, and of how many.
    """
    parts = (
        ("validation", site.config.validation, Use.VALIDATION),
        (REPORT, site.report_episodes, Use.REPORT),
    )
    rivals = {part: _rivals(part, site, chosen) for part, _, _ in parts}
    counts = {part: len(CHECKPOINTS) + sum(map(len, those.values())) for part, those in rivals.items()}
    total, before = sum(counts.values()), 0
    reports = []
    for part, episodes, use in parts:
        trials = site.trials(episodes, use)
        told = None if progress is None else partial(_from, progress, before, total)
        reports.append(_report(part, Judging(trials, site.objective, told), rivals[part], folder))
        before += counts[part]
        # Environments of a thousand windows hold much memory, and the next part opens its own.
        trials.close()
    return tuple(reports)


def _from(progress: Progress, before: int, total: int, done: int) -> None:
    progress(before + done, total)


def _rivals(part: str, site: Site, chosen: Sequence[Combination]) -> dict[str, list[list[Combination]]]:
    """Returns by role what the learned policy is held against: one or more policies, each named for every group."""
    source, groups = site.source, len(chosen)
    found = {CHOSEN: [list(chosen)], BASELINE: [[source.usual()] * groups]}
    if (tuned := source.tuned()) is not None:
        found[TUNED] = [[tuned] * groups]
    if part == REPORT:
        # In hindsight, on the very windows that all are judged on; on validation nothing is judged.
        for role, those in ((BEST, source.rivals()), (BEST_SAME, source.rivals(same_estimate=True))):
            if those:
                found[role] = [[one] * groups for one in those]
    return found


def _report(part: str, judging: Judging, rivals: Mapping[str, list[list[Combination]]], folder: Path) -> PartReport:
    measured = {role: judging.learned(folder / name) for role, name in CHECKPOINTS.items()}
    measured |= {role: judging.best(those) for role, those in rivals.items()}
    trials, objective = judging.trials, judging.objective
    logs = []
    for place, (group, block) in enumerate(zip(trials.groups, trials.blocks, strict=True)):
        found = {role: measured[role][place] for role in (LEARNED, *JUDGED_AGAINST) if role in measured}
        held = hold_against(found, block, objective, CHOSEN)
        logs.append(LogReport(group.name, block, objective, CHOSEN, held))
    return PartReport(part, make_report(logs))


class Judging:
    """Measures policies on the same episodes, each once, and tells how many are done."""

    def __init__(self, trials: Trials, objective: Objective, progress: Callable[[int], None] | None = None) -> None:
        """Takes the episodes, by what policies are compared, and what is told after each of them."""
        self.trials = trials
        self.objective = objective
        self._metrics = tuple(dict.fromkeys((*objective.metrics, *BESIDE)))
        self._progress = progress
        self._done = 0
        self._known: dict[tuple[int, Settings], Contender] = {}

    def learned(self, checkpoint: Path) -> list[Contender]:
        """Returns what a checkpoint does, by group."""
        policy = load_policy(checkpoint)
        options, every = policy.options, enumerate(self.trials.run_policy(policy))
        found = [
            self._contender(place, checkpoint.name, options.scheduler, results, is_learned=options.chooses_jobs)
            for place, results in every
        ]
        self._tell()
        return found

    def best(self, those: Sequence[Sequence[Combination]]) -> list[Contender]:
        """Returns for each group what the best of some policies does; each is named for every group."""
        every = [self._simulated(one) for one in those]
        return [
            best_first((rows[place] for rows in every), block, self.objective.metric)[0]
            for place, block in enumerate(self.trials.blocks)
        ]

    def _simulated(self, those: Sequence[Combination]) -> list[Contender]:
        """Returns what policies of Shunter's own do, one for each group."""
        found = []
        for place, one in enumerate(those):
            # The chosen classic and the baseline are among all the classics, too.
            known = self._known.get((place, one.settings))
            if known is None:
                results = self.trials.benches[place].run(one.scheduler)
                known = self._contender(place, one.label, one.scheduler, results, is_learned=False)
                self._known[place, one.settings] = known
            found.append(replace(known, label=one.label))
        self._tell()
        return found

    def _contender(
        self, place: int, label: str, scheduler: Scheduler, results: Results, *, is_learned: bool
    ) -> Contender:
        """Returns what somebody did in the episodes of a group, with the marks of it."""
        bench = self.trials.benches[place]
        marks = marks_of(scheduler, bench.requests(), bench.bases(results), is_learned=is_learned)
        return Contender(label, bench.measure_results(results, self._metrics), marks)

    def _tell(self) -> None:
        self._done += 1
        if self._progress is not None:
            self._progress(self._done)
