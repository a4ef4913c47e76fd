"""Alibaba DLRM (2025): instances of recommendation services; some have GPUs, the others only cores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import polars as pl

from shunter.workloads.text.log import read_jobs
from shunter.workloads.text.published import MB_PER_GB, read_table, with_known_cores
from shunter.workloads.text.repairs import PLACE

if TYPE_CHECKING:
    from shunter.model.workload import Workload
    from shunter.workloads.formats import Reading
    from shunter.workloads.text.repairs import Repairs
    from shunter.workloads.text.source import Source

TIMES: Final = ["creation_time", "scheduled_time", "deletion_time"]
COLUMNS: Final = ["instance_sn", "role", "app_name", "cpu_request", "gpu_request", "memory_request", *TIMES]
"""The columns that are read; the file has others beside them, and always a header."""
NOTE: Final = "does not tell its machines, nor is a list of them published"


def recognizes(source: Source) -> bool:
    """Returns whether the header has all columns that are read."""
    return set(COLUMNS) <= set(source.header)


def read(sources: Sequence[Source], reading: Reading) -> Workload:
    """Reads lists of instances.

    Raises:
        InputError: A file has another header, or no instance is left.
    """
    return read_jobs(sources, reading, _read_instances, NOTE)


def _read_instances(source: Source, repairs: Repairs) -> Iterator[pl.DataFrame]:
    for text in read_table(source, repairs, COLUMNS):
        frame = repairs.to_numbers(text, COLUMNS[3:])
        # The log shows a window of time; services live longer than that.
        earlier = pl.col("creation_time").is_null() | pl.col("scheduled_time").is_null()
        frame = repairs.drop(frame, earlier, "there before the log began: instance dropped", "instance_sn")
        outlives = pl.col("deletion_time").is_null()
        frame = repairs.drop(frame, outlives, "still there when the log ends: instance dropped", "instance_sn")
        jobs = frame.select(
            PLACE,
            job_id="instance_sn",
            submit_s="creation_time",
            run_s=pl.col("deletion_time") - pl.col("scheduled_time"),
            tasks=pl.lit(1, pl.Int64),
            cores_per_task="cpu_request",
            memory_mb_per_task=pl.col("memory_request") * MB_PER_GB,
            gpus_per_task=pl.col("gpu_request").fill_null(0.0),
            queue="role",
            logged_wait_s=pl.col("scheduled_time") - pl.col("creation_time"),
            name="app_name",
            # An application serves one model.
            kind="app_name",
        )
        yield with_known_cores(jobs, repairs)
