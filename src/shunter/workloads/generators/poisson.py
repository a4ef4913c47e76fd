"""Jobs of queueing theory: exponential gaps between arrivals, exponential run times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Final

import polars as pl

from shunter.checks import declared
from shunter.model.cluster import CORES_LIMIT
from shunter.workloads.generators.drawing import streams, with_requests
from shunter.workloads.generators.parameters import GAPS_S, Generator, PoolParameters


@dataclass(frozen=True)
class Parameters(PoolParameters):
    """The parameters of this generator."""

    SET_BY_LOAD: ClassVar[tuple[str, ...]] = ("mean_gap_s",)

    n_max: int | None = declared(None, "The largest job's cores; by default all of them.", low=1, high=CORES_LIMIT)
    mean_run_s: float = declared(3600.0, "The mean run time.", **GAPS_S)
    mean_gap_s: float = declared(900.0, "The mean time between arrivals.", **GAPS_S)

    def completed(self, given: Mapping[str, object], where: str) -> Parameters:
        """Returns the parameters with the largest job's size."""
        return replace(super().completed(given, where), n_max=self.largest(self.n_max, where))


def draw_jobs(parameters: Parameters) -> pl.DataFrame:
    """Returns jobs whose sizes are powers of two, each as likely as another."""
    of_gaps, of_sizes, of_runs, of_requests = streams(parameters.seed, 4)
    # 256 has 9 bits: the sizes are 2**0 to 2**8.
    powers = (parameters.n_max or parameters.cores).bit_length()
    jobs = pl.DataFrame(
        {
            "submit_s": of_gaps.exponential(parameters.mean_gap_s, parameters.jobs).cumsum(),
            "run_s": of_runs.exponential(parameters.mean_run_s, parameters.jobs),
            "tasks": 2 ** of_sizes.integers(0, powers, parameters.jobs),
        }
    )
    return with_requests(jobs, parameters, of_requests)


GENERATOR: Final = Generator(Parameters, draw_jobs)
