"""Alibaba PAI (2020): pai_machine_spec, with a header or without."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import polars as pl

from shunter.workloads.machines.table import NodeTable
from shunter.workloads.text.published import MB_PER_GB, has_header, most_lines
from shunter.workloads.text.source import are_numbers

if TYPE_CHECKING:
    from shunter.workloads.text.source import Source

TABLE: Final = NodeTable(
    columns=["machine", "gpu_type", "cap_cpu", "cap_mem", "cap_gpu"],
    numbers=["cap_cpu", "cap_mem", "cap_gpu"],
    nodes={
        "name": "machine",
        "cores": "cap_cpu",
        "memory_mb": pl.col("cap_mem") * MB_PER_GB,
        "gpus": "cap_gpu",
        "gpu_type": "gpu_type",
    },
)
read = TABLE.read

_NAME: Final = re.compile(r"[0-9a-f]{12,}")


def recognizes(source: Source) -> bool:
    """Returns whether a file has the header of the list, or rows of it without a header."""
    return has_header(source, TABLE.columns) or most_lines(source, _is_row)


def _is_row(cells: list[str]) -> bool:
    return (
        len(cells) == len(TABLE.columns)
        and _NAME.fullmatch(cells[0]) is not None
        and cells[1][:1].isalpha()
        and are_numbers(cells[2:])
    )
