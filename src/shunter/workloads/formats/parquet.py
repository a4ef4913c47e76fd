"""A table of jobs as Parquet: the columns are those of `shunter.model.workload.COLUMNS`, or mapped to them."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import polars as pl
from polars.exceptions import PanicException, PolarsError

from shunter.errors import InputError
from shunter.model.workload import COLUMNS, EXTRA_COLUMNS, Workload, check_columns
from shunter.workloads.text.log import digest, log_name
from shunter.workloads.text.mapping import apply_mapping

if TYPE_CHECKING:
    from shunter.workloads.formats import Reading
    from shunter.workloads.text.source import Source

CLUSTER_KEY: Final = "shunter.cluster"
"""Under which the file's metadata has the cluster that the jobs' log told of."""

_MAGIC: Final = b"PAR1"


def recognizes(source: Source) -> bool:
    """Returns whether the first bytes are those of a Parquet file."""
    return source.head.startswith(_MAGIC)


def read(sources: Sequence[Source], reading: Reading) -> Workload:
    """Reads tables; columns that no workload has are ignored.

    Raises:
        InputError: A file is no such table, or a value is not what its column holds.
    """
    frames, first, cluster = [], [], None
    for source in sources:
        frame, told = _read(source)
        mapped = apply_mapping(frame, reading.columns, source.where)
        check_columns(mapped, source.where)
        frames.append(mapped.select(name for name in mapped.columns if name in COLUMNS or name in EXTRA_COLUMNS))
        first.append(sum(earlier.height for earlier in frames[:-1]))
        cluster = cluster or told

    def locate(row: int) -> str:
        file = max(number for number, begins in enumerate(first) if begins <= row)
        return f"{sources[file].where}: row {row - first[file] + 1}"

    # Relaxed, for one file may hold whole numbers where another has fractions.
    table = pl.concat(frames, how="diagonal_relaxed")
    workload = Workload.from_frame(
        table,
        name=log_name(sources),
        content_sha256=digest(sources),
        strict=reading.strict,
        locate=locate,
        lines=pl.int_range(table.height, dtype=pl.Int64, eager=True),
    )
    return replace(workload, cluster_spec=cluster)


def _read(source: Source) -> tuple[pl.DataFrame, str | None]:
    """Returns the table, and the cluster that it was written with."""
    content = source.content()
    try:
        return pl.read_parquet(io.BytesIO(content)), pl.read_parquet_metadata(io.BytesIO(content)).get(CLUSTER_KEY)
    # On some broken files Polars panics instead of raising an error.
    except (PolarsError, PanicException, OSError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(f"{source.where}: is not a Parquet file ({reason}); write it again") from None
