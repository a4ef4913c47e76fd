"""Which jobs could ever run, and why the others never can: what they ask for, and what the cluster has.

A job can run if it fits on the cluster while that is empty (``docs/simulation.md``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from shunter.errors import InputError
from shunter.model.access import access_columns, access_of, partition_names
from shunter.model.capacity import node_capacity, one_job
from shunter.model.cluster import ANY_GPU_TYPE, wanted_types
from shunter.model.kinds import OTHERS
from shunter.model.schedule import RejectReason

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.model.cluster import Cluster, Node
    from shunter.model.schedule import Schedule

_SHAPE: Final = ("tasks", "cores_per_task", "memory_mb_per_task", "gpus_per_task", "partition")
REASON_TITLES: dict[RejectReason, str] = {
    RejectReason.NO_SUCH_PARTITION: "no such partition",
    RejectReason.NOT_ADMITTED: "not admitted",
    RejectReason.NO_SUCH_FEATURES: "no such features",
    RejectReason.OVER_JOB_LIMIT: "over the limit of one job",
    RejectReason.NO_SUCH_GPU_TYPE: "no such GPU type",
    RejectReason.CORES: "not enough cores",
    RejectReason.MEMORY: "not enough memory",
    RejectReason.GPUS: "not enough GPUs",
    RejectReason.COMBINATION: "no nodes with this combination",
    RejectReason.OVER_JOB_LIMIT: "over the limit of one job",
}
"""A few words for each reason."""


def shape_columns(jobs: pl.DataFrame, cluster: Cluster) -> list[str]:
    """Returns the columns of a workload's table that decide whether a job fits on a cluster."""
    others = ("gpu_type", "kind", *access_columns(jobs, cluster))
    return list(dict.fromkeys((*_SHAPE, *(name for name in others if name in jobs.columns))))


def can_ever_fit(jobs: pl.DataFrame, cluster: Cluster) -> NDArray[np.bool_]:
    """Returns which jobs fit on the empty cluster; of their table the columns of `shape_columns` are needed."""
    access = access_of(jobs, cluster)
    fits = np.zeros(jobs.height, dtype=np.bool_)
    for number, route in enumerate(access.routes):
        rows = np.flatnonzero(access.route == number)
        for choice in route.choices:
            fits[rows] |= _fits(jobs[rows], [cluster.nodes[node] for node in choice], cluster)
    return fits


def _fits(jobs: pl.DataFrame, nodes: Sequence[Node], cluster: Cluster) -> NDArray[np.bool_]:
    """Returns which jobs fit on some empty nodes."""
    masks = cluster.gpu_type_masks(jobs)
    pools: dict[str | None, NDArray[np.int64]] = {}
    # Nodes that are alike are looked at once: large clusters have thousands of nodes, and a few kinds.
    alike = Counter((node.gpu_type, node.cores, node.memory_mb, node.gpus) for node in nodes)
    for (gpu_type, cores, memory_mb, gpus), count in alike.items():
        room = count * node_capacity(jobs, cores, memory_mb, gpus)
        bit = 0 if gpu_type is None else 1 << cluster.gpu_types.index(gpu_type)
        room[(masks != ANY_GPU_TYPE) & (masks & bit == 0)] = 0
        # Nodes without a type are a pool of their own.
        pools[gpu_type] = pools.get(gpu_type, 0) + room
    together = np.sum(list(pools.values()), axis=0)
    # A job with GPUs has all its nodes from one pool, unless types may be mixed.
    alone = np.max(list(pools.values()), axis=0)
    bound = (jobs["gpus_per_task"].to_numpy() > 0) & (not cluster.mix)
    return np.asarray(np.where(bound, alone, together) >= jobs["tasks"].to_numpy())


def why_any_node_will_do(jobs: pl.DataFrame, cluster: Cluster) -> str | None:
    """Returns why it cannot matter on which nodes jobs run, as part of a sentence.

    None: it may matter. Only what is sure is told: there are other logs on which it happens not to matter.
    """
    nodes = cluster.nodes
    if len(nodes) == 1:
        return "there is one node"
    if len({(node.speed, node.gpu_type, node.partitions, node.features) for node in nodes}) > 1:
        return None
    asked = {"cores": "cores_per_task", "gpus": "gpus_per_task"}
    if any(node.memory_mb is not None for node in nodes):
        asked["memory_mb"] = "memory_mb_per_task"
    amounts = {name: jobs[column].fill_null(0.0).to_numpy() for name, column in asked.items()}
    # Each node has then so many places, and a job fits if there are enough of them, wherever they are.
    if all(len(np.unique(each)) <= 1 for each in amounts.values()):
        return "all tasks ask for the same"
    if len({(node.cores, node.memory_mb, node.gpus) for node in nodes}) > 1:
        return None
    # Each task has then a node to itself, and one node is as good as another.
    if any((has := getattr(nodes[0], name)) and 2 * each.min() > has for name, each in amounts.items()):
        return "all nodes are alike, and no two tasks have room on one"
    return None


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


@dataclass(frozen=True)
class RejectedJobs:
    """Jobs that were rejected for one reason, and by the same rules where it is a rule that does it."""

    reason: RejectReason
    jobs: int
    first: Rejection
    """The first of them."""

    def to_json(self) -> dict[str, Any]:
        """Returns it as an object for JSON."""
        return {"reason": REASON_TITLES[self.reason], "jobs": self.jobs, "first": self.first.text}


def rejected_jobs(schedule: Schedule) -> list[RejectedJobs]:
    """Returns the rejected jobs by reason and rule: the reasons as the core checks them, and the most jobs first."""
    rows = np.flatnonzero(schedule.rejected)
    access = access_of(schedule.workload.jobs[rows], schedule.cluster)
    found: dict[tuple[int, tuple[str, ...]], list[int]] = {}
    for place, row in enumerate(rows.tolist()):
        reason = int(schedule.reject_reason[row])
        found.setdefault((reason, access.of(place).refusals), []).append(row)
    order = list(REASON_TITLES)
    groups = [
        RejectedJobs(RejectReason(reason), len(some), _rejection_of(schedule, some[0]))
        for (reason, _), some in found.items()
    ]
    return sorted(groups, key=lambda group: (order.index(group.reason), -group.jobs))


def first_rejection(schedule: Schedule) -> Rejection:
    """Returns the explanation of the first job that was rejected, with its place."""
    return _rejection_of(schedule, int(schedule.rejected.argmax()))


def _rejection_of(schedule: Schedule, row: int) -> Rejection:
    workload = schedule.workload
    job = workload.jobs.row(row, named=True)
    where = None if workload.places is None else workload.places.of(job["job_id"])
    return replace(explain_rejection(job, RejectReason(schedule.reject_reason[row]), schedule.cluster), where=where)


def refuse_rejected(schedule: Schedule) -> None:
    """Raises an error that names the first job that can never run, and where it stands, if there is one."""
    if rejected := int(schedule.rejected.sum()):
        first = first_rejection(schedule)
        named = first.reason in (
            RejectReason.NO_SUCH_PARTITION,
            RejectReason.NO_SUCH_GPU_TYPE,
            RejectReason.NO_SUCH_FEATURES,
        )
        remedy = "mend the name" if named else "give a larger cluster"
        remedy = "mend the rule" if first.reason in _BY_RULE and not named else remedy
        remedy = f"{remedy}, or leave --strict out to have such jobs"
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
    # The core checks in this order as well: partition, type, then each resource by itself, then all together.
    if reason is RejectReason.NO_SUCH_PARTITION:
        known = ", ".join(cluster.partitions)
        has = f"the cluster has {known}" if known else "the cluster has no partitions"
        return Rejection(job["job_id"], reason, f"asks for partition {job['partition']!r}", has)
    if reason in _BY_RULE:
        refusals = "; ".join(access_of(one_job(job), cluster).of(0).refusals)
        return Rejection(job["job_id"], reason, _asks_by_rule(job, reason), refusals or _BY_RULE[reason])
    site = _Site.of(job, cluster)
    if reason is RejectReason.NO_SUCH_GPU_TYPE:
        types = dict.fromkeys(node.gpu_type for node in site.nodes if node.gpu_type is not None)
        usable = site.usable(job, replace(cluster, kinds=None)).nodes
        if cluster.kinds is not None and usable:
            # There are nodes of the types that it asks for, but its kind runs on none of them.
            on = ", ".join(dict.fromkeys(node.gpu_type for node in usable if node.gpu_type is not None))
            kind, where = job.get("kind") or OTHERS, cluster.kinds.where
            return Rejection(job["job_id"], reason, f'is of kind "{kind}"', f"by {where} it does not run on {on}")
        has = f"{site.name} has {', '.join(types) or 'none of any type'}"
        return Rejection(job["job_id"], reason, f"asks for GPU type {_wanted(job)}", has)
    site = site.usable(job, cluster)
    return Rejection(job["job_id"], reason, f"asks for {_request(job, reason, cluster)}", _supply(job, reason, site))


_BY_RULE: Final = {
    RejectReason.NO_SUCH_FEATURES: "no node that it could use has them",
    RejectReason.NOT_ADMITTED: "no partition that it names admits it",
    RejectReason.OVER_JOB_LIMIT: "one job may not have so much",
}
"""What to say where no rule is found that does it."""


def _asks_by_rule(job: dict[str, Any], reason: RejectReason) -> str:
    """Returns what a job asks for that a rule of the site refuses."""
    where = f" in partition {job['partition']!r}" if partition_names(job["partition"]) else ""
    if reason is RejectReason.NO_SUCH_FEATURES:
        return f"asks for features {job['features']!r}{where}"
    if reason is RejectReason.NOT_ADMITTED:
        owner = [f"{name} {job[name]!r}" for name in ("user", "account", "qos") if job.get(name) is not None]
        return f"asks{where or ' for nodes'} as {', '.join(owner) or 'nobody'}"
    time = "" if job["requested_s"] is None else f"{job['requested_s']:,.15g} s, "
    shape = f"{count(job['tasks'], 'task')} of {count(job['cores_per_task'], 'core')}"
    return f"asks for {time}{shape} and {count(job['gpus_per_task'], 'GPU')}{where}"


def count(value: float, thing: str) -> str:
    """Returns a number and its unit, singular or plural: ``1 core``, ``1,024 cores``, ``0.5 cores``."""
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
        route = access_of(one_job(job), cluster).of(0)
        numbers = sorted({number for choice in route.choices for number in choice})
        named = " or ".join(map(repr, route.partitions or (route.reason and partition_names(job["partition"])) or ()))
        return cls(f"partition {named}" if named else "the cluster", [cluster.nodes[one] for one in numbers], cluster)

    def usable(self, job: dict[str, Any], cluster: Cluster) -> _Site:
        """Returns the nodes whose GPUs are of a type that the job takes."""
        mask = int(cluster.gpu_type_masks(one_job(job))[0])
        if mask == ANY_GPU_TYPE:
            return self
        allowed = {name for number, name in enumerate(cluster.gpu_types) if mask >> number & 1}
        # What other nodes have is of no use to the job, and would make the sentence misleading.
        nodes = [node for node in self.nodes if node.gpu_type in allowed]
        named = _wanted(job) or " or ".join(name for name in cluster.gpu_types if name in allowed)
        return replace(self, nodes=nodes, of_types=f"of type {named}, ")

    @property
    def pools(self) -> dict[str | None, list[Node]]:
        """The nodes by their type of GPUs."""
        pools: dict[str | None, list[Node]] = {}
        for node in self.nodes:
            pools.setdefault(node.gpu_type, []).append(node)
        return pools


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
    """Returns how much there is of a single type of GPUs at most, where a job cannot have several types."""
    pools = site.pools
    if site.cluster.mix or len(pools) < 2 or not job["gpus_per_task"]:
        return ""
    gpus = {name: sum(node.gpus for node in nodes) for name, nodes in pools.items()}
    most = max(gpus, key=lambda name: gpus[name])
    text = f", at most {count(gpus[most], 'GPU')} {'without a type' if most is None else f'of one type ({most})'}"
    # The hint is given only where it helps.
    if can_ever_fit(one_job(job), replace(site.cluster, mix=True))[0]:
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
