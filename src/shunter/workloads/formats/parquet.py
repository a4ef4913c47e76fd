"""A table of jobs as Parquet: the columns are those of `shunter.model.workload.COLUMNS`, or mapped to them."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import polars as pl
from polars.exceptions import PanicException, PolarsError

from shunter.errors import InputError
from shunter.model.workload import COLUMNS, EXTRA_COLUMNS, check_columns
from shunter.workloads.text.log import number_anew, to_workload
from shunter.workloads.text.mapping import apply_mapping
from shunter.workloads.text.repairs import Repairs
from shunter.workloads.text.source import PARQUET_MAGIC

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
        frame, told = _read(source)
        mapped = apply_mapping(frame, reading.columns, source.where)
        check_columns(mapped, source.where)
        known = mapped.select(name for name in mapped.columns if name in COLUMNS or name in EXTRA_COLUMNS)
        frames.append(known.with_columns(repairs.places(source, range(1, known.height + 1))))
        cluster = cluster or told
    # Relaxed, for one file may hold whole numbers where another has fractions.
    table = number_anew(pl.concat(frames, how="diagonal_relaxed"), repairs)
    return to_workload(table, repairs, cluster_spec=cluster)


def _read(source: Source) -> tuple[pl.DataFrame, str | None]:
    """Returns the table, and the cluster that it was written with."""
    content = source.content()
    try:
        return pl.read_parquet(io.BytesIO(content)), pl.read_parquet_metadata(io.BytesIO(content)).get(CLUSTER_KEY)
    # On some broken files Polars panics instead of raising an error.
    except (PolarsError, PanicException, OSError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(f"{source.where}: is not a Parquet file ({reason}); write it again") from None
