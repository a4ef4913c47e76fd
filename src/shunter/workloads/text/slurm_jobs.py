"""The end of the readers of Slurm's logs: which jobs ran, and how many tasks of which size a job has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from shunter.workloads.text.repairs import PLACE
from shunter.workloads.text.slurm_text import UNFINISHED

if TYPE_CHECKING:
    from shunter.workloads.text.repairs import Repairs

CLUSTER_NOTE: Final = "Slurm's logs of jobs do not list the machines; make a cluster of 'scontrol show node'"

_TEXTS: Final = ("user", "group", "partition", "status", "name", "account", "qos", "gpu_type")
_NUMBERS: Final = ("priority", "used_memory_mb_per_task")


def job_table(frame: pl.DataFrame, repairs: Repairs) -> pl.DataFrame:
    """Returns the columns of the job table for the jobs that ran and ended.

    Args:
        frame: For each job ``job_id``, ``submit_s``, ``start_s``, ``run_s``, ``requested_s``, what it had in all
            (``cores``, ``nodes``, ``gpus``, ``memory_mb``), ``started`` and ``ended`` (whether the log says so),
            ``placed`` (whether nodes were given to it), and columns of the job table that stay as they are.
        repairs: Takes what is dropped.
    """
    never = ~pl.col("started") | ((pl.col("run_s") == 0) & ~pl.col("placed"))
    frame = repairs.drop(frame, never, "never started: job dropped", "job_id")
    running = ~pl.col("ended") | pl.col("status").is_in(UNFINISHED)
    frame = repairs.drop(frame, running, "still running: run time unknown, job dropped", "job_id")
    cores, nodes, gpus = pl.col("cores"), pl.col("nodes"), pl.col("gpus")
    is_even = (nodes > 0) & (cores % nodes == 0) & (gpus % nodes == 0)
    tasks = pl.when(is_even).then(nodes).when(gpus > 0).then(gpus).otherwise(cores).ceil()
    frame = frame.with_columns(tasks=pl.when(cores > 0).then(tasks))
    return frame.select(
        PLACE,
        "job_id",
        "submit_s",
        "run_s",
        "requested_s",
        pl.col("tasks").cast(pl.Int64, strict=False),
        cores_per_task=cores / pl.col("tasks"),
        memory_mb_per_task=pl.col("memory_mb") / pl.col("tasks"),
        gpus_per_task=gpus / pl.col("tasks"),
        logged_wait_s=pl.col("start_s") - pl.col("submit_s"),
        nodes=nodes.cast(pl.Int64, strict=False),
        **{name: pl.col(name) for name in (*_TEXTS, *_NUMBERS) if name in frame.columns},
    )
