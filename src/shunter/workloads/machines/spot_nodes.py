"""Alibaba spot (2026): node_info_df.csv, which tells no memory."""

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

COLUMNS: Final = ["gpu_model", "gpu_capacity_num", "cpu_num", "node_name"]


def recognizes(source: Source) -> bool:
    """Returns whether the header has all columns of the list."""
    return set(COLUMNS) <= set(source.header)


def read(sources: Sequence[Source], repairs: Repairs) -> Sequence[Node]:
    """Returns the nodes, in the order of the list."""
    return read_nodes(sources, repairs, _read)


def _read(source: Source, repairs: Repairs) -> Iterator[pl.DataFrame]:
    for text in read_table(source, repairs, COLUMNS):
        yield repairs.to_numbers(text, COLUMNS[1:3]).select(
            pl.col("node_name").alias("name"),
            pl.col("cpu_num").alias("cores"),
            pl.lit(None, pl.Float64).alias("memory_mb"),
            pl.col("gpu_capacity_num").alias("gpus"),
            pl.col("gpu_model").alias("gpu_type"),
            PLACE,
        )
