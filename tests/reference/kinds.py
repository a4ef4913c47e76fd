"""How fast kinds of jobs run on each type of GPU: a table, and which of its rows is a job's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tests.reference.model import RefJob

OTHERS = "*"


@dataclass(frozen=True)
class RefRow:
    """The speeds of one kind, for jobs of so many GPUs, on each type, in millionths; 0: it does not run there."""

    kind: str
    gpus: int
    speed_micro: tuple[int, ...]
    slowdown_micro: tuple[tuple[int, int, int], ...] | None = None
    """By how much slower it is on each type if it is spread; None: as all jobs are."""


def with_speeds(job: RefJob, table: Sequence[RefRow]) -> RefJob:
    """Returns a job with the speeds of its kind; without GPUs, or without a row, it runs as its nodes do."""
    rows = [row for row in table if row.kind == job.kind] or [row for row in table if row.kind == OTHERS]
    if job.gpu_milli == 0 or not rows:
        return replace(job, speed_micro=None, slowdown_micro=None)
    not_more = [row for row in rows if 1000 * row.gpus <= job.total_gpu_milli]
    row = max(not_more, key=lambda row: row.gpus) if not_more else min(rows, key=lambda row: row.gpus)
    return replace(job, speed_micro=row.speed_micro, slowdown_micro=row.slowdown_micro)
