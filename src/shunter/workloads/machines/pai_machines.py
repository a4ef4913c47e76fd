"""Alibaba PAI (2020): pai_machine_spec, with a header or without."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import polars as pl

from shunter.workloads.machines.table import read_nodes
from shunter.workloads.text.published import MB_PER_GB, has_header, most_lines, read_table
from shunter.workloads.text.repairs import PLACE
from shunter.workloads.text.source import are_numbers

if TYPE_CHECKING:
    from shunter.model.cluster import Node
    from shunter.workloads.text.repairs import Repairs
    from shunter.workloads.text.source import Source

COLUMNS: Final = ["machine", "gpu_type", "cap_cpu", "cap_mem", "cap_gpu"]

_NAME: Final = re.compile(r"[0-9a-f]{12,}")


def recognizes(source: Source) -> bool:
    """Returns whether a file has the header of the list, or rows of it without a header."""
    return has_header(source, COLUMNS) or most_lines(source, _is_row)


def read(sources: Sequence[Source], repairs: Repairs) -> Sequence[Node]:
    """Returns the machines, in the order of the list."""
    return read_nodes(sources, repairs, _read)


def _is_row(cells: list[str]) -> bool:
    return (
        len(cells) == len(COLUMNS)
        and _NAME.fullmatch(cells[0]) is not None
        and cells[1][:1].isalpha()
        and are_numbers(cells[2:])
    )


def _read(source: Source, repairs: Repairs) -> Iterator[pl.DataFrame]:
    for text in read_table(source, repairs, COLUMNS):
        yield repairs.to_numbers(text, COLUMNS[2:]).select(
            pl.col("machine").alias("name"),
            pl.col("cap_cpu").alias("cores"),
            (pl.col("cap_mem") * MB_PER_GB).alias("memory_mb"),
            pl.col("cap_gpu").alias("gpus"),
            "gpu_type",
            PLACE,
        )
