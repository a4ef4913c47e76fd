"""Tables of machines to nodes: rules that hold for every list of machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import polars as pl

from shunter.model.cluster import CORES_LIMIT, GPUS_LIMIT, MEMORY_LIMIT_MB, Node
from shunter.workloads.text.published import read_table
from shunter.workloads.text.repairs import PLACE

if TYPE_CHECKING:
    from shunter.workloads.text.repairs import Repairs
    from shunter.workloads.text.source import Source

NODE_COLUMNS: Final[dict[str, type[pl.DataType]]] = {
    "name": pl.String,
    "cores": pl.Float64,
    "memory_mb": pl.Float64,
    "gpus": pl.Float64,
    "gpu_type": pl.String,
}
"""What is told of a node, in a frame; memory that is null is not tracked, and no number of GPUs is none."""


class NodeTable(NamedTuple):
    """A list of machines that is a table with a row for each."""

    columns: Sequence[str]
    """In lower case, in the order that a file without a header has."""
    numbers: Sequence[str]
    """The columns that hold numbers."""
    nodes: Mapping[str, str | pl.Expr]
    """The columns, or formulas of them, that give each of `NODE_COLUMNS`; what the list does not tell is absent."""

    def recognizes(self, source: Source) -> bool:
        """Returns whether the header has all columns."""
        return set(self.columns) <= set(source.header)

    def read(self, sources: Sequence[Source], repairs: Repairs) -> list[Node]:
        """Returns the machines, in the order of the list."""
        texts = (text for source in sources for text in read_table(source, repairs, self.columns))
        frames = [repairs.to_numbers(text, self.numbers).select(PLACE, **self.nodes) for text in texts]
        return nodes_of(frames, repairs)


def nodes_of(frames: Sequence[pl.DataFrame], repairs: Repairs) -> list[Node]:
    """Returns the machines of some tables, in their order; cores and memory are rounded to whole numbers.

    Args:
        frames: `NODE_COLUMNS`, of which all but the names and cores may be absent, and ``PLACE``.
        repairs: Takes machines that are skipped.
    """
    if not frames:
        return []
    # Rules look at all files at once: a machine may be named in two of them.
    table = pl.concat(frames)
    absent = {name: dtype for name, dtype in NODE_COLUMNS.items() if name not in table.columns}
    table = table.with_columns(pl.lit(None, dtype).alias(name) for name, dtype in absent.items())
    table = table.with_columns(pl.col("cores").round(), pl.col("memory_mb").round())
    rules = (
        ("name", pl.col("name").is_null(), "machine without a name: skipped"),
        ("cores", pl.col("cores").is_null() | ~(pl.col("cores") >= 1), "no cores: machine skipped"),
        ("memory_mb", pl.col("memory_mb") < 1, "no memory: machine skipped"),
        ("cores", pl.col("cores") > CORES_LIMIT, "cores absurd: machine skipped"),
        ("memory_mb", pl.col("memory_mb") > MEMORY_LIMIT_MB, "memory absurd: machine skipped"),
        ("gpus", ~pl.col("gpus").is_between(0, GPUS_LIMIT), "GPUs absurd: machine skipped"),
        ("name", ~pl.col("name").is_first_distinct(), "machine named before: skipped"),
    )
    for column, wrong, rule in rules:
        table = repairs.drop(table, wrong, rule, column)
    return [
        Node(
            name,
            cores,
            None if memory_mb is None else int(memory_mb),
            int(gpus or 0),
            # A type without GPUs would make a pool of its own, to which no job could go.
            gpu_type if gpus else None,
        )
        for name, cores, memory_mb, gpus, gpu_type in table.select(*NODE_COLUMNS).iter_rows()
    ]
