"""Offered load: the work that arrives over what the cluster could do; and workloads scaled to a given load."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import polars as pl

from shunter.errors import InputError
from shunter.model.conditions import shifted
from shunter.model.size import work_of
from shunter.model.workload import SUBMIT_LIMIT_S

if TYPE_CHECKING:
    from shunter.model.cluster import Cluster
    from shunter.model.workload import Workload

LOAD_RANGE: Final = (0.001, 10.0)
"""The offered loads that can be asked for; at 1, as much work arrives as the cluster can do."""


def offered_load(workload: Workload, cluster: Cluster) -> float | None:
    """Returns the work of the jobs over what the cluster could do between the first and the last arrival.

    Work is counted in core-seconds and, where there are GPUs, in GPU-seconds; the larger share of the two is the load.
    Jobs that can never fit do not count. None: no two jobs that fit arrive at different times.
    """
    work = work_of(workload.jobs, cluster)
    if work is None or work.first_s == work.last_s:
        return None
    span_s = work.last_s - work.first_s
    loads = [work.core_s / (cluster.total_cores * span_s)]
    if cluster.total_gpus:
        # The scarcer resource is what queues form for.
        loads.append(work.gpu_s / (cluster.total_gpus * span_s))
    return float(max(loads))


def scale_to_load(workload: Workload, cluster: Cluster, load: float) -> Workload:
    """Returns the workload with its arrivals stretched or squeezed so that its offered load is this one.

    Raises:
        InputError: The load is out of range, or the workload has none that could be scaled.
    """
    check_load(load)
    offered = offered_load(workload, cluster)
    if not offered:
        raise InputError(
            f"{workload.name}: cannot be scaled to a load on {cluster.name}: no work, or no two arrival times, "
            "of jobs that fit; check --cluster, or leave --load (load) out"
        )
    return replace(scale_arrivals(workload, offered / load), name=f"{workload.name} at load {load:.15g}")


def check_load(load: float) -> None:
    """Raises an error for a load out of range."""
    low, high = LOAD_RANGE
    if not low <= load <= high:
        # Who writes 90 means percent.
        meant = f"; did you mean {load / 100:g}, which is {load:g}%?" if high < load <= 100 * high else ""
        raise InputError(f"--load (load) is {load:g}; expected {low:g} to {high:g}{meant}")


def parse_load(text: str) -> float:
    """Returns the load that a text means: ``0.9`` or ``90%``.

    Raises:
        InputError: It is neither.
    """
    try:
        return float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        raise InputError(f"--load (load) is {text!r}; expected a number such as 0.9, or 90%") from None


def scale_arrivals(workload: Workload, factor: float) -> Workload:
    """Returns the workload with every gap between arrivals multiplied by a factor; the first job stays where it is.

    Run times stay. Logged waits become unknown, for they were those of the old arrivals.

    Raises:
        InputError: The factor is not a positive number, or an arrival would be too late to be counted.
    """
    submit_s = workload.jobs["submit_s"]
    first_s = submit_s[0]
    if not (factor > 0 and math.isfinite(factor) and first_s + (submit_s[-1] - first_s) * factor <= SUBMIT_LIMIT_S):
        raise InputError(
            f"{workload.name}: arrivals cannot be stretched {factor:.6g}-fold; expected a factor above 0 that keeps "
            f"the last one within {SUBMIT_LIMIT_S:g} s"
        )
    moved_s = first_s + (pl.col("submit_s") - first_s) * factor
    stretched = {
        **shifted(workload.jobs, moved_s),
        "submit_s": moved_s,
        "logged_wait_s": pl.lit(None, dtype=pl.Float64),
    }
    return workload.derived(
        repr(factor),
        jobs=workload.jobs.with_columns(**stretched),
        name=f"{workload.name} stretched {factor:.6g}-fold",
        # A window's history moves with it.
        earlier=None if workload.earlier is None else workload.earlier.with_columns(**stretched),
    )
