"""SenseTime Helios (2020): cluster_log.csv, a slice of it for another simulator, and a derived list of GPU jobs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import polars as pl

from shunter.workloads.formats.gpu_list import FileLayout, FileLayouts, is_gpu_list, one_task_a_gpu, read_gpu_list
from shunter.workloads.text.published import read_table
from shunter.workloads.text.repairs import PLACE

if TYPE_CHECKING:
    from shunter.workloads.text.repairs import Repairs
    from shunter.workloads.text.source import Source

ZONE: Final = "Asia/Shanghai"
RAW: Final = [
    *("job_id", "user", "vc", "gpu_num", "cpu_num", "node_num"),
    *("state", "submit_time", "duration", "queue"),
]
SLICE: Final = [
    *("job_id", "user", "tenant", "submit_time", "num_chips", "chip_type", "num_nodes"),
    *("duration_s", "final_status"),
]
NOTE: Final = "does not tell its machine (presets are helios-venus, -earth, -saturn and -uranus)"
UNFINISHED: Final = ("pending", "running", "suspended")
"""States of jobs that had no end when the log was made."""

_MICRO: Final = 1e6


def _is_raw(source: Source) -> bool:
    return all(name in source.header for name in RAW)


def _is_slice(source: Source) -> bool:
    return all(name in source.header for name in SLICE)


def _is_list(source: Source) -> bool:
    return is_gpu_list(source, of_pai=False)


def _read_raw(source: Source, repairs: Repairs) -> Iterator[pl.DataFrame]:
    for text in read_table(source, repairs, RAW):
        frame = text.with_columns(_status("state"))
        unfinished = pl.col("state").is_in(UNFINISHED)
        frame = repairs.drop(frame, unfinished, "without an end: run time unknown, job dropped", "state")
        frame = repairs.to_times(frame, ["submit_time"], ZONE)
        sizes = ["gpu_num", "cpu_num", "node_num"]
        frame = repairs.to_numbers(frame, [*sizes, "duration", "queue"], whole=sizes)
        yield frame.select(
            "job_id",
            *_shape(),
            "user",
            PLACE,
            submit_s="submit_time",
            run_s="duration",
            partition="vc",
            status="state",
            logged_wait_s="queue",
            nodes="node_num",
        )


def _read_slice(source: Source, repairs: Repairs) -> Iterator[pl.DataFrame]:
    for text in read_table(source, repairs, SLICE):
        sizes = ["num_chips", "num_nodes"]
        frame = repairs.to_numbers(text, ["submit_time", "duration_s", *sizes], whole=sizes)
        yield frame.select(
            "job_id",
            *one_task_a_gpu(pl.col("num_chips")),
            "user",
            PLACE,
            submit_s=pl.col("submit_time") / _MICRO,
            run_s="duration_s",
            partition="tenant",
            status=_status("final_status"),
            nodes="num_nodes",
            gpu_type="chip_type",
        )


def _status(column: str) -> pl.Expr:
    """Returns states in lower case; the slice spells one with a single l."""
    return pl.col(column).str.strip_chars().str.to_lowercase().replace({"canceled": "cancelled"})


def _shape() -> list[pl.Expr]:
    """Returns one task a GPU; for a job without GPUs one a node, or one a core if cores do not divide over nodes."""
    gpus, cores, nodes = pl.col("gpu_num"), pl.col("cpu_num"), pl.col("node_num")
    # A task must fit on one node, so uneven cores cannot be shared out by nodes.
    by_node = (nodes > 0) & (cores > 0) & (cores % nodes == 0)
    tasks = pl.when(gpus > 0).then(gpus).when(by_node).then(nodes).otherwise(cores)
    return [
        pl.when(gpus.is_not_null()).then(tasks).alias("tasks"),
        pl.when(tasks > 0).then(cores.fill_null(0) / tasks).otherwise(0.0).alias("cores_per_task"),
        pl.when(gpus > 0).then(1.0).otherwise(0.0).alias("gpus_per_task"),
    ]


LAYOUTS: Final = FileLayouts(
    known=(FileLayout(_is_raw, _read_raw), FileLayout(_is_slice, _read_slice), FileLayout(_is_list, read_gpu_list)),
    expected=f"the header {','.join(RAW)}",
    cluster_note=NOTE,
)
recognizes = LAYOUTS.recognizes
read = LAYOUTS.read
