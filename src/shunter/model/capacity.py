"""How many tasks of a job an empty node takes, and how many nodes a job needs at the least."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from shunter.model.workload import COLUMNS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.model.cluster import Cluster, Node

MILLI: Final = 1000
UNBOUNDED: Final = 2**32 - 1
"""The tasks that a node takes which ask for nothing that it counts."""
_TEXTS: Final = ("gpu_type", "kind", "features", "account", "qos")


def node_capacity(
    jobs: pl.DataFrame, node_cores: float, node_memory_mb: int | None, node_gpus: int
) -> NDArray[np.int64]:
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
    # As jobs are rounded when they are handed to the core, so that both agree on jobs at the very edge.
    return np.asarray(np.rint(column.to_numpy() * units), dtype=np.int64)


def one_job(job: Mapping[str, Any]) -> pl.DataFrame:
    """Returns a table of one job, of a row of a workload's table."""
    types: dict[str, Any] = {name: column.dtype for name, column in COLUMNS.items() if name != "job_id"}
    types = {name: dtype for name, dtype in types.items() if name in job}
    return pl.DataFrame([job], schema_overrides=types | {name: pl.String for name in _TEXTS if name in job})


def fewest_nodes(job: Mapping[str, Any], nodes: Sequence[Node], cluster: Cluster) -> int | None:
    """Returns how many of these nodes a job needs at the least while they are empty; None if it does not fit."""
    frame = one_job(job)
    mask = int(cluster.gpu_type_masks(frame)[0])
    pools: dict[str | None, Counter[int]] = {}
    room = {(node.cores, node.memory_mb, node.gpus): 0 for node in nodes}
    room = {kind: int(node_capacity(frame, *kind)[0]) for kind in room}
    bound = job["gpus_per_task"] > 0 and not cluster.mix
    for node in nodes:
        bit = 0 if node.gpu_type is None else 1 << cluster.gpu_types.index(node.gpu_type)
        if mask and not mask & bit:
            continue
        pool = pools.setdefault(node.gpu_type if bound else None, Counter())
        pool[room[node.cores, node.memory_mb, node.gpus]] += 1
    found = [count for pool in pools.values() if (count := _fewest(pool, job["tasks"])) is not None]
    return min(found, default=None)


def _fewest(rooms: Counter[int], tasks: int) -> int | None:
    """Returns how many nodes are needed, those with the most room first."""
    used = 0
    for room, count in sorted(rooms.items(), reverse=True):
        if room == 0:
            return None
        here = min(count, -(-tasks // room))
        used, tasks = used + here, tasks - here * room
        if tasks <= 0:
            return used
    return None
