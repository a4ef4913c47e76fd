"""An audit decided again by another policy: how often both agree, and what the other would have gained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from shunter.errors import InputError, ShunterError
from shunter.execution.deciding import queue_scheduler
from shunter.execution.operating.audit import audit_lines, read_input
from shunter.execution.operating.counterfactual import KIND as COUNTERFACTUAL
from shunter.execution.operating.judge import disagreement, verdict_of
from shunter.execution.operating.picture import Picture, Row
from shunter.metrics.table import compute_metrics
from shunter.model.schedule import Phase
from shunter.model.workload import Workload
from shunter.simulation.run import simulate

if TYPE_CHECKING:
    from shunter.model.cluster import Cluster
    from shunter.policies.scheduler import Scheduler

METRICS: Final = ("mean_wait_s", "mean_bounded_slowdown", "max_wait_s")
GATE: Final = "mean_wait_s"
"""What must not become worse."""


@dataclass
class Replayed:
    """What a replay gave."""

    policy: str
    against: str
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
    logged_mean_wait_s: float | None = None
    """The mean wait of those that were seen to start, as it was."""
    counterfactuals: int = 0
    """How many the audit tells of, while its policies were at work."""
    counterfactuals_gained: int = 0
    """Of these, those in which the policy of then saved more waiting than the simulation is wrong by."""
    simulated: dict[str, dict[str, float | None]] = field(default_factory=dict)
    """Metrics by policy."""

    @property
    def is_better(self) -> bool:
        """Whether the policy may be promoted: it never failed, and jobs would not have waited longer."""
        ours, theirs = (self.simulated.get(name, {}).get(GATE) for name in (self.policy, self.against))
        return not self.failures and ours is not None and theirs is not None and ours <= theirs


def replay_audit(path: Path, words: Mapping[str, Any], against: str | None) -> Replayed:
    """Decides an audit again, and simulates its jobs under both policies.

    Args:
        path: The file ``audit.jsonl`` of an operation; what was decided on lies beside it.
        words: The settings that name the policy.
        against: The policy to beat; None: the latest that the audit names.

    Raises:
        InputError: There is no such audit, nothing of it can be decided again, or a policy is wrong.
    """
    scheduler = queue_scheduler(words)
    seen: dict[int, Row] = {}
    latest: Picture | None = None
    found = Replayed(scheduler.settings.policy, against or "")
    alike: list[tuple[bool, float, bool]] = []
    for line in audit_lines(path):
        if line.get("kind") is not None:
            # No cycle, but something that was found out beside it.
            if line["kind"] == COUNTERFACTUAL:
                found.counterfactuals += 1
                found.counterfactuals_gained += bool(line.get("is_gain"))
            continue
        if not against and line.get("policy"):
            found.against = str(line["policy"])
        if not line.get("input_sha256"):
            continue
        file = path.parent / "inputs" / f"{line['input_sha256']}.json.gz"
        if not file.exists():
            found.without_input += 1
            continue
        latest = read_input(file)
        _see(seen, latest.rows)
        _compare(found, alike, line, latest, scheduler)
    if latest is None:
        raise InputError(f"{path}: nothing of it can be decided again; are the files in {path.parent / 'inputs'} gone?")
    if alike:
        firsts, pairs, starts = zip(*alike, strict=True)
        found.same_first, found.same_pairs, found.same_starts = (
            sum(values) / len(alike) for values in (firsts, pairs, starts)
        )
    _simulate(found, list(seen.values()), latest.cluster, scheduler)
    return found


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
        if row.phase != Phase.COMPLETED:
            # What a job asked for is its shape; where it came to run may look different.
            seen[id] = Row(row.job, row.phase, before.shape if before else row.shape)
        elif before is not None:
            seen[id] = Row(row.job, row.phase, before.shape)


def _simulate(found: Replayed, rows: Sequence[Row], cluster: Cluster, scheduler: Scheduler) -> None:
    ended = [row for row in rows if row.phase == Phase.COMPLETED]
    waits = [row.job.start_s - row.job.submit_s for row in rows if row.job.start_s is not None]
    found.jobs, found.without_end = len(rows), len(rows) - len(ended)
    found.logged_mean_wait_s = sum(waits) / len(waits) if waits else None
    frame = pl.DataFrame(
        {
            "job_id": [row.job.id for row in rows],
            "submit_s": [row.job.submit_s for row in rows],
            "run_s": [_run_s(row) for row in rows],
            "requested_s": [row.job.requested_s for row in rows],
            "tasks": [row.shape.tasks for row in rows],
            "cores_per_task": [row.shape.cores for row in rows],
            "memory_mb_per_task": pl.Series([row.shape.memory_mb for row in rows], dtype=pl.Float64),
            "gpus_per_task": [row.shape.gpus for row in rows],
            "user": [row.job.user for row in rows],
        }
    )
    workload = Workload.from_frame(frame, name="audit", content_sha256="audit")
    for policy, way in ((found.policy, scheduler), (found.against, queue_scheduler({"policy": found.against}))):
        schedule = simulate(workload, cluster, way)
        found.simulated[policy] = compute_metrics(schedule, METRICS)


def _run_s(row: Row) -> float:
    if row.job.end_s is not None and row.job.start_s is not None:
        return max(0.0, row.job.end_s - row.job.start_s)
    return row.job.requested_s or 0.0
