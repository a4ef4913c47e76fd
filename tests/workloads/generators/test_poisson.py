"""The exponential workload, against its distributions and against Erlang's formula."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from shunter.model.cluster import Cluster
from shunter.simulation import simulate
from shunter.workloads import read_workload
from tests.workloads.generators.distributions import exponential, gaps, is_sample_of

JOBS = 20_000


@pytest.fixture(scope="module")
def jobs() -> pl.DataFrame:
    return read_workload(f"generate:poisson?seed=5&jobs={JOBS}&cores=100&mean_gap_s=40&mean_run_s=300").jobs


def test_gaps_and_run_times_are_exponential(jobs: pl.DataFrame) -> None:
    assert is_sample_of(gaps(jobs["submit_s"].to_numpy()), exponential(40))
    assert is_sample_of(jobs["run_s"].to_numpy(), exponential(300))
    assert not is_sample_of(jobs["run_s"].to_numpy(), exponential(310))


def test_sizes_are_powers_of_two_each_as_likely_as_another(jobs: pl.DataFrame) -> None:
    counts = dict(jobs["tasks"].value_counts().iter_rows())
    assert sorted(counts) == [1, 2, 4, 8, 16, 32, 64]
    # A count has a standard deviation of 49.
    assert all(abs(count - JOBS / 7) < 200 for count in counts.values())


def test_sizes_and_run_times_have_nothing_to_do_with_each_other(jobs: pl.DataFrame) -> None:
    correlation = np.corrcoef(jobs["tasks"].to_numpy(), jobs["run_s"].to_numpy())[0, 1]
    assert abs(correlation) < 4 / math.sqrt(JOBS)


@pytest.mark.parametrize(("query", "largest"), [("n_max=1", 1), ("n_max=7", 4), ("n_max=8", 8), ("cores=1", 1)])
def test_the_largest_size(query: str, largest: int) -> None:
    assert read_workload(f"generate:poisson?jobs=500&{query}").jobs["tasks"].max() == largest


def erlang_wait_s(servers: int, gap_s: float, run_s: float) -> float:
    """Returns the mean wait in the queue M/M/c."""
    offered = run_s / gap_s
    last = offered**servers / math.factorial(servers) / (1 - offered / servers)
    waits = last / (sum(offered**k / math.factorial(k) for k in range(servers)) + last)
    return waits / (servers / run_s - 1 / gap_s)


@pytest.mark.parametrize(("cores", "gap_s"), [(1, 200.0), (4, 40.0)])
def test_mean_wait_is_that_of_erlangs_formula(cores: int, gap_s: float) -> None:
    """Over seeds, the mean wait of so many jobs has a standard deviation of 2 to 3 %."""
    workload = read_workload(f"generate:poisson?jobs=100000&n_max=1&cores={cores}&mean_run_s=100&mean_gap_s={gap_s}")
    wait_s = simulate(workload, Cluster.pool(cores), policy="fcfs", dispatch="strict").queue_wait_s
    assert wait_s.mean() == pytest.approx(erlang_wait_s(cores, gap_s, 100.0), rel=0.1)
