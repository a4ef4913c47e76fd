"""Schedules made by hand, without the core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from shunter.model.cluster import Cluster, Node
from shunter.model.ledger import Ledger
from shunter.model.schedule import Outcome, RejectReason, Schedule, Settings
from shunter.model.workload import Workload

SETTINGS = Settings("fcfs", "easy", "first-fit", "requested", "run-time", "requested", False, None, 1000, 0)


@dataclass
class Row:
    """One job and what happened to it; a start of None means that it never started."""

    submit: float
    start: float | None
    end: float | None
    nodes: dict[int, int] = field(default_factory=dict)
    """Node number: tasks there."""
    cores: float = 1.0
    memory: float | None = None
    gpus: float = 0.0
    user: str | None = None
    outcome: Outcome = Outcome.COMPLETED
    reason: RejectReason = RejectReason.NONE
    tasks: int | None = None


def pool(cores: int) -> Cluster:
    return Cluster.pool(cores)


def cluster(*nodes: Node) -> Cluster:
    return Cluster.from_nodes(nodes, "handmade")


def make_schedule(rows: Sequence[Row], on: Cluster, settings: Settings = SETTINGS) -> Schedule:
    """Returns the schedule of these rows, which must be in the order of their submit times."""
    counts = [len(row.nodes) for row in rows]
    return Schedule(
        workload=_workload(rows),
        cluster=on,
        settings=settings,
        ledger=Ledger(),
        start_s=np.array([np.nan if row.start is None else row.start for row in rows]),
        end_s=np.array([np.nan if row.end is None else row.end for row in rows]),
        outcome=np.array([row.outcome for row in rows], dtype=np.uint8),
        reject_reason=np.array([row.reason for row in rows], dtype=np.uint8),
        preemptions=np.zeros(len(rows), dtype=np.int32),
        placement_offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        placement_nodes=np.array([node for row in rows for node in row.nodes], dtype=np.int32),
        placement_tasks=np.array([tasks for row in rows for tasks in row.nodes.values()], dtype=np.int32),
    )


def _workload(rows: Sequence[Row]) -> Workload:
    columns = {
        "job_id": list(range(1, len(rows) + 1)),
        "submit_s": [float(row.submit) for row in rows],
        "run_s": [0.0 if row.start is None or row.end is None else float(row.end - row.start) for row in rows],
        "tasks": [row.tasks or sum(row.nodes.values()) or 1 for row in rows],
        "cores_per_task": [float(row.cores) for row in rows],
        "memory_mb_per_task": [row.memory for row in rows],
        "gpus_per_task": [float(row.gpus) for row in rows],
        "user": [row.user for row in rows],
    }
    schema = {"memory_mb_per_task": pl.Float64, "user": pl.String}
    return Workload.from_frame(pl.DataFrame(columns, schema_overrides=schema), name="handmade")
