"""From a reading to what the core decides on: a table of jobs, a cluster, and a snapshot."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
import polars as pl

from shunter.execution.operating.site import Site, SiteJob, SiteNode, State
from shunter.execution.view import USUAL_TIME_S
from shunter.model.cluster import Cluster, Node
from shunter.model.fitting import can_ever_fit
from shunter.model.schedule import Phase
from shunter.model.site import PartitionRules, SiteRules
from shunter.model.snapshot import LiveJob, Snapshot
from shunter.model.workload import Workload


@dataclass(frozen=True)
class Part:
    """What a job has, or would have, on one node."""

    node: int
    tasks: int
    devices: tuple[int, ...] = ()


@dataclass(frozen=True)
class Shape:
    """A job as equal tasks."""

    tasks: int
    cores: float
    memory_mb: float | None
    gpus: float


@dataclass(frozen=True)
class Row:
    """A job as the core is told of it."""

    job: SiteJob
    phase: Phase
    shape: Shape
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True)
class Picture:
    """What is decided on."""

    site: Site
    rows: tuple[Row, ...]
    """In the order of the workload's rows."""
    workload: Workload
    cluster: Cluster
    snapshot: Snapshot
    sha256: str
    """The hash of all that deciding rests on."""
    unfit: tuple[int, ...] = ()
    """The ids of those that would not fit though all jobs had ended: nothing is decided on them."""

    @property
    def candidates(self) -> list[int]:
        """The rows of those that may start."""
        return [place for place, row in enumerate(self.rows) if row.phase == Phase.WAITING]


def picture_of(site: Site, ended: Sequence[SiteJob]) -> Picture:
    """Returns what the core decides on.

    Args:
        site: The latest reading.
        ended: Jobs that have ended, from which estimates learn; ``site`` need not tell of them any more.
    """
    numbers = {node.name: number for number, node in enumerate(site.nodes)}
    running = [_running(job, numbers, site) for job in site.jobs if job.state == State.RUNNING]
    placed = [row for row in running if row is not None]
    nodes, is_down = _nodes(site, placed)
    mix = any(_mixes(row, nodes) for row in placed)
    cluster = Cluster.from_nodes(nodes, "site", mix=mix, rules=rules_of(site.tiers, nodes))
    waiting = [Row(job, Phase.WAITING, asked_shape(job, site)) for job in site.candidates]
    fits, unfit = fitting(waiting, site.now_s, cluster)
    rows = [*_with_devices(placed, site, nodes), *fits]
    rows += [Row(job, Phase.COMPLETED, _had(job, site)) for job in _told_apart(ended, {row.job.id for row in rows})]
    rows.sort(key=in_table)
    workload = workload_of(rows, site.now_s, cluster)
    snapshot = snapshot_of(rows, site.now_s, is_down)
    digest = _digest(workload, cluster, snapshot)
    return Picture(site, tuple(rows), workload, cluster, snapshot, digest, unfit)


def in_table(row: Row) -> tuple[float, int]:
    """Returns what rows are sorted by: the table of jobs is in the order of submit times."""
    return row.job.submit_s, row.job.id


def _told_apart(ended: Sequence[SiteJob], taken: set[int]) -> list[SiteJob]:
    """Returns jobs that have ended, each with an id that no other job has.

    A job that was requeued has its id twice, and logs may have ids that are no numbers.
    """
    taken = set(taken)
    found: list[SiteJob] = []
    for job in ended:
        # No scheduler has negative ids.
        own = job if job.id not in taken and job.id > 0 else replace(job, id=-1 - len(found))
        taken.add(own.id)
        found.append(own)
    return found


def rules_of(tiers: Mapping[str, int], nodes: Sequence[Node]) -> SiteRules:
    """Returns the rules that make jobs of one partition stand before those of another; empty where all are alike."""
    known = {name for node in nodes for name in node.partitions}
    return SiteRules({name: PartitionRules(tier=tier) for name, tier in tiers.items() if name in known})


def _mixes(row: Row, nodes: Sequence[Node]) -> bool:
    """Returns whether a running job has GPUs of several types."""
    return row.shape.gpus > 0 and len({nodes[part.node].gpu_type for part in row.parts}) > 1


def fitting(rows: Sequence[Row], now_s: float, cluster: Cluster) -> tuple[list[Row], tuple[int, ...]]:
    """Returns those that fit on the nodes as they are, once all jobs have ended, and the ids of the others."""
    if not rows:
        return [], ()
    # The table is sorted by submit time; rows that come in that order stay in it.
    rows = sorted(rows, key=in_table)
    fits = can_ever_fit(workload_of(rows, now_s, cluster).jobs, cluster)
    found = [row for row, is_fitting in zip(rows, fits, strict=True) if is_fitting]
    return found, tuple(row.job.id for row, is_fitting in zip(rows, fits, strict=True) if not is_fitting)


def asked_shape(job: SiteJob, site: Site) -> Shape:
    """Returns the shape of a job as it asks for it."""
    memory_mb = job.memory_mb if site.is_memory_shared else None
    if job.gpus:
        # A task for each node that it asks for, each with its share of the GPUs.
        tasks = job.nodes if job.gpus % job.nodes == 0 else job.gpus
    elif job.nodes == 1 and (job.is_on_one_node or job.tasks == 1):
        tasks = 1
    else:
        tasks = job.tasks if job.cores % job.tasks == 0 else job.cores
        tasks = max(tasks, job.nodes)
    return Shape(tasks, job.cores / tasks, None if memory_mb is None else memory_mb / tasks, job.gpus / tasks)


def _had(job: SiteJob, site: Site) -> Shape:
    """Returns the shape of a job that has ended; jobs to come may be drawn like it."""
    return replace(asked_shape(replace(job, cores=max(1, job.cores)), site), memory_mb=None)


def _running(job: SiteJob, numbers: Mapping[str, int], site: Site) -> Row | None:
    """Returns a running job with its nodes; None if it is on nodes that the reading does not tell of."""
    places = [(numbers[name], cores) for name, cores in job.allocation if name in numbers]
    if len(places) < len(job.allocation) or job.start_s is None:
        return None
    memory_mb = job.memory_mb if site.is_memory_shared else None
    if job.gpus:
        counts = _gpus_on(job)
        unit = math.gcd(*counts) if all(counts) else 1
        parts = [Part(node, count // unit) for (node, _), count in zip(places, counts, strict=True) if count]
        tasks, gpus = sum(part.tasks for part in parts), float(unit)
    else:
        unit = max(1, math.gcd(*(cores for _, cores in places)))
        parts = [Part(node, cores // unit) for node, cores in places if cores]
        tasks, gpus = sum(part.tasks for part in parts), 0.0
    shape = Shape(tasks, job.cores / tasks, None if memory_mb is None else memory_mb / tasks, gpus)
    return Row(job, Phase.RUNNING, shape, tuple(parts))


def _gpus_on(job: SiteJob) -> list[int]:
    """Returns how many GPUs a running job has on each of its nodes."""
    if job.devices is not None and sum(map(len, job.devices.values())) == job.gpus:
        return [len(job.devices.get(name, ())) for name, _ in job.allocation]
    share, rest = divmod(job.gpus, len(job.allocation))
    return [share + (place < rest) for place in range(len(job.allocation))]


def _nodes(site: Site, running: Sequence[Row]) -> tuple[tuple[Node, ...], list[bool]]:
    """Returns the nodes, and which are down. A node has at least what is in use: sites may let jobs share it."""
    cores: Counter[int] = Counter()
    memory: Counter[int] = Counter()
    gpus: Counter[int] = Counter()
    for row in running:
        for part in row.parts:
            cores[part.node] += math.ceil(part.tasks * row.shape.cores)
            memory[part.node] += math.ceil(part.tasks * (row.shape.memory_mb or 0.0))
            gpus[part.node] += round(part.tasks * row.shape.gpus)
    nodes, is_down = [], []
    for number, node in enumerate(site.nodes):
        is_used = cores[number] > 0
        # On a node that is drained jobs go on, but nothing is free.
        limits = SiteNode(node.name, 0, 0, 0) if node.is_closed and is_used else node
        memory_mb = None
        if site.is_memory_shared and node.memory_mb is not None:
            memory_mb = max(limits.memory_mb or 0, memory[number])
        most_gpus = max(limits.gpus, gpus[number])
        nodes.append(
            Node(
                node.name,
                float(max(limits.cores, cores[number])),
                memory_mb,
                most_gpus,
                node.gpu_type if most_gpus else None,
                node.partitions,
            )
        )
        is_down.append(node.is_closed and not is_used)
    return tuple(nodes), is_down


def _with_devices(rows: Sequence[Row], site: Site, nodes: Sequence[Node]) -> list[Row]:
    """Returns running jobs with the numbers of their GPUs: as told, or else the lowest that are left.

    The core numbers GPUs through the whole cluster, node by node.
    """
    first = np.concatenate(([0], np.cumsum([node.gpus for node in nodes]))).tolist()
    taken: dict[int, set[int]] = {}
    found = []
    for row in rows:
        parts = []
        for part in row.parts:
            count = round(part.tasks * row.shape.gpus)
            used = taken.setdefault(part.node, set())
            told = list((row.job.devices or {}).get(site.nodes[part.node].name, ()))
            is_sound = len(told) == count and used.isdisjoint(told) and all(one < nodes[part.node].gpus for one in told)
            left = (number for number in range(nodes[part.node].gpus) if number not in used)
            own = told if is_sound else list(islice(left, count))
            used.update(own)
            parts.append(replace(part, devices=tuple(first[part.node] + number for number in own)))
        found.append(replace(row, parts=tuple(parts)))
    return found


def workload_of(rows: Sequence[Row], now_s: float, cluster: Cluster) -> Workload:
    """Returns the jobs as a table. How long those run that have not ended does not matter, but must be a number."""
    jobs = [row.job for row in rows]
    # Where a job is that runs, nobody asks whether it may be there.
    is_free = [row.phase not in (Phase.WAITING, Phase.FUTURE) for row in rows]
    named = [
        ",".join(job.partitions) if not free and job.partitions and cluster.partitions else None
        for job, free in zip(jobs, is_free, strict=True)
    ]
    gpu_types = [None if free else job.gpu_type for job, free in zip(jobs, is_free, strict=True)]
    frame = pl.DataFrame(
        {
            "job_id": pl.Series([job.id for job in jobs], dtype=pl.Int64),
            "submit_s": pl.Series([min(job.submit_s, now_s) for job in jobs], dtype=pl.Float64),
            "run_s": pl.Series([_run_s(job, now_s) for job in jobs], dtype=pl.Float64),
            "requested_s": pl.Series([job.requested_s or USUAL_TIME_S for job in jobs], dtype=pl.Float64),
            "tasks": pl.Series([row.shape.tasks for row in rows], dtype=pl.Int64),
            "cores_per_task": pl.Series([row.shape.cores for row in rows], dtype=pl.Float64),
            "memory_mb_per_task": pl.Series([row.shape.memory_mb for row in rows], dtype=pl.Float64),
            "gpus_per_task": pl.Series([row.shape.gpus for row in rows], dtype=pl.Float64),
            "user": pl.Series([job.user or None for job in jobs], dtype=pl.String),
            "group": pl.Series([job.account or None for job in jobs], dtype=pl.String),
            "partition": pl.Series(named, dtype=pl.String),
            "priority": pl.Series([float(job.priority) for job in jobs], dtype=pl.Float64),
            "qos": pl.Series([job.qos or None for job in jobs], dtype=pl.String),
            "gpu_type": pl.Series(gpu_types, dtype=pl.String),
        }
    )
    return Workload.from_frame(frame, name="site", content_sha256="site", may_be_empty=True)


def _run_s(job: SiteJob, now_s: float) -> float:
    start_s = job.start_s if job.start_s is not None else now_s
    return max(0.0, (now_s if job.end_s is None else job.end_s) - start_s)


def snapshot_of(rows: Sequence[Row], now_s: float, is_down: Sequence[bool]) -> Snapshot:
    """Returns what is known of the jobs of a table, and of the nodes, at an instant."""
    jobs = [
        LiveJob(
            row.phase,
            None if row.phase == Phase.WAITING else row.job.start_s,
            row.job.end_s if row.phase == Phase.COMPLETED else None,
            [(part.node, part.tasks) for part in row.parts],
            [device for part in row.parts for device in part.devices],
        )
        for row in rows
    ]
    return Snapshot.live(now_s, jobs, is_down)


def _digest(workload: Workload, cluster: Cluster, snapshot: Snapshot) -> str:
    content = [workload.jobs.write_json(), cluster.content_sha256, snapshot.to_json()]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()
