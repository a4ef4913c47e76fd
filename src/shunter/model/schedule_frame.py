"""A schedule as tables: one row a job, and one row a stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from shunter.model.access import access_of
from shunter.model.conditions import CONDITION_COLUMNS
from shunter.model.fitting import explain_rejections
from shunter.model.schedule import Outcome

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.model.schedule import Schedule, Stops

CANCELLED_REASON = "left before it had started"
ADMITTED = "admitted"
"""The column of partitions that admitted a job."""
KILLED_REASON = "killed at its requested time"
FAILED_REASON = "its nodes failed under it 1,000 times"


def schedule_frame(schedule: Schedule) -> pl.DataFrame:
    """Returns one row a job, in the order of the workload, with times in seconds; what does not apply is null."""
    jobs = schedule.workload.jobs
    # In arrays NaN stands for what did not happen; a table says null.
    frame = pl.DataFrame(
        {
            "job_id": jobs["job_id"],
            "user": jobs["user"],
            "submit_s": jobs["submit_s"],
            "start_s": schedule.start_s,
            "latest_start_s": schedule.start_s if schedule.latest_start_s is None else schedule.latest_start_s,
            "end_s": schedule.end_s,
            "queue_wait_s": schedule.queue_wait_s,
            "duration_s": schedule.duration_s,
            "turnaround_s": schedule.turnaround_s,
            "bounded_slowdown": schedule.bounded_slowdown,
            "tasks": jobs["tasks"],
            "cores": schedule.cores,
            "memory_mb": jobs["tasks"] * jobs["memory_mb_per_task"],
            "gpus": schedule.gpus,
            "gpu_type": jobs["gpu_type"] if "gpu_type" in jobs.columns else [None] * len(jobs),
            **({"kind": jobs["kind"]} if "kind" in jobs.columns else {}),
            "partition": jobs["partition"],
            **({"features": jobs["features"]} if "features" in jobs.columns else {}),
            **_admitted(schedule),
            **_exclusive(schedule),
            **_requested(schedule),
            **_conditions(schedule),
            **_asked_of_site(schedule),
        },
        schema_overrides={"gpu_type": pl.String},
    ).with_columns(pl.col("^.*_s$", "bounded_slowdown").fill_nan(None))
    placed = schedule.placement_offsets, schedule.placement_nodes, schedule.placement_tasks
    return frame.with_columns(
        _node_lists(schedule, *placed),
        pl.Series("success", schedule.outcome == Outcome.COMPLETED),
        pl.Series("outcome", [Outcome(number).name.lower() for number in schedule.outcome.tolist()], dtype=pl.String),
        _reasons(schedule),
        pl.Series("preemptions", schedule.preemptions),
        pl.Series("failures", np.zeros(len(schedule), np.int32) if schedule.failures is None else schedule.failures),
    )


def _admitted(schedule: Schedule) -> dict[str, pl.Series]:
    """Returns the partitions that admitted each job, where the site has rules for that."""
    rules = schedule.cluster.rules
    if not (rules.partitions or rules.default_partition):
        return {}
    access = access_of(schedule.workload.jobs, schedule.cluster)
    names = pl.Series([",".join(route.partitions) or None for route in access.routes], dtype=pl.String)
    return {ADMITTED: names.gather(access.route)}


def _exclusive(schedule: Schedule) -> dict[str, pl.Series]:
    """Returns which jobs had their nodes for themselves; nothing where none had."""
    jobs, partitions = schedule.workload.jobs, schedule.cluster.rules.partitions.values()
    if "exclusive" not in jobs.columns and not any(rules.exclusive for rules in partitions):
        return {}
    flags = access_of(jobs, schedule.cluster).exclusive(jobs)
    return {} if flags is None else {"exclusive": pl.Series(flags).cast(pl.Boolean)}


def _requested(schedule: Schedule) -> dict[str, pl.Series]:
    """Returns for how long each job asked; nothing where the log does not tell it."""
    requested_s = schedule.workload.jobs["requested_s"]
    return {} if requested_s.null_count() == len(requested_s) else {"requested_s": requested_s}


def _conditions(schedule: Schedule) -> dict[str, pl.Series | NDArray[np.float64]]:
    """Returns what kept jobs from waiting, and since when they waited; nothing where no job was ever held."""
    jobs = schedule.workload.jobs
    if schedule.eligible_s is None:
        return {}
    told = {name: jobs[name] for name in (*CONDITION_COLUMNS, "name") if name in jobs.columns}
    return {"eligible_s": schedule.eligible_s, **told}


def _asked_of_site(schedule: Schedule) -> dict[str, pl.Series]:
    """Returns what a site's limits and reservations go by; nothing where it has none."""
    jobs, rules = schedule.workload.jobs, schedule.cluster.rules
    if not (rules.bind_starts or rules.hold_jobs):
        return {}
    return {name: jobs[name] for name in ("account", "qos", "licenses") if name in jobs.columns}


def stops_frame(schedule: Schedule, stops: Stops) -> pl.DataFrame:
    """Returns one row a stop: its job, from when until when it held which nodes, and whether one of them failed."""
    return pl.DataFrame(
        {
            "job_id": schedule.workload.jobs["job_id"].gather(stops.job),
            "start_s": stops.start_s,
            "end_s": stops.end_s,
            "nodes": _node_lists(schedule, stops.node_offsets, stops.nodes, stops.tasks),
            "by_failure": stops.by_failure,
        }
    )


def _reasons(schedule: Schedule) -> pl.Series:
    """Returns why each job was rejected, killed, given up or cancelled, null for the others."""
    reasons: list[str | None] = [None] * len(schedule)
    for row, rejection in explain_rejections(schedule):
        # Only few jobs are rejected, so a sentence for each is cheap.
        reasons[row] = f"{rejection.asks}; {rejection.has}"
    for outcome, reason in (
        (Outcome.KILLED, KILLED_REASON),
        (Outcome.FAILED, FAILED_REASON),
        (Outcome.CANCELLED, CANCELLED_REASON),
    ):
        for row in np.flatnonzero(schedule.outcome == outcome).tolist():
            reasons[row] = reason
    return pl.Series("reason", reasons, dtype=pl.String)


def _node_lists(
    schedule: Schedule, offsets: NDArray[np.int64], nodes: NDArray[np.int32], tasks: NDArray[np.int32]
) -> pl.Series:
    """Returns for each list its nodes by name with their tasks; null for an empty one."""
    names = pl.Series([node.name for node in schedule.cluster.nodes], dtype=pl.String)
    lists = len(offsets) - 1
    # Flat arrays of nodes become one list a job; Polars groups them faster than Python could.
    entries = pl.DataFrame(
        {"row": np.repeat(np.arange(lists), np.diff(offsets)), "node": names.gather(nodes), "tasks": tasks}
    )
    grouped = entries.group_by("row", maintain_order=True).agg(pl.struct("node", "tasks").alias("nodes"))
    rows = pl.DataFrame({"row": np.arange(lists)})
    return rows.join(grouped, on="row", how="left", maintain_order="left")["nodes"]
