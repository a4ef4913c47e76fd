"""What any simulator shows of a schedule, so that two can be compared job by job."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from shunter.model.schedule import Outcome, RejectReason
from tests.reference.model import Config, RefJob, RefNode, Result
from tests.reference.simulator import simulate


@dataclass(frozen=True)
class ObservedJob:
    """What became of one job."""

    start_ms: int | None
    end_ms: int | None
    outcome: Outcome
    reject_reason: RejectReason
    nodes: tuple[tuple[int, int], ...]
    """(node, tasks), by node number."""
    eligible_ms: int | None = None
    """Since when it might run, if it did."""


Observed: TypeAlias = list[ObservedJob]
"""One entry a job, in the order of the table."""
Simulator: TypeAlias = Callable[[Sequence[RefJob], Sequence[RefNode], Config], Observed]


def observe(result: Result) -> Observed:
    """Returns what the reference simulator's result shows."""
    return [
        ObservedJob(
            start_ms,
            end_ms,
            outcome,
            reason,
            result.nodes(job),
            None if start_ms is None else result.eligible_ms[job],
        )
        for job, (start_ms, end_ms, outcome, reason) in enumerate(
            zip(result.start_ms, result.end_ms, result.outcome, result.reject_reason, strict=True)
        )
    ]


def run_reference(
    jobs: Sequence[RefJob], nodes: Sequence[RefNode], config: Config, before: Sequence[RefJob] = ()
) -> Observed:
    """Runs the reference simulator."""
    return observe(simulate(jobs, nodes, config, before))
