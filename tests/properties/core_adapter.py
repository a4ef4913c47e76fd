"""Runs the reference simulator's jobs and nodes through the Rust core, by way of the public interface."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from shunter.model.cluster import Cluster, Node
from shunter.model.conditions import CONDITION_COLUMNS
from shunter.model.schedule import Outcome, RejectReason, Schedule
from shunter.model.site import NO_RULES, SiteRules
from shunter.model.workload import Workload
from tests.properties.observed import Observed, ObservedJob
from tests.reference.model import Config, RefJob, RefNode


def workload_of(jobs: Sequence[RefJob]) -> Workload:
    """Returns the jobs as a workload, in seconds, cores and GPUs."""
    frame = pl.DataFrame(
        {
            "job_id": list(range(len(jobs))),
            "submit_s": [job.submit_ms / 1000 for job in jobs],
            "run_s": [job.run_ms / 1000 for job in jobs],
            "requested_s": [None if job.requested_ms is None else job.requested_ms / 1000 for job in jobs],
            "tasks": [job.tasks for job in jobs],
            "cores_per_task": [job.cores_milli / 1000 for job in jobs],
            "memory_mb_per_task": [None if job.memory_mb is None else float(job.memory_mb) for job in jobs],
            "gpus_per_task": [job.gpu_milli / 1000 for job in jobs],
            "partition": [job.partition for job in jobs],
            "user": [job.user for job in jobs],
            "queue": [job.queue for job in jobs],
            "priority": [job.priority for job in jobs],
            "logged_wait_s": [None if job.logged_wait_ms is None else job.logged_wait_ms / 1000 for job in jobs],
            **condition_columns(jobs),
            **site_columns(jobs),
        },
        schema_overrides={
            **dict.fromkeys(["requested_s", "memory_mb_per_task", "priority", "logged_wait_s"], pl.Float64),
            **dict.fromkeys(["partition", "user", "queue", "status"], pl.String),
            **CONDITION_COLUMNS,
            **dict.fromkeys(["name", "account", "qos", "licenses"], pl.String),
        },
    )
    return Workload.from_frame(frame, name="property")


def site_columns(jobs: Sequence[RefJob]) -> dict[str, list[object]]:
    """Returns what a site's rules go by, as a workload has it; nothing where no job has any of it."""
    if all((job.account, job.qos, job.licenses) == (None, None, ()) for job in jobs):
        return {}
    return {
        "account": [job.account for job in jobs],
        "qos": [job.qos for job in jobs],
        "licenses": [",".join(f"{name}:{count}" for name, count in job.licenses) or None for job in jobs],
    }


def condition_columns(jobs: Sequence[RefJob]) -> dict[str, list[object]]:
    """Returns what keeps jobs from waiting, as a workload has it; nothing where no job has any of it."""
    told = [(job.begin_ms, job.release_ms, job.cancel_ms, job.needs, job.singleton, job.array) for job in jobs]
    if all(one == (None, None, None, (), False, None) for one in told) and not any(job.fails for job in jobs):
        return {}

    def seconds(time_ms: int | None) -> float | None:
        return None if time_ms is None else time_ms / 1000

    def needs(job: RefJob) -> str | None:
        delayed = [(kind, other, f"+{delay_ms / 1000:.3f}s" if delay_ms else "") for kind, other, delay_ms in job.needs]
        words = [f"{kind}:{other}{delay}" for kind, other, delay in delayed] + ["singleton"] * job.singleton
        return ",".join(words) or None

    return {
        "begin_s": [seconds(job.begin_ms) for job in jobs],
        "release_s": [seconds(job.release_ms) for job in jobs],
        "cancel_s": [seconds(job.cancel_ms) for job in jobs],
        "depends_on": [needs(job) for job in jobs],
        "array_id": [job.array for job in jobs],
        "array_limit": [job.array_limit for job in jobs],
        "name": [job.name for job in jobs],
        "status": ["failed" if job.fails else None for job in jobs],
    }


def cluster_of(nodes: Sequence[RefNode], rules: SiteRules = NO_RULES) -> Cluster:
    """Returns the nodes as a cluster with these rules."""
    return Cluster.from_nodes(
        tuple(
            Node(
                f"n{number}",
                node.cores_milli / 1000,
                node.memory_mb,
                node.gpus,
                partitions=(node.partition,) if node.partition else (),
            )
            for number, node in enumerate(nodes)
        ),
        name="property",
        rules=rules,
    )


def run_core(
    jobs: Sequence[RefJob], nodes: Sequence[RefNode], config: Config, before: Sequence[RefJob] = ()
) -> Observed:
    """Runs the core on the same jobs, nodes and configuration; ``before`` are the jobs of the log before the first."""
    from shunter.simulation import simulate

    assert isinstance(config.policy, str), "a score written in Python has no name in the core"
    missing_request = "run-time" if config.missing_request_ms is None else str(config.missing_request_ms / 1000)
    schedule = simulate(
        workload_of([*before, *jobs]).window(len(before)),
        cluster_of(nodes, config.rules),
        policy=config.policy,
        dispatch=config.dispatch,
        # first-available brings its own placement and refuses any other.
        placement=None if config.policy == "first-available" else config.placement,
        estimate=config.estimate,
        missing_request=missing_request,
        reserve_by=config.reserve_by,
        kill_at_request=config.kill_at_request,
        max_wait_s=None if config.max_wait_ms is None else config.max_wait_ms / 1000,
        size_by=config.size_by,
        scan_depth=config.scan_depth,
        seed=config.seed,
    )
    return [observe_row(schedule, row) for row in range(len(jobs))]


def observe_row(schedule: Schedule, row: int) -> ObservedJob:
    """Returns what a schedule shows of one job."""
    places = slice(schedule.placement_offsets[row], schedule.placement_offsets[row + 1])
    nodes = zip(schedule.placement_nodes[places].tolist(), schedule.placement_tasks[places].tolist(), strict=True)
    return ObservedJob(
        milliseconds(schedule.start_s[row]),
        milliseconds(schedule.end_s[row]),
        Outcome(schedule.outcome[row]),
        RejectReason(schedule.reject_reason[row]),
        tuple(sorted(nodes)),
        milliseconds(schedule.eligible_ms[row] / 1000) if np.isfinite(schedule.start_s[row]) else None,
    )


def milliseconds(seconds: np.float64) -> int | None:
    """Returns a time as a whole number of milliseconds, None for NaN."""
    return None if np.isnan(seconds) else round(float(seconds) * 1000)
