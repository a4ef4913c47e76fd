"""Alibaba (2017): batch_task, a table of tasks with many instances each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import polars as pl

from shunter.errors import InputError
from shunter.workloads.text.log import read_jobs
from shunter.workloads.text.published import (
    ALIBABA_STATUSES,
    LARGEST_MEMORY_MB,
    has_header,
    most_lines,
    read_table,
    scaled,
    with_known_cores,
)
from shunter.workloads.text.repairs import PLACE
from shunter.workloads.text.source import are_numbers

if TYPE_CHECKING:
    from shunter.model.workload import Workload
    from shunter.workloads.formats import Reading
    from shunter.workloads.text.repairs import Repairs
    from shunter.workloads.text.source import Source

CORES: Final = "number_of_cpus_requested_per_instance_in_the_task"
MEMORY: Final = "normalized_memory_requested_per_instance_in_the_task"
COLUMNS: Final = [
    "task_create_time",
    "task_end_time",
    "job_id",
    "task_id",
    "number_of_instances",
    "status",
    CORES,
    MEMORY,
]
NOTE: Final = "does not tell its machines (there were about 1,300, with 64 cores each)"

_PERCENT: Final = 0.01


def recognizes(source: Source) -> bool:
    """Returns whether a file has the header of the table, or rows of it without a header."""
    return has_header(source, COLUMNS) or most_lines(source, _is_row)


def read(sources: Sequence[Source], reading: Reading) -> Workload:
    """Reads tables of tasks.

    Raises:
        InputError: A file is no such table, or no task is left.
    """
    for source in sources:
        if not recognizes(source):
            raise InputError(
                f"{source.where}: is no batch_task of 2017; expected 8 columns, of which the 6th is a status"
            )
    return read_jobs(sources, reading, _read_tasks, NOTE)


def _is_row(cells: list[str]) -> bool:
    return len(cells) == len(COLUMNS) and cells[5] in ALIBABA_STATUSES and are_numbers(cells[:5])


def _read_tasks(source: Source, repairs: Repairs) -> Iterator[pl.DataFrame]:
    for text in read_table(source, repairs, COLUMNS):
        numbers = ["task_create_time", "task_end_time", "number_of_instances", CORES, MEMORY]
        frame = repairs.to_numbers(
            text.with_columns(pl.col("status").str.strip_chars()), numbers, whole=["number_of_instances"]
        )
        unfinished = pl.col("status").is_in(["Waiting", "Running"])
        frame = repairs.drop(frame, unfinished, "waiting or running: run time unknown, task dropped", "status")
        before = pl.col("task_end_time") <= 0
        frame = repairs.drop(frame, before, "ended before the log began: task dropped", "task_end_time")
        jobs = frame.select(
            pl.col("status").replace(ALIBABA_STATUSES).str.to_lowercase(),
            PLACE,
            job_id=pl.format("{}/{}", "job_id", "task_id"),
            submit_s="task_create_time",
            run_s=pl.col("task_end_time") - pl.col("task_create_time"),
            tasks="number_of_instances",
            cores_per_task=scaled(pl.col(CORES), _PERCENT),
            memory_mb_per_task=scaled(pl.col(MEMORY), LARGEST_MEMORY_MB),
        )
        yield with_known_cores(jobs, repairs)
