"""Jobs of queueing theory: exponential gaps between arrivals, exponential run times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import polars as pl

from shunter.workloads.generators.drawing import streams, with_requests
from shunter.workloads.generators.parameters import PoolParameters, number, whole


@dataclass(frozen=True)
class Parameters(PoolParameters):
    """What to generate."""

    SET_BY_LOAD: ClassVar[tuple[str, ...]] = ("mean_gap_s",)

    n_max: int | None = whole(None, 1, 10**9)
    mean_run_s: float = number(3600.0, 0.001, 1e6)
    mean_gap_s: float = number(900.0, 0.001, 1e6)

    def completed(self, given: Mapping[str, object], where: str) -> Parameters:
        """Returns the parameters with the largest job's size."""
        return replace(super().completed(given, where), n_max=self.largest(self.n_max, where))


def draw_jobs(parameters: Parameters) -> pl.DataFrame:
    """Returns jobs whose sizes are powers of two, each as likely as another."""
    of_gaps, of_sizes, of_runs, of_requests = streams(parameters.seed, 4)
    powers = (parameters.n_max or parameters.cores).bit_length()
    jobs = pl.DataFrame(
        {
            "submit_s": of_gaps.exponential(parameters.mean_gap_s, parameters.jobs).cumsum(),
            "run_s": of_runs.exponential(parameters.mean_run_s, parameters.jobs),
            "tasks": 2 ** of_sizes.integers(0, powers, parameters.jobs),
        }
    )
    return with_requests(jobs, parameters, of_requests)
