"""Lists of GPU jobs that others derived from published logs, and what tables of GPU jobs have in common.

The list has the columns ``job_id,arrival_s,service_sec,gpu_count``. Ids that begin with ``ali-`` are of Alibaba PAI,
all others of Helios.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import polars as pl

from shunter.workloads.delimited import read_frames
from shunter.workloads.repairs import PLACE, UNREADABLE

if TYPE_CHECKING:
    from shunter.workloads.repairs import Repairs
    from shunter.workloads.source import Source

LAYOUT: Final = ["job_id", "arrival_s", "service_sec", "gpu_count"]
PAI_PREFIX: Final = "ali-"
CLIPPED_S: Final = 172_800.0
"""Two days: whoever made the lists cut longer run times to it."""
CLIPPED: Final = "run time 172,800 s, at which the list cuts longer ones: taken as it is"


def is_gpu_list(source: Source, *, of_pai: bool) -> bool:
    """Returns whether a file is such a list, of PAI or else of Helios."""
    first = source.head_lines[1] if len(source.head_lines) > 1 else ""
    return source.header == LAYOUT and first.lstrip('" ').startswith(PAI_PREFIX) == of_pai


def read_gpu_list(source: Source, repairs: Repairs) -> Iterator[pl.DataFrame]:
    """Yields the jobs of such a list, as `build_workload` takes them: one task a GPU, no cores.

    Args:
        source: The file; its header is `LAYOUT`.
        repairs: Takes what is skipped, and tells how many run times are cut.
    """
    for text in read_frames(source, repairs):
        frame = with_numbers(text.rename(str.lower), ("arrival_s", "service_sec", "gpu_count"), repairs)
        frame = with_whole(frame, ("gpu_count",), repairs)
        clipped = frame.filter(pl.col("service_sec") == CLIPPED_S)
        if clipped.height:
            repairs.tell(CLIPPED, clipped.height, clipped[PLACE][0], f"service_sec {CLIPPED_S:.15g}")
        yield frame.select(
            "job_id",
            pl.col("arrival_s").alias("submit_s"),
            pl.col("service_sec").alias("run_s"),
            *one_task_a_gpu(pl.col("gpu_count")),
            PLACE,
        )


def one_task_a_gpu(gpus: pl.Expr) -> list[pl.Expr]:
    """Returns the size of a job of which only the number of GPUs is known: it asks for no cores."""
    return [
        gpus.cast(pl.Int64).alias("tasks"),
        pl.lit(0.0).alias("cores_per_task"),
        pl.lit(1.0).alias("gpus_per_task"),
    ]


def with_numbers(frame: pl.DataFrame, columns: Sequence[str], repairs: Repairs) -> pl.DataFrame:
    """Returns a frame of text with some columns as numbers, without the rows in which one holds something else."""
    for column in columns:
        number = pl.col(column).str.strip_chars().cast(pl.Float64, strict=False)
        frame = repairs.drop(frame, number.is_null() & pl.col(column).is_not_null(), UNREADABLE, column)
        frame = frame.with_columns(number)
    return frame


def with_whole(frame: pl.DataFrame, columns: Sequence[str], repairs: Repairs) -> pl.DataFrame:
    """Returns a frame with some columns of numbers as whole numbers, without the rows in which one has a fraction."""
    for column in columns:
        value = pl.col(column)
        frame = repairs.drop(frame, value != value.floor(), UNREADABLE, column)
        frame = frame.with_columns(value.cast(pl.Int64, strict=False))
    return frame
