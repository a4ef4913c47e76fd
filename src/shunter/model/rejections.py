"""Why a job can never fit, in words: what it asks for and what the cluster has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shunter.model.schedule import RejectReason

if TYPE_CHECKING:
    from shunter.model.cluster import Cluster, Node
    from shunter.model.schedule import Schedule

REASON_TITLES: dict[RejectReason, str] = {
    RejectReason.NO_SUCH_PARTITION: "no such partition",
    RejectReason.CORES: "not enough cores",
    RejectReason.MEMORY: "not enough memory",
    RejectReason.GPUS: "not enough GPUs",
    RejectReason.COMBINATION: "no nodes with this combination",
}
"""A few words for each reason."""


@dataclass(frozen=True)
class Rejection:
    """One rejected job."""

    job_id: int | str
    reason: RejectReason
    asks: str
    """What the job asks for: ``asks for 512 tasks of 1 core``."""
    has: str
    """What there is instead: ``the cluster has 256 cores``."""


def explain_rejections(schedule: Schedule) -> Iterator[tuple[int, Rejection]]:
    """Yields the row and the explanation of each rejected job, in the order of the workload."""
    rows = np.flatnonzero(schedule.rejected)
    for row, job in zip(rows.tolist(), schedule.workload.jobs[rows].iter_rows(named=True), strict=True):
        yield row, explain_rejection(job, RejectReason(schedule.reject_reason[row]), schedule.cluster)


def explain_rejection(job: dict[str, Any], reason: RejectReason, cluster: Cluster) -> Rejection:
    """Returns what a job asks for and what the cluster has instead.

    Args:
        job: a row of the workload's table.
        reason: the core's reason.
        cluster: the nodes that the job was offered.
    """
    if reason is RejectReason.NO_SUCH_PARTITION:
        known = ", ".join(cluster.partitions)
        has = f"the cluster has {known}" if known else "the cluster has no partitions"
        return Rejection(job["job_id"], reason, f"asks for partition {job['partition']!r}", has)
    return Rejection(job["job_id"], reason, f"asks for {_request(job, reason)}", _supply(job, reason, cluster))


def count(value: float, thing: str) -> str:
    """Returns a number with its thing: ``1 core``, ``1,024 cores``, ``0.5 cores``."""
    return f"{value:,.15g} {thing}" + ("" if value == 1 else "s")


def _request(job: dict[str, Any], reason: RejectReason) -> str:
    parts = {
        RejectReason.CORES: count(job["cores_per_task"], "core"),
        RejectReason.MEMORY: f"{job['memory_mb_per_task'] or 0:,.15g} MB",
        RejectReason.GPUS: count(job["gpus_per_task"], "GPU"),
    }
    wanted = parts[reason] if reason in parts else f"({', '.join(parts.values())})"
    return f"{count(job['tasks'], 'task')} of {wanted}"


def _supply(job: dict[str, Any], reason: RejectReason, cluster: Cluster) -> str:
    # A cluster without partitions serves every job, whatever partition the log names.
    partition = job["partition"] if cluster.partitions else None
    nodes = [node for node in cluster.nodes if partition is None or node.partition == partition]
    place = "the cluster" if partition is None else f"partition {partition!r}"
    if reason is RejectReason.CORES:
        return f"{place} has {_total([node.cores for node in nodes], 'core')}"
    if reason is RejectReason.GPUS:
        return f"{place} has {_total([node.gpus for node in nodes], 'GPU')}"
    if reason is RejectReason.MEMORY:
        return f"{place} has {_total([node.memory_mb or 0 for node in nodes], 'MB')}"
    return f"no nodes of {place} have room for that together (largest: {_largest(nodes)})"


def _total(amounts: Sequence[float], unit: str) -> str:
    def text(value: float) -> str:
        return f"{value:,.15g} MB" if unit == "MB" else count(value, unit)

    if len(amounts) == 1:
        return text(amounts[0])
    return f"{text(sum(amounts))} on {count(len(amounts), 'node')}, at most {text(max(amounts, default=0))} on one"


def _largest(nodes: Sequence[Node]) -> str:
    node = max(nodes, key=lambda node: (node.gpus, node.cores, node.memory_mb or 0))
    memory = "memory untracked" if node.memory_mb is None else f"{node.memory_mb:,} MB"
    return f"{node.name} with {count(node.cores, 'core')}, {memory}, {count(node.gpus, 'GPU')}"
