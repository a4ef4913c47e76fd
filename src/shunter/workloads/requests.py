"""Workloads whose users ask for other run times: all requests scaled, or a limit that nobody may exceed."""

from __future__ import annotations

import hashlib
import math
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from shunter.errors import InputError
from shunter.model.workload import DURATION_LIMIT_S

if TYPE_CHECKING:
    from shunter.model.workload import Workload


def scale_requests(workload: Workload, factor: float) -> tuple[Workload, int]:
    """Returns the workload with every known request multiplied by a factor, and how many there are.

    Raises:
        InputError: The factor is not a positive number, or a request would be longer than any may be.
    """
    requested_s = workload.jobs["requested_s"]
    longest_s = requested_s.max()
    longest_s = float(longest_s) if isinstance(longest_s, int | float) else 0.0
    if not (factor > 0 and math.isfinite(factor) and longest_s * factor <= DURATION_LIMIT_S):
        raise InputError(
            f"{workload.name}: requests cannot be scaled by {factor:g}; expected a factor above 0 that keeps the "
            f"longest of {longest_s:g} s within {DURATION_LIMIT_S:g} s"
        )
    return _with_requests(workload, requested_s * factor, f"requests x{factor!r}"), requested_s.count()


def limit_requests(workload: Workload, limit_s: float, missing_request: str = "run-time") -> tuple[Workload, int]:
    """Returns the workload with longer requests cut to a limit, and how many were.

    A request that the log does not have counts as what stands in for it: a job that would stand for more than the limit
    is one that asks for the limit.

    Args:
        workload: The jobs.
        limit_s: The longest request.
        missing_request: What stands in for unknown requests, as in `shunter.simulation.simulate`.

    Raises:
        InputError: The limit is not a positive number of seconds.
    """
    if not 0 < limit_s <= DURATION_LIMIT_S:
        raise InputError(f"the limit is {limit_s:g}; expected above 0 to {DURATION_LIMIT_S:g} seconds")
    jobs = workload.jobs
    stand_in = pl.col("run_s") if missing_request == "run-time" else pl.lit(float(missing_request))
    longer = pl.coalesce(pl.col("requested_s"), stand_in) > limit_s
    limited = jobs.select(pl.when(longer).then(limit_s).otherwise(pl.col("requested_s")).alias("requested_s"))
    count = int(jobs.select(longer.sum()).item())
    return _with_requests(workload, limited["requested_s"], f"requests <= {limit_s!r}"), count


def _with_requests(workload: Workload, requested_s: pl.Series, what: str) -> Workload:
    return replace(
        workload,
        jobs=workload.jobs.with_columns(requested_s),
        content_sha256=hashlib.sha256(f"{workload.content_sha256} {what}".encode()).hexdigest(),
    )
