"""A cluster for a log that tells none: as large as what the log had in use at the same time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import polars as pl

from shunter.model.cluster import GPUS_LIMIT, Cluster, Node

if TYPE_CHECKING:
    from shunter.model.workload import Workload

GPUS_PER_NODE: Final = 8
"""Of the nodes that are made up for a log with GPUs."""


def infer_cluster(workload: Workload) -> Cluster:
    """Returns a cluster as large as what the jobs had in use at once, by the log's own times.

    Where jobs have no GPUs, it is one pool of cores. Otherwise it has nodes of eight GPUs, or of as many as the largest
    task has. The true cluster may have been larger, for a log shows only what was used. A job whose wait the log does
    not tell is taken as started when it was submitted.
    """
    jobs = workload.jobs
    cores, gpus = _most_together(jobs, "cores_per_task"), _most_together(jobs, "gpus_per_task")
    name = f"{workload.name}, inferred"
    if gpus == 0:
        return Cluster.from_nodes((Node("pool", float(max(1, math.ceil(cores)))),), name)
    largest = math.ceil(float(jobs.select(pl.col("gpus_per_task").max()).item()))
    each = min(max(GPUS_PER_NODE, largest), GPUS_LIMIT)
    count = math.ceil(gpus / each)
    wide = float(jobs.select(pl.col("cores_per_task").max()).item())
    node_cores = float(max(1, math.ceil(cores / count), math.ceil(wide)))
    return Cluster.from_nodes(tuple(Node(f"node{index}", node_cores, None, each) for index in range(count)), name)


def _most_together(jobs: pl.DataFrame, amount: str) -> float:
    """Returns the most of an amount that jobs had at one time; a job that ends makes room for one that starts then."""
    size = pl.col("tasks") * pl.col(amount)
    start_s = pl.col("submit_s") + pl.col("logged_wait_s").fill_null(0.0)
    starts = jobs.select(time_s=start_s, change=size)
    ends = jobs.select(time_s=start_s + pl.col("run_s"), change=-size)
    # Whole milliseconds, as in the core, for sums of seconds differ in their last digits.
    moments = pl.concat([starts, ends]).with_columns((pl.col("time_s") * 1000).round()).sort("time_s", "change")
    most = moments.select(pl.col("change").cum_sum().max()).item()
    return float(most)
