"""A training cluster: users submit bursts of like jobs, most of them short and small, a few long and large."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate
from statistics import NormalDist
from typing import ClassVar, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shunter.checks import declared
from shunter.model.cluster import NODES_LIMIT, Node
from shunter.workloads.generators.drawing import numbered, streams, with_requests
from shunter.workloads.generators.kinds import draw_kinds
from shunter.workloads.generators.parameters import GAPS_S, Generator, GpuParameters

NODE: Final = Node("gpu", cores=64.0, memory_mb=8 * 65_536, gpus=8)
"""Each node, apart from its number."""
GPU_SHARES: Final = (0.50, 0.16, 0.02, 0.16, 0.01, 0.02, 0.01, 0.12)
"""The share of bursts whose jobs have 1, 2 … 8 GPUs."""
PRIORITY_SHARES: Final = (0.7, 0.2, 0.1)
"""The share of bursts of priority 0, 1, 2; the highest is the most important."""
CORES_PER_GPU: Final = (2, 8)
MEMORY_GB_PER_GPU: Final = (16, 64)
LONGEST_RUN_S: Final = 604_800.0
"""A week; a longer job is cut."""
GB: Final = 1024
"""MB in a GB."""


@dataclass(frozen=True)
class Parameters(GpuParameters):
    """The parameters of this generator."""

    SET_BY_LOAD: ClassVar[tuple[str, ...]] = ("mean_gap_s",)

    nodes: int = declared(8, "How many nodes, of eight GPUs each.", low=1, high=NODES_LIMIT)
    users: int = declared(20, "How many users.", low=1, high=1_000_000)
    mean_gap_s: float = declared(1200.0, "The mean time between arrivals.", **GAPS_S)
    burst: float = declared(10.0, "The mean number of jobs in a burst.", low=1.0, high=1e6)
    burst_gap_s: float = declared(10.0, "The mean time between the jobs of a burst.", low=0.0, high=1e6)
    median_run_s: float = declared(1800.0, "The median run time.", low=1.0, high=1e6)
    sigma: float = declared(2.0, "The standard deviation of the logarithm of the run time.", low=0.0, high=10.0)
    correlation: float = declared(0.5, "Between the logarithms of run time and size.", low=-1.0, high=1.0)


def draw_jobs(parameters: Parameters) -> pl.DataFrame:
    """Returns jobs of one task for each GPU; what is drawn once for a burst is the same for all its jobs."""
    of_bursts, of_gaps, of_sizes, of_amounts, of_users, of_runs, of_requests, of_kinds = streams(parameters.seed, 8)
    burst = _bursts(of_bursts, parameters)
    count = int(burst[-1]) + 1
    # One normal number gives the size, and part of the run time (a Gaussian copula): that is how they are correlated.
    size = of_sizes.standard_normal(count)
    amounts = [of_amounts.integers(low, high, count, endpoint=True) for low, high in (CORES_PER_GPU, MEMORY_GB_PER_GPU)]
    jobs = pl.DataFrame(
        {
            "submit_s": _arrivals(of_gaps, burst, parameters),
            "run_s": _run_times(of_runs, size[burst], parameters),
            "tasks": _places(size, [NormalDist().inv_cdf(part) for part in _parts(GPU_SHARES)])[burst] + 1,
            "cores_per_task": amounts[0][burst],
            "memory_mb_per_task": amounts[1][burst] * GB,
            "gpus_per_task": np.ones(burst.size),
            "user": _users(of_users, count, parameters.users).gather(burst),
            "priority": _places(of_users.random(count), _parts(PRIORITY_SHARES))[burst],
        }
    )
    # A sweep over settings trains one model.
    kinds = draw_kinds(of_kinds, parameters.kinds, count)
    jobs = jobs if kinds is None else jobs.with_columns(kinds.gather(burst))
    # Bursts overlap, so arrivals are not in order yet.
    return with_requests(jobs, parameters, of_requests).sort("submit_s", maintain_order=True)


def draw_nodes(parameters: Parameters) -> tuple[Node, ...]:
    """Returns nodes of eight GPUs."""
    return numbered(NODE, parameters.nodes)


def _parts(shares: tuple[float, ...]) -> list[float]:
    """Returns where one share ends and the next begins."""
    return list(accumulate(shares))[:-1]


def _places(values: NDArray[np.float64], bounds: list[float]) -> NDArray[np.intp]:
    """Returns between which bounds each value lies, counted from 0."""
    return np.searchsorted(bounds, values)


def _bursts(stream: np.random.Generator, parameters: Parameters) -> NDArray[np.intp]:
    """Returns each job's burst; a burst has a geometric number of jobs, and the last is cut short."""
    jobs = parameters.jobs
    lengths = np.minimum(stream.geometric(1 / parameters.burst, jobs), jobs)
    lengths = lengths[: np.searchsorted(lengths.cumsum(), jobs) + 1]
    return np.repeat(np.arange(lengths.size), lengths)[:jobs]


def _arrivals(stream: np.random.Generator, burst: NDArray[np.intp], parameters: Parameters) -> NDArray[np.float64]:
    """Returns arrivals: bursts begin as a Poisson process, and their jobs follow one another by exponential gaps."""
    is_first = np.diff(burst, prepend=-1) > 0
    begin_s = stream.exponential(parameters.burst * parameters.mean_gap_s, int(burst[-1]) + 1).cumsum()
    gaps_s = np.where(is_first, 0.0, stream.exponential(parameters.burst_gap_s, burst.size)).cumsum()
    submit_s: NDArray[np.float64] = begin_s[burst] + gaps_s - gaps_s[is_first][burst]
    return submit_s


def _run_times(stream: np.random.Generator, size: NDArray[np.float64], parameters: Parameters) -> NDArray[np.float64]:
    """Returns whole seconds whose logarithm is normal, and correlated with the size."""
    own = stream.standard_normal(size.size)
    # The sum is standard normal again, whatever the correlation is.
    normal = parameters.correlation * size + math.sqrt(1 - parameters.correlation**2) * own
    run_s = parameters.median_run_s * np.exp(parameters.sigma * normal)
    return np.floor(np.clip(run_s, 1.0, LONGEST_RUN_S))


def _users(stream: np.random.Generator, bursts: int, users: int) -> pl.Series:
    """Returns each burst's user; user k has 1/k as many bursts as the first user."""
    # Zipf's law: a few users submit most of the jobs.
    weights = 1 / np.arange(1, users + 1)
    bounds = weights.cumsum() / weights.sum()
    names = pl.Series([f"user{number}" for number in range(1, users + 1)])
    return names.gather(_places(stream.random(bursts), bounds[:-1].tolist()))


GENERATOR: Final = Generator(Parameters, draw_jobs, draw_nodes=draw_nodes)
