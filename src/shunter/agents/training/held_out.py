"""What a training came to: the learned policy beside what one would have had without it, on days not trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from shunter.agents.learned_policy import load_policy
from shunter.agents.training.setup import INITIAL
from shunter.comparison.report import BESIDE, Contender, LogReport, Report, hold_against, make_report
from shunter.comparison.roles import BASELINE, BEGINNING, CHOSEN, LEARNED, OTHERS
from shunter.envs.sources import Use
from shunter.policies.checkpoint import BEST

if TYPE_CHECKING:
    from pathlib import Path

    from shunter.agents.training.setup import Site
    from shunter.agents.training.trials import Trials
    from shunter.comparison.combinations import Combination

ROWS: Final = (BASELINE, CHOSEN, BEGINNING, LEARNED)
"""The rows of a report, by role."""


@dataclass(frozen=True)
class PartReport:
    """What happened on a part of the logs that was not trained on."""

    part: str
    """``validation``, on which the best policy was chosen, or ``report``."""
    report: Report[LogReport]
    """By role in the order of `ROWS`, against the classic chosen on training days."""

    def to_json(self) -> dict[str, Any]:
        """Returns the part as a plain object: for each log and over all, the learned policy against that classic."""
        pooled = self.report.pooled[LEARNED].against[CHOSEN] if self.report.pooled else None
        return {
            "part": self.part,
            "metric": self.report.objective.metric,
            "logs": [_log_object(one) for one in self.report.logs],
            "pooled": None if pooled is None else pooled.to_json(),
        }

    def sentences(self) -> list[str]:
        """Returns what can be said of the learned policy, over all logs and on each, and of its bounds."""
        others = {CHOSEN: OTHERS[CHOSEN]}
        found = self.report.findings(LEARNED, "the learned policy", others)
        return [f"{one.workload or 'all logs'}: {one.sentence}" for one in found]


def _log_object(one: LogReport) -> dict[str, Any]:
    """Returns what happened in the windows of a log."""
    return {
        "name": one.name,
        "windows": len(one.block),
        "blocks": one.blocks,
        "interval_note": one.interval_note,
        "rows": [_row_object(one, role) for role in one.contenders],
    }


def _row_object(one: LogReport, role: str) -> dict[str, Any]:
    row = one.contenders[role]
    broken = [held.bound.metric for held in row.held if not held.holds]
    return one.row_object(role) | row.against[CHOSEN].to_json() | {"broken_bounds": broken}


def report_parts(site: Site, chosen: Sequence[Combination], folder: Path) -> tuple[PartReport, ...]:
    """Measures the best policy of a run, what it began as, and classics.

    Args:
        site: What was learned from.
        chosen: For each log, the classic chosen on training days.
        folder: Of the run.
    """
    config = site.config
    parts = (("validation", config.validation, Use.VALIDATION), ("report", config.report_episodes, Use.REPORT))
    reports = []
    for part, episodes, use in parts:
        trials = site.trials(episodes, use)
        reports.append(_report(part, trials, site, chosen, folder))
        # Environments of a thousand windows hold much memory, and the next part opens its own.
        trials.close()
    return tuple(reports)


def _report(part: str, trials: Trials, site: Site, chosen: Sequence[Combination], folder: Path) -> PartReport:
    metrics = tuple(dict.fromkeys((*site.objective.metrics, *BESIDE)))
    usual = site.source.usual()
    labels = {
        BASELINE: [usual.label] * len(chosen),
        CHOSEN: [one.label for one in chosen],
        BEGINNING: [INITIAL] * len(chosen),
        LEARNED: [BEST] * len(chosen),
    }
    measured = {
        BASELINE: trials.of_schedulers([usual.scheduler] * len(chosen), metrics),
        CHOSEN: trials.of_schedulers([one.scheduler for one in chosen], metrics),
        BEGINNING: trials.of_policy(load_policy(folder / INITIAL), metrics),
        LEARNED: trials.of_policy(load_policy(folder / BEST), metrics),
    }
    logs = []
    for place, (group, block) in enumerate(zip(trials.groups, trials.blocks, strict=True)):
        found = {role: Contender(labels[role][place], measured[role][place]) for role in ROWS}
        held = hold_against(found, block, site.objective, CHOSEN)
        logs.append(LogReport(group.name, block, site.objective, CHOSEN, held))
    return PartReport(part, make_report(logs))
