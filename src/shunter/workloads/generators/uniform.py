"""Jobs whose sizes, run times and gaps are uniform: the plainest workload there is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import polars as pl

from shunter.errors import InputError
from shunter.workloads.generators.drawing import streams, with_requests
from shunter.workloads.generators.parameters import PoolParameters, number, whole


@dataclass(frozen=True)
class Parameters(PoolParameters):
    """What to generate."""

    SET_BY_LOAD: ClassVar[tuple[str, ...]] = ("mean_gap_s",)

    n_min: int = whole(1, 1, 10**9)
    n_max: int | None = whole(None, 1, 10**9)
    p_min: int = whole(60, 1, 10**8)
    p_max: int = whole(7200, 1, 10**8)
    mean_gap_s: float = number(2000.0, 0.001, 1e6)

    def completed(self, given: Mapping[str, object], where: str) -> Parameters:
        """Returns the parameters with the largest job's size."""
        n_max = self.largest(self.n_max, where)
        for low, high, names in ((self.n_min, n_max, ("n_min", "n_max")), (self.p_min, self.p_max, ("p_min", "p_max"))):
            if low > high:
                raise InputError(f"{where}: {names[0]} is {low}, but {names[1]} is {high}; give the smaller one first")
        return replace(super().completed(given, where), n_max=n_max)


def draw_jobs(parameters: Parameters) -> pl.DataFrame:
    """Returns jobs of whole cores and whole seconds, both ends of each range included."""
    of_gaps, of_sizes, of_runs, of_requests = streams(parameters.seed, 4)
    n_max = parameters.n_max or parameters.cores
    jobs = pl.DataFrame(
        {
            "submit_s": of_gaps.uniform(0, 2 * parameters.mean_gap_s, parameters.jobs).cumsum(),
            "run_s": of_runs.integers(parameters.p_min, parameters.p_max + 1, parameters.jobs),
            "tasks": of_sizes.integers(parameters.n_min, n_max + 1, parameters.jobs),
        }
    )
    return with_requests(jobs, parameters, of_requests)
