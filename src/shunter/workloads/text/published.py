"""What the published tables of Alibaba and Google have in common: headers that may be absent, and shares as units."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import polars as pl

from shunter.errors import InputError
from shunter.workloads.text.delimited import read_frames
from shunter.workloads.text.repairs import PLACE

if TYPE_CHECKING:
    from shunter.workloads.text.repairs import Repairs
    from shunter.workloads.text.source import Source

LARGEST_CORES: Final = 100.0
"""What the largest machine has in cores where a log tells only shares of it: a core is 1 % of that machine."""
LARGEST_MEMORY_MB: Final = 100_000.0
"""What the largest machine has in memory where a log tells only shares of it."""
MB_PER_GB: Final = 1024
MB_OF_UNIT: Final = {"": 1.0} | {unit: 1024.0**power for power, unit in enumerate("KMGTPE", start=-1)}
"""MB in one of each unit of memory, as Slurm and LSF write them; an amount without a unit is in MB."""
ALIBABA_STATUSES: Final = {"Terminated": "completed", "Failed": "failed", "Running": "running", "Waiting": "pending"}
"""The status for each word of Alibaba's tables of tasks."""
STAND_IN_CORES: Final = 1.0

_LOOKED_AT: Final = 20
_DIGITS: Final = 15


def has_header(source: Source, names: Sequence[str]) -> bool:
    """Returns whether a file's first line tells most of these columns."""
    # Most, not all: files are passed on with a column renamed or left out, and then the error should name that column.
    return 2 * sum(name in source.header for name in names) > len(names)


def most_lines(source: Source, is_row: Callable[[list[str]], bool]) -> bool:
    """Returns whether most of a file's first lines, cut at commas, are rows of a kind."""
    rows = [[cell.strip() for cell in line.split(",")] for line in source.head_lines[:_LOOKED_AT]]
    return 2 * sum(is_row(row) for row in rows) > len(rows)


def read_table(source: Source, repairs: Repairs, names: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Yields the rows of a file as text, with `PLACE`, whether its first line tells the columns or not.

    Args:
        source: The file.
        repairs: Takes what is skipped.
        names: The columns, in lower case and in the order that a file without a header has.

    Raises:
        InputError: The header does not have one of the columns.
    """
    if not has_header(source, names):
        yield from read_frames(source, repairs, names)
        return
    _check_columns(source, names, source.header)
    for frame in read_frames(source, repairs):
        # Reversed, so that of two columns with one name the first counts.
        own = {column.strip('"').lower(): column for column in reversed(frame.columns)}
        # Quotes may hold several columns together, which the first look at the header does not know.
        _check_columns(source, names, own)
        yield frame.select(*(pl.col(own[name]).alias(name) for name in names), PLACE)


def _check_columns(source: Source, names: Sequence[str], there: Collection[str]) -> None:
    for name in names:
        if name not in there:
            raise InputError(f'{source.where}: the header has no column "{name}"; add it, or remove the header')


def scaled(value: pl.Expr, factor: float) -> pl.Expr:
    """Returns values in another unit, without the errors of the last digit that multiplying them brings."""
    # 0.07 * 100 is 7.000000000000001 to a computer, and a written table would show it.
    return (value * factor).round_sig_figs(_DIGITS)


def with_known_cores(jobs: pl.DataFrame, repairs: Repairs) -> pl.DataFrame:
    """Returns jobs whose ``cores_per_task`` is known: one core stands in where the log does not tell."""
    unknown = pl.col("cores_per_task").is_null()
    rule = "cores not told: one core a task stands in"
    return repairs.replace(jobs, unknown, "cores_per_task", STAND_IN_CORES, rule)
