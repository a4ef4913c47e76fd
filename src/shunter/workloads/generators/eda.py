"""A farm for electronic design automation: many short, small jobs, and hosts of several sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shunter.checks import declared
from shunter.errors import InputError
from shunter.model.cluster import NODES_LIMIT, Node
from shunter.workloads.generators.drawing import streams, with_requests
from shunter.workloads.generators.parameters import Generator, JobParameters

GB: Final = 1024
"""MB in a GB."""
JOB_CORES: Final = (1, 4)
JOB_MEMORY_MB: Final = (512, 4096)
HOST_CORES: Final = (16, 32)
HOST_MEMORY_GB: Final = (64, 128)


@dataclass(frozen=True)
class Parameters(JobParameters):
    """The parameters of this generator."""

    hosts: int = declared(20, "How many hosts.", low=1, high=NODES_LIMIT)
    max_jobs_per_step: int = declared(10, "The most jobs in one second.", low=1, high=1_000_000)
    p_min: int = declared(1, "The shortest run time in seconds.", low=1, high=10**6)
    p_max: int = declared(60, "The longest run time in seconds.", low=1, high=10**6)

    def completed(self, given: Mapping[str, object], where: str) -> Parameters:
        """Returns the parameters, having checked the range of run times."""
        if self.p_min > self.p_max:
            raise InputError(f"{where}: p_min is {self.p_min}, but p_max is {self.p_max}; give the smaller one first")
        return super().completed(given, where)


def draw_jobs(parameters: Parameters) -> pl.DataFrame:
    """Returns jobs of one task each, in steps of a second."""
    of_steps, of_cores, of_memory, of_runs, of_requests, _ = _streams(parameters.seed)
    count = parameters.jobs
    jobs = pl.DataFrame(
        {
            "submit_s": _steps(of_steps, count, parameters.max_jobs_per_step),
            "run_s": of_runs.integers(parameters.p_min, parameters.p_max, count, endpoint=True),
            "cores_per_task": of_cores.integers(*JOB_CORES, count, endpoint=True),
            "memory_mb_per_task": of_memory.integers(*JOB_MEMORY_MB, count, endpoint=True),
        }
    )
    return with_requests(jobs, parameters, of_requests)


def draw_nodes(parameters: Parameters) -> tuple[Node, ...]:
    """Returns hosts whose cores and memory are drawn independently; more hosts begin with the same ones."""
    *_, of_hosts = _streams(parameters.seed)
    low, high = zip(HOST_CORES, HOST_MEMORY_GB, strict=True)
    # Drawn row by row, so that the first hosts stay the same when more are asked for.
    drawn = of_hosts.integers(low, high, (parameters.hosts, 2), endpoint=True)
    return tuple(Node(f"host{index}", float(cores), gb * GB) for index, (cores, gb) in enumerate(drawn.tolist()))


def _streams(seed: int) -> list[np.random.Generator]:
    """Returns the streams of steps, cores, memory, run times, requests, and hosts."""
    return streams(seed, 6)


def _steps(stream: np.random.Generator, jobs: int, most: int) -> NDArray[np.int64]:
    """Returns each job's step; a step has 0 to `most` jobs, each number as likely as another."""
    counts = np.empty(0, dtype=np.int64)
    while counts.sum() < jobs:
        # As many steps as are needed on average; where they do not suffice, as many again.
        counts = np.concatenate((counts, stream.integers(0, most, 1 + 2 * jobs // most, endpoint=True)))
    return np.repeat(np.arange(counts.size), counts)[:jobs]


GENERATOR: Final = Generator(Parameters, draw_jobs, draw_nodes=draw_nodes, node_parameters=("hosts", "seed"))
