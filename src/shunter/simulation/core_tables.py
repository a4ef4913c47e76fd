"""Clusters and workloads in the core's units: milliseconds, milli-cores, MB, milli-GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from shunter.native import Handle, lib, opened, pointer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from shunter.model.cluster import Cluster
    from shunter.model.workload import Workload

UNKNOWN = -1
"""Stands in the core's integer columns for what the log does not say."""

MILLI = 1000

NO_SUCH_PARTITION = 2**31 - 1
"""A partition that no cluster has: its jobs are rejected."""


def numbers(column: pl.Series) -> NDArray[np.float64]:
    """Returns a column's values; NaN where the log does not say."""
    return column.cast(pl.Float64).fill_null(float("nan")).to_numpy()


def _whole(column: pl.Series, units: int) -> NDArray[np.int64]:
    """Returns a column in a smaller unit, rounded to the nearest; unknown where the log does not say."""
    values = numbers(column)
    known = np.isfinite(values)
    return np.where(known, np.rint(np.where(known, values, 0.0) * units), UNKNOWN).astype(np.int64)


class ClusterColumns(NamedTuple):
    """The nodes in the core's units, one value a node; `UNKNOWN` where a node has no such thing."""

    cores_milli: NDArray[np.int64]
    memory_mb: NDArray[np.int64]
    gpus: NDArray[np.int64]
    partition: NDArray[np.int64]
    gpu_type: NDArray[np.int64]
    speed_milli: NDArray[np.int64]
    rack: NDArray[np.int64]
    switch: NDArray[np.int64]


def open_cluster(cluster: Cluster) -> Handle:
    """Hands a cluster to the core."""
    columns = cluster_columns(cluster)
    return opened(lib.shunter_cluster_open, *map(pointer, columns), len(cluster.nodes), int(cluster.mix))


def cluster_columns(cluster: Cluster) -> ClusterColumns:
    """Returns a cluster as the core has it."""
    partitions, gpu_types = (
        {name: number for number, name in enumerate(names)} for names in (cluster.partitions, cluster.gpu_types)
    )
    nodes = cluster.nodes
    racks, switches = ([getattr(node, key) for node in nodes] for key in ("rack", "switch"))
    return ClusterColumns(
        np.array([round(node.cores * MILLI) for node in nodes], dtype=np.int64),
        np.array([UNKNOWN if node.memory_mb is None else node.memory_mb for node in nodes], dtype=np.int64),
        np.array([node.gpus for node in nodes], dtype=np.int64),
        _numbers((node.partition for node in nodes), partitions),
        _numbers((node.gpu_type for node in nodes), gpu_types),
        np.array([round(node.speed * MILLI) for node in nodes], dtype=np.int64),
        _numbers(racks, _by_appearance(racks)),
        _numbers(switches, _by_appearance(switches)),
    )


def _by_appearance(names: Iterable[str | None]) -> dict[str, int]:
    """Returns a number for each name, in the order in which they appear."""
    distinct = dict.fromkeys(name for name in names if name is not None)
    return {name: number for number, name in enumerate(distinct)}


def _numbers(names: Iterable[str | None], numbers_of: Mapping[str, int]) -> NDArray[np.int64]:
    return np.array([UNKNOWN if name is None else numbers_of[name] for name in names], dtype=np.int64)


def open_jobs(workload: Workload, cluster: Cluster) -> Handle:
    """Hands a workload to the core; partitions are numbered as the cluster has them."""
    jobs = workload.jobs
    columns = [
        _whole(jobs["submit_s"], MILLI),
        _whole(jobs["run_s"], MILLI),
        _whole(jobs["requested_s"], MILLI),
        jobs["tasks"].to_numpy().astype(np.int64),
        _whole(jobs["cores_per_task"], MILLI),
        _whole(jobs["memory_mb_per_task"], 1),
        _whole(jobs["gpus_per_task"], MILLI),
        _partitions(jobs["partition"], cluster),
        user_numbers(jobs["user"]),
        _whole(jobs["logged_wait_s"], MILLI),
        cluster.gpu_type_masks(jobs),
    ]
    return opened(lib.shunter_jobs_open, *map(pointer, columns), len(jobs))


def user_numbers(users: pl.Series) -> NDArray[np.int64]:
    """Returns a number for each user, in the order of their names; unknown where the log does not say."""
    return (users.rank("dense").cast(pl.Int64) - 1).fill_null(UNKNOWN).to_numpy()


def _partitions(names: pl.Series, cluster: Cluster) -> NDArray[np.int64]:
    """A cluster without partitions serves every job, whatever the log calls the place where it ran."""
    if not cluster.partitions:
        return np.full(len(names), UNKNOWN, dtype=np.int64)
    numbers = names.replace_strict(
        list(cluster.partitions), list(range(len(cluster.partitions))), default=NO_SUCH_PARTITION, return_dtype=pl.Int64
    )
    return np.where(names.is_null().to_numpy(), UNKNOWN, numbers.fill_null(UNKNOWN).to_numpy()).astype(np.int64)
