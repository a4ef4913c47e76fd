"""The training cluster: bursts, sizes, run times, and how they hang together."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import polars as pl
import pytest

from shunter.workloads import read_cluster, read_workload
from shunter.workloads.generators.bursty_gpu import GPU_SHARES
from tests.workloads.generators.distributions import exponential, gaps, is_sample_of

JOBS = 100_000
BURSTS = JOBS / 10
NORMAL = NormalDist()


@pytest.fixture(scope="module")
def bursts() -> pl.DataFrame:
    """One row a burst: without gaps in it, its jobs arrive at one instant."""
    jobs = read_workload(f"generate:bursty-gpu?seed=2&jobs={JOBS}&burst_gap_s=0").jobs
    shared = ["tasks", "cores_per_task", "memory_mb_per_task", "user", "priority"]
    return jobs.group_by("submit_s").agg(pl.len().alias("jobs"), pl.col(shared).unique()).sort("submit_s")


def deviation_of_share(share: float) -> float:
    return math.sqrt(share * (1 - share) / BURSTS)


def test_the_jobs_of_a_burst_are_alike(bursts: pl.DataFrame) -> None:
    assert bursts["jobs"].sum() == JOBS
    for column in ("tasks", "cores_per_task", "memory_mb_per_task", "user", "priority"):
        assert bursts[column].list.len().max() == 1


def test_bursts_have_a_geometric_number_of_jobs(bursts: pl.DataFrame) -> None:
    lengths = bursts["jobs"].to_numpy()
    assert lengths.mean() == pytest.approx(10, rel=4 * math.sqrt(0.9 / BURSTS))
    for length in (1, 2, 10):
        assert np.mean(lengths == length) == pytest.approx(0.1 * 0.9 ** (length - 1), abs=0.01)


def test_bursts_begin_as_a_poisson_process(bursts: pl.DataFrame) -> None:
    assert is_sample_of(gaps(bursts["submit_s"].to_numpy()), exponential(10 * 1200))


def test_arrivals_vary_more_than_a_poisson_process() -> None:
    """For a geometric number of jobs with mean b, the variance of counts over their mean is 2 b - 1."""
    submit_s = read_workload("generate:bursty-gpu?jobs=200000&burst=4&mean_gap_s=10&burst_gap_s=1").jobs["submit_s"]
    counts = np.bincount((submit_s.to_numpy() // 1000).astype(np.int64))[:-1]
    assert counts.mean() == pytest.approx(100, rel=0.03)
    assert counts.var() / counts.mean() == pytest.approx(7, rel=0.15)


def test_gaps_within_a_burst() -> None:
    """One burst holds all: what is left is a Poisson process."""
    jobs = read_workload("generate:bursty-gpu?jobs=5000&burst=1000000&burst_gap_s=20").jobs
    assert jobs["user"].n_unique() == 1
    assert is_sample_of(np.diff(jobs["submit_s"].to_numpy()), exponential(20))


def test_sizes(bursts: pl.DataFrame) -> None:
    tasks = bursts["tasks"].list.first().to_numpy()
    for gpus, share in enumerate(GPU_SHARES, start=1):
        assert np.mean(tasks == gpus) == pytest.approx(share, abs=4 * deviation_of_share(share))
    assert sum(GPU_SHARES) == pytest.approx(1)
    assert set(tasks) == set(range(1, 9))


def test_priorities_and_users(bursts: pl.DataFrame) -> None:
    priorities = bursts["priority"].list.first().to_numpy()
    for priority, share in enumerate((0.7, 0.2, 0.1)):
        assert np.mean(priorities == priority) == pytest.approx(share, abs=4 * deviation_of_share(share))
    users = bursts["user"].list.first().to_numpy()
    of_first = 1 / sum(1 / number for number in range(1, 21))
    for number in (1, 2, 20):
        share = of_first / number
        assert np.mean(users == f"user{number}") == pytest.approx(share, abs=4 * deviation_of_share(share))
    assert bursts["user"].list.first().n_unique() == 20


def test_a_gpu_comes_with_at_most_its_part_of_a_node(bursts: pl.DataFrame) -> None:
    cores, memory_mb = (bursts[f"{what}_per_task"].list.first() for what in ("cores", "memory_mb"))
    assert sorted(cores.unique()) == list(range(2, 9))
    assert sorted(memory_mb.unique()) == [1024 * gb for gb in range(16, 65)]


def test_run_times_are_lognormal() -> None:
    jobs = read_workload("generate:bursty-gpu?jobs=20000&correlation=0&sigma=1&median_run_s=10000").jobs
    assert is_sample_of(np.log(jobs["run_s"].to_numpy()), NormalDist(math.log(10_000), 1).cdf)


def test_run_times_are_whole_seconds_from_1_to_a_week() -> None:
    run_s = read_workload("generate:bursty-gpu?jobs=50000&sigma=4&correlation=0").jobs["run_s"].to_numpy()
    assert np.array_equal(run_s, np.rint(run_s))
    assert (run_s.min(), run_s.max()) == (1, 604_800)
    cut = 1 - NORMAL.cdf(math.log(604_800 / 1800) / 4)
    assert np.mean(run_s == 604_800) == pytest.approx(cut, rel=0.1)


@pytest.mark.parametrize("correlation", [-0.8, 0.0, 0.5])
def test_larger_jobs_run_longer_as_the_correlation_says(correlation: float) -> None:
    """The number of GPUs is 1 and one more for each bound that y exceeds; E[y; y > t] is the normal density at t."""
    spec = f"generate:bursty-gpu?jobs=100000&burst=1&sigma=1&median_run_s=10000&correlation={correlation}"
    jobs = read_workload(spec).jobs
    bounds = [NORMAL.inv_cdf(sum(GPU_SHARES[:number])) for number in range(1, 8)]
    gpus = np.arange(1, 9)
    variance = gpus**2 @ GPU_SHARES - (gpus @ GPU_SHARES) ** 2
    in_steps = sum(NORMAL.pdf(bound) for bound in bounds) / math.sqrt(variance)
    assert in_steps == pytest.approx(0.85, abs=0.005)
    measured = np.corrcoef(jobs["tasks"].to_numpy(), np.log(jobs["run_s"].to_numpy()))[0, 1]
    assert measured == pytest.approx(in_steps * correlation, abs=0.015)


def test_with_full_correlation_the_size_is_told_by_the_run_time() -> None:
    jobs = read_workload("generate:bursty-gpu?jobs=5000&correlation=1&median_run_s=10000").jobs.sort("run_s", "tasks")
    assert jobs["tasks"].is_sorted()
    assert jobs["tasks"].n_unique() > 4


def test_its_cluster_has_nodes_of_eight_gpus() -> None:
    workload = read_workload("generate:bursty-gpu?nodes=3&jobs=10")
    assert workload.cluster_spec == "generate:bursty-gpu?nodes=3"
    assert read_cluster("generate:bursty-gpu?nodes=3").total_gpus == 24
    preset = read_cluster("gpu-64")
    assert read_cluster("generate:bursty-gpu").content_sha256 == preset.content_sha256
