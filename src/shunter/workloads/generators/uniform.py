"""Jobs whose sizes, run times and gaps are uniform: the plainest workload there is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Final

import polars as pl

from shunter.checks import declared
from shunter.errors import InputError
from shunter.model.cluster import CORES_LIMIT
from shunter.workloads.generators.drawing import streams, with_requests
from shunter.workloads.generators.parameters import GAPS_S, Generator, PoolParameters


@dataclass(frozen=True)
class Parameters(PoolParameters):
    """The parameters of this generator."""

    SET_BY_LOAD: ClassVar[tuple[str, ...]] = ("mean_gap_s",)

    n_min: int = declared(1, "The smallest job's cores.", low=1, high=CORES_LIMIT)
    n_max: int | None = declared(None, "The largest job's cores; by default all of them.", low=1, high=CORES_LIMIT)
    p_min: int = declared(60, "The shortest run time in seconds.", low=1, high=10**8)
    p_max: int = declared(7200, "The longest run time in seconds.", low=1, high=10**8)
    mean_gap_s: float = declared(2000.0, "The mean time between arrivals.", **GAPS_S)

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


GENERATOR: Final = Generator(Parameters, draw_jobs)
