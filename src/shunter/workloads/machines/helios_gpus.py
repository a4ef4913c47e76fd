"""Helios' virtual clusters: cluster_gpu_number.csv has the GPUs of each on every day."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import polars as pl

from shunter.model.cluster import NODES_LIMIT, Node
from shunter.workloads.text.delimited import read_frames
from shunter.workloads.text.repairs import PLACE, UNREADABLE

if TYPE_CHECKING:
    from shunter.workloads.text.repairs import Repairs
    from shunter.workloads.text.source import Source

GPUS_PER_NODE: Final = 8
CORES_PER_NODE: Final = 48.0
"""Nodes of Venus and Earth have 48 cores, those of Saturn and Uranus 64. The file tells neither."""

_DAY: Final = "date"
_TOTAL: Final = "total"
_ROW: Final = re.compile(r"\d{4}-\d{2}-\d{2}(,\d+)+")


def recognizes(source: Source) -> bool:
    """Returns whether the columns are a day, virtual clusters, and their total."""
    header, lines = source.header, source.head_lines
    return header[0] == _DAY and header[-1] == _TOTAL and len(lines) > 1 and _ROW.fullmatch(lines[1]) is not None


def read(sources: Sequence[Source], repairs: Repairs) -> list[Node]:
    """Returns the nodes of the day with the most GPUs, the first of such days; each virtual cluster is a partition."""
    return [node for source in sources for node in _nodes(_largest_day(source, repairs))]


def _largest_day(source: Source, repairs: Repairs) -> dict[str, int]:
    """Returns how many GPUs each virtual cluster had on that day."""
    largest: dict[str, int] = {}
    for text in read_frames(source, repairs):
        clusters = [name for name in text.columns if name.lower() not in (_DAY, _TOTAL, PLACE)]
        frame = repairs.to_numbers(text, clusters, whole=clusters)
        for cluster in clusters:
            absurd = ~pl.col(cluster).is_between(0, NODES_LIMIT) | pl.col(cluster).is_null()
            frame = repairs.drop(frame, absurd, UNREADABLE, cluster)
        for row in frame.select(clusters).iter_rows(named=True):
            # Virtual clusters grew and shrank; the largest day has room for the most jobs.
            if sum(row.values()) > sum(largest.values()):
                largest = row
    return largest


def _nodes(gpus_of: dict[str, int]) -> Iterator[Node]:
    for cluster, gpus in gpus_of.items():
        for number, first in enumerate(range(0, gpus, GPUS_PER_NODE)):
            name = f"{cluster}-{number}"
            # The last node of a virtual cluster has what is left over.
            yield Node(name, CORES_PER_NODE, gpus=min(GPUS_PER_NODE, gpus - first), partitions=(cluster,))
