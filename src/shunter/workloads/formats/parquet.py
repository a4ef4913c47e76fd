"""A table of jobs as Parquet: the columns are those of `shunter.model.workload.COLUMNS`, or mapped to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import polars as pl

from shunter.model.workload import COLUMNS, EXTRA_COLUMNS, check_columns
from shunter.parquet import read_parquet
from shunter.parquet_check import PARQUET_MAGIC
from shunter.workloads.text.log import number_anew, to_workload
from shunter.workloads.text.mapping import apply_mapping, note_unread
from shunter.workloads.text.repairs import PLACE, Repairs

if TYPE_CHECKING:
    from shunter.model.workload import Workload
    from shunter.workloads.formats import Reading
    from shunter.workloads.text.source import Source

CLUSTER_KEY: Final = "shunter.cluster"
"""Under which the file's metadata has the cluster that the jobs' log told of."""


def recognizes(source: Source) -> bool:
    """Returns whether the first bytes are those of a Parquet file."""
    return source.head.startswith(PARQUET_MAGIC)


def read(sources: Sequence[Source], reading: Reading) -> Workload:
    """Reads tables; columns that no workload has are ignored.

    Raises:
        InputError: A file is no such table, or a value is not what its column holds.
    """
    repairs = Repairs(sources, reading.strict, unit="row")
    frames, cluster = [], None
    for source in sources:
        frame, metadata = read_parquet(source.content(), source.where)
        mapped = apply_mapping(frame, reading.columns, source.where)
        check_columns(mapped, source.where)
        placed = mapped.with_columns(repairs.places(source, range(1, mapped.height + 1)))
        note_unread(placed, reading.columns, repairs)
        frames.append(placed.select(name for name in placed.columns if name in (*COLUMNS, *EXTRA_COLUMNS, PLACE)))
        cluster = cluster or metadata.get(CLUSTER_KEY)
    # Relaxed, for one file may hold whole numbers where another has fractions.
    table = number_anew(pl.concat(frames, how="diagonal_relaxed"), repairs)
    return to_workload(table, repairs, cluster_spec=cluster)
