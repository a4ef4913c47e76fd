"""A log with the cluster that it is replayed on, from texts or from what was read before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shunter.model.cluster import Cluster
from shunter.model.log import FROM_WORKLOAD, Log
from shunter.model.workload import Workload
from shunter.workloads.load import check_load, scale_to_load
from shunter.workloads.reading import cluster_of, read_cluster, read_workload


def read_log(
    workload: str | Path | Workload | Log,
    cluster: str | int | Cluster | None = None,
    *,
    load: float | None = None,
    **reading: Any,  # noqa: ANN401 - what read_workload takes
) -> Log:
    """Returns a log on a cluster.

    Args:
        workload: A file, a generator, or a workload; a log is returned as it is.
        cluster: A number of cores, a preset, a file, a generator, or a cluster; None: the one that the workload tells
            of.
        load: Scale the arrivals, so that this part of the cluster's cores is asked for on average.
        reading: What `shunter.read_workload` takes besides: ``format``, ``strict``, ``only``, ``columns``.

    Raises:
        InputError: A file cannot be read, or nothing tells the cluster.
    """
    if isinstance(workload, Log):
        return workload
    if load is not None:
        check_load(load)
    found = cluster if isinstance(cluster, Cluster) else None if cluster is None else read_cluster(str(cluster))
    jobs = workload if isinstance(workload, Workload) else read_workload(workload, **reading)
    log = Log(jobs, cluster_of(jobs), FROM_WORKLOAD) if found is None else Log(jobs, found)
    if load is None:
        return log
    return Log(scale_to_load(jobs, log.cluster, load), log.cluster, log.cluster_from, load)
