"""Tables of machines to nodes: what is wrong in the same way in all of them is skipped by the same rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from shunter.model.cluster import CORES_LIMIT, GPUS_LIMIT, MEMORY_LIMIT_MB, Node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from shunter.workloads.text.repairs import Repairs
    from shunter.workloads.text.source import Source

NODE_COLUMNS: Final = ["name", "cores", "memory_mb", "gpus", "gpu_type"]


def read_nodes(
    sources: Sequence[Source], repairs: Repairs, read_file: Callable[[Source, Repairs], Iterable[pl.DataFrame]]
) -> list[Node]:
    """Returns the machines of some files, each of which a function turns into tables that `nodes_of` takes."""
    return nodes_of([frame for source in sources for frame in read_file(source, repairs)], repairs)


def nodes_of(frames: Sequence[pl.DataFrame], repairs: Repairs) -> list[Node]:
    """Returns the machines of some tables, in their order; cores and memory are rounded to whole numbers.

    Args:
        frames: `NODE_COLUMNS`, all but the names and types as floating-point numbers, and ``PLACE``. No number of GPUs
            is none; memory that is null is not tracked.
        repairs: Takes machines that are skipped.
    """
    if not frames:
        return []
    table = pl.concat(frames).with_columns(pl.col("cores").round(), pl.col("memory_mb").round())
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
            gpu_type if gpus else None,
        )
        for name, cores, memory_mb, gpus, gpu_type in table.select(NODE_COLUMNS).iter_rows()
    ]
