"""An audit decided again by another policy: how often both agree, and what the other would have gained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from shunter.errors import InputError, ShunterError
from shunter.execution.deciding import queue_scheduler
from shunter.execution.operating.audit import audit_lines, read_input
from shunter.execution.operating.counterfactual import KIND as COUNTERFACTUAL
from shunter.execution.operating.folder import OperationFolder
from shunter.execution.operating.judge import disagreement, policy_digest, verdict_of
from shunter.execution.operating.picture import Picture, Row, fitting, workload_of
from shunter.metrics.table import compute_metrics
from shunter.model.schedule import Phase
from shunter.simulation.run import simulate

if TYPE_CHECKING:
    from shunter.model.cluster import Cluster
    from shunter.policies.scheduler import Scheduler

METRICS: Final = ("mean_wait_s", "mean_bounded_slowdown", "max_wait_s")
SIDES: Final = ("policy", "against")
"""The policy that decides again, and the one to beat."""
GATE: Final = "mean_wait_s"
"""What must not become worse."""


@dataclass
class Replayed:
    """What a replay gave."""

    policy: str
    against: str = ""
    ways: dict[str, str] = field(default_factory=dict)
    """By side, ``policy`` and ``against``: the policy with its dispatch rule and its estimate."""
    is_same: bool = False
    """Whether both sides are one and the same."""
    decisions: int = 0
    """How many were decided again."""
    without_input: int = 0
    """How many could not be: what they rested on is not kept any more."""
    failures: int = 0
    """How often the policy failed."""
    same_first: float = 0.0
    """The share of decisions in which both put the same job first."""
    same_pairs: float = 0.0
    """The mean share of pairs of jobs that both order alike."""
    same_starts: float = 0.0
    """The share of decisions in which both would start the same jobs."""
    jobs: int = 0
    """How many jobs were simulated."""
    without_end: int = 0
    """Of these, how many had not ended, and are taken to run as long as they ask for."""
    unfit: int = 0
    """How many more were not, for they fit on no nodes of the latest reading."""
    logged_mean_wait_s: float | None = None
    """The mean wait of those that were seen to start, as it was."""
    counterfactuals: int = 0
    """How many the audit tells of, while its policies were at work."""
    counterfactuals_gained: int = 0
    """Of these, those in which the policy of then saved more waiting than the simulation is wrong by."""
    simulated: dict[str, dict[str, float | None]] = field(default_factory=dict)
    """Metrics by side: both may have the same name."""

    @property
    def is_better(self) -> bool:
        """Whether the policy may be promoted: it never failed, and jobs would not have waited longer."""
        ours, theirs = (self.simulated.get(name, {}).get(GATE) for name in SIDES)
        return not self.failures and ours is not None and theirs is not None and ours <= theirs


def replay_audit(path: Path, words: Mapping[str, Any], against: str | None) -> Replayed:
    """Decides an audit again, and simulates its jobs under both policies.

    Args:
        path: The file ``audit.jsonl`` of an operation, or its folder; what was decided on lies beside it.
        words: The settings that name the policy.
        against: The policy to beat; None: the latest of the audit, with its dispatch rule and its estimate.

    Raises:
        InputError: There is no such audit, nothing of it can be decided again, or a policy is wrong.
    """
    if path.is_dir():
        path = OperationFolder(path).audit
    scheduler = queue_scheduler(words)
    seen: dict[int, Row] = {}
    latest: Picture | None = None
    found = Replayed(scheduler.settings.policy)
    decided: dict[str, Any] = {}
    alike: list[tuple[bool, float, bool]] = []
    for line in audit_lines(path):
        if line.get("kind") is not None:
            # No cycle, but something that was found out beside it.
            if line["kind"] == COUNTERFACTUAL:
                found.counterfactuals += 1
                found.counterfactuals_gained += bool(line.get("is_gain"))
            continue
        if not line.get("input_sha256"):
            continue
        decided = line
        file = path.parent / "inputs" / f"{line['input_sha256']}.json.gz"
        if not file.exists():
            found.without_input += 1
            continue
        latest = read_input(file)
        _see(seen, latest.rows)
        _compare(found, alike, line, latest, scheduler)
    if latest is None and not decided:
        raise InputError(f"{path}: in none of its cycles was there anything to decide; ask again when somebody waits")
    if latest is None:
        raise InputError(f"{path}: nothing of it can be decided again; are the files in {path.parent / 'inputs'} gone?")
    if alike:
        firsts, pairs, starts = zip(*alike, strict=True)
        found.same_first, found.same_pairs, found.same_starts = (
            sum(values) / len(alike) for values in (firsts, pairs, starts)
        )
    rival = queue_scheduler({"policy": against}) if against else _of_the_audit(path, decided)
    found.against, found.is_same = rival.settings.policy, policy_digest(rival) == policy_digest(scheduler)
    _simulate(found, list(seen.values()), latest.cluster, (scheduler, rival))
    return found


def _of_the_audit(path: Path, line: Mapping[str, Any]) -> Scheduler:
    """Returns the way to schedule that a line of an audit was decided by.

    Raises:
        InputError: It comes from a file that has changed since.
    """
    # Audits of earlier versions name the policy alone.
    names = ("policy", "dispatch", "estimate")
    rival = queue_scheduler({name: str(line[name]) for name in names if line.get(name)})
    if rival.files and policy_digest(rival) != line.get("policy_sha256"):
        what = f"{path}: was decided by {line['policy']} as it was then, which is not what it is now"
        raise InputError(f"{what}; name the policy to beat with --against, such as a copy of the file of then")
    return rival


def _compare(
    found: Replayed,
    alike: list[tuple[bool, float, bool]],
    line: Mapping[str, Any],
    picture: Picture,
    scheduler: Scheduler,
) -> None:
    found.decisions += 1
    try:
        verdict = verdict_of(picture, scheduler)
    # A policy that fails once is not promoted, whatever the reason.
    except (ShunterError, ValueError, ArithmeticError):
        found.failures += 1
        return
    order = [int(id) for id in line["order"]]
    starts = {int(id) for id in line["chosen"]}
    is_same_first = order[:1] == list(verdict.order[:1])
    alike.append((is_same_first, 1 - disagreement(verdict.order, order), starts == set(verdict.starts)))


def _see(seen: dict[int, Row], rows: Sequence[Row]) -> None:
    """Remembers the jobs that were waiting or running, with their ends once these are known."""
    for row in rows:
        id, before = row.job.id, seen.get(row.job.id)
        if before is not None:
            # What a job asked for when it was first seen is kept: where it came to run may look different, and its
            # priority may be one that Shunter has nudged.
            asked = {name: getattr(before.job, name) for name in ("partitions", "gpu_type", "priority")}
            seen[id] = Row(replace(row.job, **asked), row.phase, before.shape)
        elif row.phase != Phase.COMPLETED:
            seen[id] = row


def _simulate(found: Replayed, rows: Sequence[Row], cluster: Cluster, ways: Sequence[Scheduler]) -> None:
    """Simulates jobs in their partitions, by the site's tiers, under both ways to schedule."""
    by_id = {row.job.id: row for row in rows}
    come = [Row(row.job, Phase.FUTURE, row.shape) for row in rows]
    latest_s = max(row.job.submit_s for row in rows)
    fits, unfit = fitting(come, latest_s, cluster)
    rows = [by_id[row.job.id] for row in fits]
    ended = [row for row in rows if row.phase == Phase.COMPLETED]
    waits = [row.job.start_s - row.job.submit_s for row in rows if row.job.start_s is not None]
    found.jobs, found.without_end, found.unfit = len(rows), len(rows) - len(ended), len(unfit)
    found.logged_mean_wait_s = sum(waits) / len(waits) if waits else None
    workload = workload_of(fits, latest_s, cluster)
    run_s = pl.Series("run_s", [_run_s(row) for row in rows], pl.Float64)
    workload = replace(workload, jobs=workload.jobs.with_columns(run_s))
    for side, way in zip(SIDES, ways, strict=True):
        said = way.settings
        found.ways[side] = f"{said.policy} ({said.dispatch}, {said.estimate})"
        found.simulated[side] = compute_metrics(simulate(workload, cluster, way), METRICS)


def _run_s(row: Row) -> float:
    if row.job.end_s is not None and row.job.start_s is not None:
        return max(0.0, row.job.end_s - row.job.start_s)
    return row.job.requested_s or 0.0
