"""Clusters from files: a list of machines, what a log says of its machine, or what its jobs had in use at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import polars as pl

from shunter.checks import check_name
from shunter.errors import InputError
from shunter.model.cluster import GPUS_LIMIT, Cluster, Node
from shunter.model.conditions import that_ran, waits_from_s
from shunter.model.fitting import can_ever_fit, shape_columns
from shunter.model.log import Ledger
from shunter.workloads.formats import FORMATS, detect_format
from shunter.workloads.hosts_used import infer_nodes
from shunter.workloads.machines import MACHINES, RULES, detect_machines, read_site
from shunter.workloads.reading import cluster_of, read_workload
from shunter.workloads.text.source import open_source

if TYPE_CHECKING:
    from shunter.model.workload import Workload
    from shunter.workloads.machines.site import LeftOut, SitePolicy
    from shunter.workloads.text.source import Source

GPUS_PER_NODE: Final = 8
"""How many GPUs a node gets at least, where nodes are made up for a log."""


class FoundCluster(NamedTuple):
    """A cluster, and how it was found."""

    cluster: Cluster
    ledger: Ledger
    """What was repaired or left out."""
    notes: tuple[str, ...]
    """Where the cluster comes from, and how sure that is: sentences."""
    policy: SitePolicy | None = None
    """The order of the site's jobs, if its files tell it."""
    left: tuple[LeftOut, ...] = ()
    """What its files tell, and was not taken over."""


def find_cluster(
    paths: Sequence[Path],
    *,
    format: str | None = None,
    infer: bool = False,
    strict: bool = False,
    columns: str | None = None,
) -> FoundCluster:
    """Returns the cluster that a list of machines, with lists of a site's rules, or a job log tells of.

    Args:
        paths: The files of one site or of one log.
        format: One of `MACHINES`, `RULES` or `FORMATS`; by default what the content says.
        infer: Whether the files are a log that does not tell its machine, and what its jobs had in use at once counts:
            on each host, if it names hosts.
        strict: Whether each repair is an error instead.
        columns: For a log that is a table with names of its own, what gives each of our columns.

    Raises:
        InputError: The files cannot be read, or tell of no cluster.
    """
    if format is not None:
        check_name("format", format, (*MACHINES, *RULES, *FORMATS))
    source = open_source(paths[0])
    if not infer and (format in (*MACHINES, *RULES) or (format is None and detect_machines(source))):
        site = read_site(paths, format=format, strict=strict)
        told = f"From {', '.join(file.name for file in paths)}."
        return FoundCluster(site.cluster, site.ledger, (told,), site.policy, site.left)
    if format is None and columns is None and detect_format(source) is None:
        raise _unknown(source)
    workload = read_workload(paths, format=format, strict=strict, columns=columns)
    if infer:
        cluster, notes = infer_cluster(workload)
        return FoundCluster(cluster, workload.ledger, notes)
    try:
        return FoundCluster(cluster_of(workload), workload.ledger, (f"As {workload.name} says.",))
    # A log that does not tell its machine still tells what its jobs used.
    except InputError as error:
        raise InputError(f"{error}; or add --infer to take what the jobs had in use at once") from None


def _unknown(source: Source) -> InputError:
    first = source.head_lines[0][:60] if source.head_lines else ""
    lists = "; ".join(f"{name} ({what})" for name, what in (MACHINES | RULES).items())
    return InputError(
        f"{source.where}: is neither a list of machines nor a log that is known (it begins with {first!r}); lists that "
        f"are read are {lists}; logs are those of 'shunter trace info'"
    )


def infer_cluster(workload: Workload) -> tuple[Cluster, tuple[str, ...]]:
    """Returns a cluster as large as what the jobs had in use at once, by the log's own times, and how sure that is.

    The true cluster may have been larger, for a log shows only what was used. A job whose wait the log does not tell is
    taken as started when it was submitted.
    """
    name = f"{workload.name}, inferred"
    used = infer_nodes(workload)
    if used is not None:
        cluster = Cluster.from_nodes(used.nodes, name)
        notes = used.notes
    else:
        cluster = Cluster.from_nodes(_pool(workload.jobs), name)
        notes = (
            f"What {workload.name} had in use at once, by its own times; GPUs rounded up to whole nodes.",
            "The log names no hosts, so that nodes and their sizes are not known.",
        )
    shapes = workload.jobs.select(shape_columns(workload.jobs, cluster))
    misfits = int((~can_ever_fit(shapes, cluster)).sum())
    if misfits:
        notes = (*notes, f"Jobs that do not fit on it: {misfits:,}.")
    return cluster, notes


def _pool(jobs: pl.DataFrame) -> tuple[Node, ...]:
    """Returns one pool of cores, or nodes of eight GPUs (or as many as the largest task has) where jobs have some."""
    cores, gpus = _most_together(jobs, "cores_per_task"), _most_together(jobs, "gpus_per_task")
    if gpus == 0:
        return (Node("pool", float(max(1, math.ceil(cores)))),)
    largest = math.ceil(float(jobs.select(pl.col("gpus_per_task").max()).item()))
    # A task cannot be spread over nodes, so a node must hold the largest one.
    each = min(max(GPUS_PER_NODE, largest), GPUS_LIMIT)
    count = math.ceil(gpus / each)
    wide = float(jobs.select(pl.col("cores_per_task").max()).item())
    node_cores = float(max(1, math.ceil(cores / count), math.ceil(wide)))
    return tuple(Node(f"node{index}", node_cores, None, each) for index in range(count))


def _most_together(jobs: pl.DataFrame, amount: str) -> float:
    """Returns the most of a resource that jobs had at one time; a job that ends makes room for one that starts then."""
    jobs = that_ran(jobs)
    size = pl.col("tasks") * pl.col(amount)
    jobs = jobs.with_columns(start_s=waits_from_s(jobs) + jobs["logged_wait_s"].fill_null(0.0))
    start_s = pl.col("start_s")
    starts = jobs.select(time_s=start_s, change=size)
    ends = jobs.select(time_s=start_s + pl.col("run_s"), change=-size)
    # Whole milliseconds, as in the core, for sums of seconds differ in their last digits.
    moments = pl.concat([starts, ends]).with_columns((pl.col("time_s") * 1000).round()).sort("time_s", "change")
    most = moments.select(pl.col("change").cum_sum().max()).item()
    return float(most)
