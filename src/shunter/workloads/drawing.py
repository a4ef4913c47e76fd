"""What generators share: streams of random numbers, and requested times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from shunter.workloads.parameters import JobParameters


def streams(seed: int, count: int) -> list[np.random.Generator]:
    """Returns independent streams from one seed: drawing more from one changes nothing in the others."""
    return [np.random.Generator(np.random.PCG64(child)) for child in np.random.SeedSequence(seed).spawn(count)]


def with_requests(jobs: pl.DataFrame, parameters: JobParameters, stream: np.random.Generator) -> pl.DataFrame:
    """Returns the jobs with the requested times that the parameters ask for."""
    if parameters.requests == "none":
        return jobs
    if parameters.requests == "accurate":
        return jobs.with_columns(requested_s=pl.col("run_s"))
    times = 1 + parameters.factor * stream.random(jobs.height)
    return jobs.with_columns(requested_s=(pl.col("run_s") * pl.Series(times)).ceil())
