"""Which jobs could ever run: those that fit on the cluster while it is empty (``docs/simulation.md``)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import numpy as np

from shunter.model.cluster import ANY_GPU_TYPE

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shunter.model.cluster import Cluster

MILLI: Final = 1000
UNBOUNDED: Final = 2**32 - 1
"""The tasks that a node takes which ask for nothing that it counts."""

_SHAPE: Final = ("tasks", "cores_per_task", "memory_mb_per_task", "gpus_per_task", "partition")


def shape_columns(jobs: pl.DataFrame) -> list[str]:
    """Returns the columns of a workload's table on which it depends whether a job fits."""
    return [*_SHAPE, *(name for name in ("gpu_type",) if name in jobs.columns)]


def can_ever_fit(jobs: pl.DataFrame, cluster: Cluster) -> NDArray[np.bool_]:
    """Returns, for each row with the columns of a shape, whether such a job fits on the empty cluster."""
    masks = cluster.gpu_type_masks(jobs)
    pools: dict[str | None, NDArray[np.int64]] = {}
    alike = Counter((node.gpu_type, node.partition, node.cores, node.memory_mb, node.gpus) for node in cluster.nodes)
    for (gpu_type, name, cores, memory_mb, gpus), count in alike.items():
        room = count * _capacity(jobs, cores, memory_mb, gpus)
        bit = 0 if gpu_type is None else 1 << cluster.gpu_types.index(gpu_type)
        room[(masks != ANY_GPU_TYPE) & (masks & bit == 0)] = 0
        if cluster.partitions:
            partition = jobs["partition"]
            room[~(partition.is_null() | partition.eq_missing(name)).to_numpy()] = 0
        pools[gpu_type] = pools.get(gpu_type, 0) + room
    together = np.sum(list(pools.values()), axis=0)
    # A job with GPUs has all its nodes from one pool, unless types may be mixed.
    alone = np.max(list(pools.values()), axis=0)
    bound = (jobs["gpus_per_task"].to_numpy() > 0) & (not cluster.mix)
    return np.asarray(np.where(bound, alone, together) >= jobs["tasks"].to_numpy())


def _capacity(jobs: pl.DataFrame, node_cores: float, node_memory_mb: int | None, node_gpus: int) -> NDArray[np.int64]:
    """Returns how many tasks of each job an empty node takes."""
    room = np.full(jobs.height, UNBOUNDED, dtype=np.int64)
    _lower(room, _whole(jobs["cores_per_task"], MILLI), round(node_cores * MILLI))
    if node_memory_mb is not None:
        _lower(room, _whole(jobs["memory_mb_per_task"].fill_null(0.0), 1), node_memory_mb)
    gpus = _whole(jobs["gpus_per_task"], MILLI)
    whole = np.where(gpus >= MILLI, gpus // MILLI, 0)
    _lower(room, whole, node_gpus)
    # A fraction lies on one device; each takes as many as it has room for.
    shared = (gpus > 0) & (gpus < MILLI)
    room[shared] = np.minimum(room[shared], node_gpus * (MILLI // gpus[shared]))
    return room


def _lower(room: NDArray[np.int64], asked: NDArray[np.int64], has: int) -> None:
    """Lowers the room to what one resource allows; what is not asked for does not bind."""
    asks = asked > 0
    room[asks] = np.minimum(room[asks], has // asked[asks])


def _whole(column: pl.Series, units: int) -> NDArray[np.int64]:
    """Returns a column in the core's units."""
    return np.asarray(np.rint(column.to_numpy() * units), dtype=np.int64)
