"""Alibaba openb (2023): the list of nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import polars as pl

from shunter.workloads.machines.table import read_nodes
from shunter.workloads.text.published import read_table
from shunter.workloads.text.repairs import PLACE

if TYPE_CHECKING:
    from shunter.model.cluster import Node
    from shunter.workloads.text.repairs import Repairs
    from shunter.workloads.text.source import Source

COLUMNS: Final = ["sn", "cpu_milli", "memory_mib", "gpu", "model"]

_MILLI: Final = 1000


def recognizes(source: Source) -> bool:
    """Returns whether the header has all columns of the list."""
    return set(COLUMNS) <= set(source.header)


def read(sources: Sequence[Source], repairs: Repairs) -> Sequence[Node]:
    """Returns the nodes, in the order of the list."""
    return read_nodes(sources, repairs, _read)


def _read(source: Source, repairs: Repairs) -> Iterator[pl.DataFrame]:
    for text in read_table(source, repairs, COLUMNS):
        yield repairs.to_numbers(text, COLUMNS[1:4]).select(
            pl.col("sn").alias("name"),
            (pl.col("cpu_milli") / _MILLI).alias("cores"),
            pl.col("memory_mib").alias("memory_mb"),
            pl.col("gpu").alias("gpus"),
            pl.col("model").alias("gpu_type"),
            PLACE,
        )
