"""What a training came to: the learned policy beside what one would have had without it, on days not trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shunter.agents.learned_policy import load_policy
from shunter.agents.training.setup import INITIAL, REPORT, VALIDATION
from shunter.agents.training.validation import UTILIZATION, WAIT, placement_combination
from shunter.comparison.combinations import combine
from shunter.comparison.objective import mean_ratio
from shunter.comparison.statistics import Paired, contrast, interval_note, pooled_ratio, summarize
from shunter.envs.options import PickHostOptions
from shunter.metrics.table import higher_is_better
from shunter.policies.catalog import PLACEMENTS
from shunter.policies.checkpoint import BEST

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from shunter.agents.training.setup import Site
    from shunter.agents.training.trials import Group, Trials
    from shunter.comparison.bench import Measured
    from shunter.comparison.combinations import Combination
    from shunter.comparison.objective import Bound, Objective
    from shunter.comparison.statistics import Contrast, Ratio, Summary

LEARNED, CHOSEN, SITE, BEGINNING = "learned", "chosen", "site", "initial"
ROLES: Final = {
    SITE: "usual",
    CHOSEN: "chosen in training",
    BEGINNING: "before training",
    LEARNED: "learned",
}
"""The rows of a report."""
USUAL: Final = "fcfs/easy"
"""What sites have that have never thought about it."""
LONGEST: Final = "max_wait_s"


@dataclass(frozen=True)
class Row:
    """One way to schedule in the episodes of a group."""

    label: str
    metrics: Measured
    summary: Summary
    """Of the objective's metric."""
    against: Contrast
    """The same against the classic chosen in training."""
    wait_ratio: float
    """Of the mean waits, to the classic chosen in training."""
    broken: tuple[Bound, ...]
    """The bounds that do not hold."""


@dataclass(frozen=True)
class GroupReport:
    """All rows in the episodes of a group."""

    name: str
    block: NDArray[np.int64]
    rows: dict[str, Row]
    """By role, in the order of `ROLES`."""


@dataclass(frozen=True)
class PartReport:
    """A part of the logs that was not trained on."""

    part: str
    """``validation``, on which the best policy was chosen, or ``report``."""
    groups: tuple[GroupReport, ...]
    pooled: Ratio | None
    """The learned policy against the chosen classics over all groups, where there are several."""


def report_parts(site: Site, chosen: Sequence[Combination], folder: Path) -> tuple[PartReport, ...]:
    """Measures the best policy of a run, what it began as, and classics.

    Args:
        site: What was learned from.
        chosen: For each log, the classic chosen on training days.
        folder: Of the run.
    """
    parts = (("validation", site.config.validation, VALIDATION), ("report", site.report, REPORT))
    reports = []
    for part, episodes, seed_step in parts:
        trials = site.trials(episodes, seed_step)
        reports.append(_report(part, trials, site, chosen, folder))
        trials.close()
    return tuple(reports)


def _report(part: str, trials: Trials, site: Site, chosen: Sequence[Combination], folder: Path) -> PartReport:
    metrics = tuple(dict.fromkeys((*site.objective.metrics, WAIT, UTILIZATION, LONGEST)))
    usual = usual_combination(site)
    labels = {
        SITE: [usual.label] * len(chosen),
        CHOSEN: [one.label for one in chosen],
        BEGINNING: [INITIAL] * len(chosen),
        LEARNED: [BEST] * len(chosen),
    }
    measured = {
        SITE: trials.of_schedulers([usual.scheduler] * len(chosen), metrics),
        CHOSEN: trials.of_schedulers([one.scheduler for one in chosen], metrics),
        BEGINNING: trials.of_policy(load_policy(folder / INITIAL), metrics),
        LEARNED: trials.of_policy(load_policy(folder / BEST), metrics),
    }
    groups = []
    for place, group in enumerate(trials.groups):
        found = {role: (labels[role][place], measured[role][place]) for role in ROLES}
        groups.append(_group_report(group, found, site.objective))
    return PartReport(part, tuple(groups), _pooled(groups, site.objective.metric) if len(groups) > 1 else None)


def usual_combination(site: Site) -> Combination:
    """Returns what a site has that has never thought about it, under the environment's settings."""
    options = site.config.environment
    if isinstance(options, PickHostOptions):
        return placement_combination(next(iter(PLACEMENTS)))
    settings = options.scheduler.settings
    policy, dispatch = USUAL.split("/")
    return combine(
        [policy],
        [dispatch],
        [settings.placement],
        missing_request=settings.missing_request,
        reserve_by=settings.reserve_by,
        kill_at_request=settings.kill_at_request,
        max_wait_s=settings.max_wait_s,
        scan_depth=settings.scan_depth,
        seed=settings.seed,
    ).possible[0]


def _group_report(group: Group, found: dict[str, tuple[str, Measured]], objective: Objective) -> GroupReport:
    metric, higher = objective.metric, higher_is_better(objective.metric)
    _, base = found[CHOSEN]
    rows = {
        role: Row(
            label,
            own,
            summarize(own[metric], group.block, higher),
            contrast(own[metric], base[metric], group.block, higher_is_better=higher),
            mean_ratio(own[WAIT], base[WAIT]),
            tuple(bound for bound in objective.bounds if objective.excess(bound, own, base) > 0),
        )
        for role, (label, own) in found.items()
    }
    return GroupReport(group.name, group.block, rows)


def _pooled(groups: Sequence[GroupReport], metric: str) -> Ratio | None:
    return pooled_ratio(
        [Paired(one.rows[LEARNED].metrics[metric], one.rows[CHOSEN].metrics[metric], one.block) for one in groups]
    )


def part_object(part: PartReport, metric: str) -> dict[str, Any]:
    """Returns what happened on a part of the logs."""
    pooled = part.pooled
    low, high = (pooled and pooled.interval) or (None, None)
    return {
        "part": part.part,
        "metric": metric,
        "logs": [group_object(group) for group in part.groups],
        "pooled": None if pooled is None else {"ratio": pooled.value, "ratio_low": low, "ratio_high": high},
    }


def group_object(group: GroupReport) -> dict[str, Any]:
    """Returns what happened in the windows of a log."""
    blocks = len(np.unique(group.block))
    return {
        "name": group.name,
        "windows": len(group.block),
        "blocks": blocks,
        "interval_note": interval_note(blocks),
        "rows": [{"role": role, **row_object(row, group)} for role, row in group.rows.items()],
    }


def row_object(row: Row, group: GroupReport) -> dict[str, Any]:
    """Returns one row: the metric, its ratio to the classic chosen in training, and what lies beside."""
    low, high = row.against.ratio_interval or (None, None)
    return {
        "label": row.label,
        "geometric_mean": row.summary.geometric_mean,
        "mean": row.summary.mean,
        "win_rate": row.against.win_rate,
        "ratio": row.against.ratio,
        "ratio_low": low,
        "ratio_high": high,
        "mean_wait_s": summarize(row.metrics[WAIT], group.block).mean,
        "mean_wait_ratio": row.wait_ratio if np.isfinite(row.wait_ratio) else None,
        "max_wait_s": _largest(row),
        "core_utilization": summarize(row.metrics[UTILIZATION], group.block).mean,
        "broken_bounds": [bound.metric for bound in row.broken],
    }


def _largest(row: Row) -> float | None:
    known = row.metrics[LONGEST][np.isfinite(row.metrics[LONGEST])]
    return float(known.max()) if len(known) else None
