"""Nodes from what Slurm's commands print of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

import polars as pl

from shunter.workloads.formats.slurm import UNKNOWN_WORDS, gpus_of_gres, number
from shunter.workloads.machines.table import NODE_COLUMNS, nodes_of
from shunter.workloads.text.hosts import node_names
from shunter.workloads.text.repairs import PLACE

if TYPE_CHECKING:
    from shunter.model.cluster import Node
    from shunter.workloads.text.repairs import Repairs


_UNSET_MEMORY_MB: Final = 1
"""What Slurm shows for nodes whose memory is not configured."""


class NodeRecord(NamedTuple):
    """What is told of a node, or of several that are alike, as text."""

    place: int
    names: str
    cpus: str | None
    memory_mb: str | None
    gres: str
    partitions: tuple[str, ...]
    features: tuple[str, ...] = ()


def split_names(text: str | None) -> tuple[str, ...]:
    """Returns the different names of a list with commas; none for what is not told."""
    found = (name.strip() for name in (text or "").split(","))
    return tuple(dict.fromkeys(name for name in found if name and name.lower() not in UNKNOWN_WORDS))


def nodes_of_records(records: Iterable[NodeRecord], repairs: Repairs) -> list[Node]:
    """Returns the nodes; one that is told several times, once for each partition, is one node.

    A node has all partitions that name it.
    """
    partitions: dict[str, dict[str, int]] = {}
    features: dict[str, tuple[str, ...]] = {}
    rows: list[tuple[object, ...]] = []
    for record in records:
        names = node_names(record.names)
        # sinfo shows the least of nodes that differ with a plus.
        cpus, memory_mb = (number(text and text.removesuffix("+")) for text in (record.cpus, record.memory_mb))
        if names is None or cpus is None or (memory_mb is None and record.memory_mb is not None):
            repairs.skip(record.place, f"node {record.names[:40]}, CPUs {record.cpus}, memory {record.memory_mb}")
            continue
        known_mb = memory_mb if memory_mb is not None and memory_mb > _UNSET_MEMORY_MB else None
        # Like nodes stand together: n[01-16]. A node of two partitions is told twice.
        for name in names:
            if name not in partitions:
                rows.append((name, cpus, known_mb, *gpus_of_gres(record.gres), record.place))
            partitions.setdefault(name, {}).update(dict.fromkeys(record.partitions, record.place))
            features.setdefault(name, record.features)
    nodes = nodes_of([pl.DataFrame(rows, schema={**NODE_COLUMNS, PLACE: pl.Int64}, orient="row")], repairs)
    return [replace(node, partitions=tuple(partitions[node.name]), features=features[node.name]) for node in nodes]
