"""Which jobs could ever run: those that fit on the cluster while it is empty (``docs/simulation.md``)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shunter.model.cluster import Cluster

MILLI: Final = 1000
UNBOUNDED: Final = 2**32 - 1
"""The tasks that a node takes which ask for nothing that it counts."""

SHAPE: Final = ("tasks", "cores_per_task", "memory_mb_per_task", "gpus_per_task", "partition")
"""The columns on which it depends whether a job fits."""


def can_ever_fit(jobs: pl.DataFrame, cluster: Cluster) -> NDArray[np.bool_]:
    """Returns, for each row with the columns of `SHAPE`, whether such a job fits on the empty cluster."""
    partition = jobs["partition"]
    capacity = np.zeros(jobs.height, dtype=np.int64)
    alike = Counter((node.partition, node.cores, node.memory_mb, node.gpus) for node in cluster.nodes)
    for (name, cores, memory_mb, gpus), count in alike.items():
        room = count * _capacity(jobs, cores, memory_mb, gpus)
        if cluster.partitions:
            room[~(partition.is_null() | partition.eq_missing(name)).to_numpy()] = 0
        capacity += room
    return np.asarray(capacity >= jobs["tasks"].to_numpy())


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
