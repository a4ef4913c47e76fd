"""Why a job can never fit, in words: what it asks for and what the cluster has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shunter.errors import InputError
from shunter.model.cluster import ANY_GPU_TYPE, wanted_types
from shunter.model.fitting import can_ever_fit
from shunter.model.schedule import RejectReason
from shunter.model.workload import COLUMNS

if TYPE_CHECKING:
    from shunter.model.cluster import Cluster, Node
    from shunter.model.schedule import Schedule

REASON_TITLES: dict[RejectReason, str] = {
    RejectReason.NO_SUCH_PARTITION: "no such partition",
    RejectReason.NO_SUCH_GPU_TYPE: "no such GPU type",
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
    where: str | None = None
    """Where the job stands in its log: ``jobs.csv:12``; None if it was not read from one."""

    @property
    def text(self) -> str:
        """The job and why it cannot run, in one line."""
        return f"job {self.job_id} {self.asks}; {self.has}"


def explain_rejections(schedule: Schedule) -> Iterator[tuple[int, Rejection]]:
    """Yields the row and the explanation of each rejected job, in the order of the workload."""
    rows = np.flatnonzero(schedule.rejected)
    for row, job in zip(rows.tolist(), schedule.workload.jobs[rows].iter_rows(named=True), strict=True):
        yield row, explain_rejection(job, RejectReason(schedule.reject_reason[row]), schedule.cluster)


def first_rejection(schedule: Schedule, reason: RejectReason | None = None) -> Rejection:
    """Returns the explanation of the first job that was rejected, or rejected for this reason, with its place."""
    rejected = schedule.rejected if reason is None else schedule.rejected & (schedule.reject_reason == reason)
    row = int(rejected.argmax())
    workload = schedule.workload
    job = workload.jobs.row(row, named=True)
    where = None if workload.places is None else workload.places.of(job["job_id"])
    return replace(explain_rejection(job, RejectReason(schedule.reject_reason[row]), schedule.cluster), where=where)


def refuse_rejected(schedule: Schedule) -> None:
    """Raises an error that names the first job that can never run, and where it stands, if there is one."""
    if rejected := int(schedule.rejected.sum()):
        first = first_rejection(schedule)
        named = first.reason in (RejectReason.NO_SUCH_PARTITION, RejectReason.NO_SUCH_GPU_TYPE)
        remedy = f"{'mend the name' if named else 'give a larger cluster'}, or leave --strict out to have such jobs"
        remedy += " rejected and counted"
        of = f"({rejected} of {len(schedule)} jobs)"
        raise InputError(f"{first.where or schedule.workload.name}: {first.text}; {remedy} {of}")


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
    site = _Site.of(job, cluster)
    if reason is RejectReason.NO_SUCH_GPU_TYPE:
        types = dict.fromkeys(node.gpu_type for node in site.nodes if node.gpu_type is not None)
        has = f"{site.name} has {', '.join(types) or 'none of any type'}"
        return Rejection(job["job_id"], reason, f"asks for GPU type {_wanted(job)}", has)
    site = site.usable(job, cluster)
    return Rejection(job["job_id"], reason, f"asks for {_request(job, reason, cluster)}", _supply(job, reason, site))


def count(value: float, thing: str) -> str:
    """Returns a number with its thing: ``1 core``, ``1,024 cores``, ``0.5 cores``."""
    return f"{value:,.15g} {thing}" + ("" if value == 1 else "s")


@dataclass(frozen=True)
class _Site:
    """The part of a cluster that a job may use."""

    name: str
    nodes: Sequence[Node]
    cluster: Cluster
    of_types: str = ""
    """What sentences on it begin with, where only some types are meant."""

    @classmethod
    def of(cls, job: dict[str, Any], cluster: Cluster) -> _Site:
        # A cluster without partitions serves every job, whatever partition the log names.
        partition = job["partition"] if cluster.partitions else None
        nodes = [node for node in cluster.nodes if partition is None or node.partition == partition]
        return cls("the cluster" if partition is None else f"partition {partition!r}", nodes, cluster)

    def usable(self, job: dict[str, Any], cluster: Cluster) -> _Site:
        """Returns the nodes whose GPUs are of a type that the job takes."""
        mask = int(cluster.gpu_type_masks(_frame(job))[0])
        if mask == ANY_GPU_TYPE:
            return self
        allowed = {name for number, name in enumerate(cluster.gpu_types) if mask >> number & 1}
        nodes = [node for node in self.nodes if node.gpu_type in allowed]
        return replace(self, nodes=nodes, of_types=f"of type {_wanted(job)}, ")

    @property
    def pools(self) -> dict[str | None, list[Node]]:
        """The nodes by their type of GPUs."""
        pools: dict[str | None, list[Node]] = {}
        for node in self.nodes:
            pools.setdefault(node.gpu_type, []).append(node)
        return pools


def _frame(job: dict[str, Any]) -> pl.DataFrame:
    types: dict[str, Any] = {name: column.dtype for name, column in COLUMNS.items() if name != "job_id"}
    return pl.DataFrame([job], schema_overrides=types | ({"gpu_type": pl.String} if "gpu_type" in job else {}))


def _wanted(job: dict[str, Any]) -> str:
    return " or ".join(wanted_types(job.get("gpu_type") or ""))


def _request(job: dict[str, Any], reason: RejectReason, cluster: Cluster) -> str:
    gpus = count(job["gpus_per_task"], "GPU")
    if job["gpus_per_task"] and cluster.gpu_types and _wanted(job):
        gpus += f" of type {_wanted(job)}"
    parts = {
        RejectReason.CORES: count(job["cores_per_task"], "core"),
        RejectReason.MEMORY: f"{job['memory_mb_per_task'] or 0:,.15g} MB",
        RejectReason.GPUS: gpus,
    }
    wanted = parts[reason] if reason in parts else f"({', '.join(parts.values())})"
    return f"{count(job['tasks'], 'task')} of {wanted}"


def _supply(job: dict[str, Any], reason: RejectReason, site: _Site) -> str:
    if not site.nodes:
        return f"{site.of_types}{site.name} has no nodes"
    if reason is RejectReason.CORES:
        return f"{site.of_types}{site.name} has {_total([node.cores for node in site.nodes], 'core')}"
    if reason is RejectReason.MEMORY:
        return f"{site.of_types}{site.name} has {_total([node.memory_mb or 0 for node in site.nodes], 'MB')}"
    if reason is RejectReason.GPUS:
        return (
            f"{site.of_types}{site.name} has {_total([node.gpus for node in site.nodes], 'GPU')}{_one_type(job, site)}"
        )
    largest = _largest(site.nodes)
    return (
        f"{site.of_types}no nodes of {site.name} have room for that together (largest: {largest}){_one_type(job, site)}"
    )


def _one_type(job: dict[str, Any], site: _Site) -> str:
    """Returns what there is of one type at most, where a job cannot have several."""
    pools = site.pools
    if site.cluster.mix or len(pools) < 2 or not job["gpus_per_task"]:
        return ""
    gpus = {name: sum(node.gpus for node in nodes) for name, nodes in pools.items()}
    most = max(gpus, key=lambda name: gpus[name])
    text = f", at most {count(gpus[most], 'GPU')} {'without a type' if most is None else f'of one type ({most})'}"
    if can_ever_fit(_frame(job), replace(site.cluster, mix=True))[0]:
        text += "; mix = true in the cluster file would let it have several types"
    return text


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
