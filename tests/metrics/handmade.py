"""Schedules made by hand, without the core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shunter.model.cluster import Cluster, Node
from shunter.model.log import Ledger
from shunter.model.schedule import Outcome, RejectReason, Schedule, Stops
from shunter.model.settings import Settings
from shunter.model.workload import Workload

SETTINGS = Settings()


@dataclass
class Stop:
    """A stretch of time after which a job was stopped."""

    start: float
    end: float
    nodes: dict[int, int]
    by_failure: bool = False


@dataclass
class Row:
    """One job and what happened to it; a start of None means that it never started."""

    submit: float
    start: float | None
    """The last one, if it was stopped."""
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
    stops: list[Stop] = field(default_factory=list)
    run: float | None = None
    """What the log says; None: from the start to the end."""
    requested: float | None = None
    priority: float | None = None
    partition: str | None = None

    @property
    def first_start(self) -> float | None:
        return self.stops[0].start if self.stops and self.start is not None else self.start


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
        start_s=_times([row.first_start for row in rows]),
        latest_start_s=_times([row.start for row in rows]),
        stops=_stops(rows),
        failures=np.array([sum(stop.by_failure for stop in row.stops) for row in rows], dtype=np.int32),
        end_s=_times([row.end for row in rows]),
        outcome=np.array([row.outcome for row in rows], dtype=np.uint8),
        reject_reason=np.array([row.reason for row in rows], dtype=np.uint8),
        preemptions=np.array([sum(not stop.by_failure for stop in row.stops) for row in rows], dtype=np.int32),
        placement_offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        placement_nodes=np.array([node for row in rows for node in row.nodes], dtype=np.int32),
        placement_tasks=np.array([tasks for row in rows for tasks in row.nodes.values()], dtype=np.int32),
    )


def _times(times: Sequence[float | None]) -> NDArray[np.float64]:
    return np.array([np.nan if time is None else time for time in times], dtype=np.float64)


def _stops(rows: Sequence[Row]) -> Stops | None:
    jobs = [(job, stop) for job, row in enumerate(rows) for stop in row.stops]
    if not jobs:
        return None
    return Stops(
        job=np.array([job for job, _ in jobs], dtype=np.int32),
        start_s=np.array([stop.start for _, stop in jobs], dtype=np.float64),
        end_s=np.array([stop.end for _, stop in jobs], dtype=np.float64),
        node_offsets=np.concatenate([[0], np.cumsum([len(stop.nodes) for _, stop in jobs])]).astype(np.int64),
        nodes=np.array([node for _, stop in jobs for node in stop.nodes], dtype=np.int32),
        tasks=np.array([tasks for _, stop in jobs for tasks in stop.nodes.values()], dtype=np.int32),
        by_failure=np.array([stop.by_failure for _, stop in jobs], dtype=np.bool_),
    )


def _run_s(row: Row) -> float:
    if row.run is not None:
        return float(row.run)
    return 0.0 if row.start is None or row.end is None else float(row.end - row.start)


def _workload(rows: Sequence[Row]) -> Workload:
    columns = {
        "job_id": list(range(1, len(rows) + 1)),
        "submit_s": [float(row.submit) for row in rows],
        "run_s": [_run_s(row) for row in rows],
        "requested_s": [row.requested for row in rows],
        "tasks": [row.tasks or sum(row.nodes.values()) or 1 for row in rows],
        "cores_per_task": [float(row.cores) for row in rows],
        "memory_mb_per_task": [row.memory for row in rows],
        "gpus_per_task": [float(row.gpus) for row in rows],
        "user": [row.user for row in rows],
        "priority": [row.priority for row in rows],
        "partition": [row.partition for row in rows],
    }
    schema: dict[str, type[pl.DataType]] = dict.fromkeys(("memory_mb_per_task", "requested_s", "priority"), pl.Float64)
    schema |= dict.fromkeys(("user", "partition"), pl.String)
    return Workload.from_frame(pl.DataFrame(columns, schema_overrides=schema), name="handmade")
