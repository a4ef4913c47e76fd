"""The model of Lublin and Feitelson, against its formulas and against a log that its authors' program wrote."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from shunter.model.cluster import Cluster
from shunter.workloads import read_workload
from shunter.workloads.generators.lublin import BUCKETS, VARIANTS, _Clock, _gamma_share
from shunter.workloads.load import offered_load
from tests.reference.published import rlscheduler_jobs

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
QUANTILE_TOLERANCE = 0.10
"""Relative; between two seeds, quantiles of 5,000 jobs differ by 2 to 7 % (standard deviation)."""
SHARE_TOLERANCE = 0.02
"""Absolute; the share of a size among 5,000 jobs has a standard deviation below 0.007."""
MEAN_GAP_TOLERANCE = 0.25
"""Relative; nights and rare long gaps make the mean of 5,000 gaps vary by 8 % (standard deviation)."""


@pytest.fixture(scope="module")
def logged() -> pl.DataFrame:
    """The jobs with which RLScheduler was measured, by the authors' program."""
    submit_s, run_s, tasks = zip(*rlscheduler_jobs(), strict=True)
    return pl.DataFrame({"submit_s": submit_s, "run_s": run_s, "tasks": tasks})


@pytest.fixture(scope="module")
def generated() -> pl.DataFrame:
    return read_workload("generate:lublin?seed=7&jobs=100000&cores=256").jobs


def share(matching: pl.Series) -> float:
    return int(matching.sum()) / matching.len()


def quantiles(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.quantile(values, QUANTILES), dtype=np.float64)


def test_run_times_match_the_log(logged: pl.DataFrame, generated: pl.DataFrame) -> None:
    expected = quantiles(logged["run_s"].to_numpy())
    assert quantiles(generated["run_s"].to_numpy()) == pytest.approx(expected, rel=QUANTILE_TOLERANCE)


def test_gaps_between_arrivals_match_the_log(logged: pl.DataFrame, generated: pl.DataFrame) -> None:
    expected, gaps = np.diff(logged["submit_s"].to_numpy()), np.diff(generated["submit_s"].to_numpy())
    assert quantiles(gaps) == pytest.approx(quantiles(expected), rel=QUANTILE_TOLERANCE)
    assert gaps.mean() == pytest.approx(expected.mean(), rel=MEAN_GAP_TOLERANCE)


def test_sizes_match_the_log(logged: pl.DataFrame, generated: pl.DataFrame) -> None:
    sizes = 2 ** np.arange(9)
    shares = [[share(jobs["tasks"] == size) for size in sizes] for jobs in (logged, generated)]
    below = [[share(jobs["tasks"] <= size) for size in sizes] for jobs in (logged, generated)]
    assert shares[1] == pytest.approx(shares[0], abs=SHARE_TOLERANCE)
    assert below[1] == pytest.approx(below[0], abs=SHARE_TOLERANCE)


def test_large_jobs_run_longer(logged: pl.DataFrame, generated: pl.DataFrame) -> None:
    for jobs in (logged, generated):
        small = jobs.filter(pl.col("tasks") <= 2)["run_s"].median()
        large = jobs.filter(pl.col("tasks") >= 128)["run_s"].median()
        assert isinstance(small, float)
        assert isinstance(large, float)
        assert large > 20 * small


def test_shares_of_the_model_itself() -> None:
    jobs = read_workload("generate:lublin?seed=3&jobs=200000&cores=128&kind=batch").jobs
    assert share(jobs["tasks"] == 1) == pytest.approx(0.2927, abs=0.005)
    assert jobs["tasks"].max() == 128
    assert jobs["tasks"].min() == 1
    assert jobs["run_s"].is_between(1, math.exp(12)).all()


def test_hours_of_arrival_follow_the_daily_cycle(generated: pl.DataFrame) -> None:
    expected = np.diff(_Clock.of(VARIANTS["all"]).ends[::2]) / BUCKETS
    counts = np.histogram(generated["submit_s"].to_numpy() % 86_400, bins=24, range=(0, 86_400))[0]
    assert counts / counts.sum() == pytest.approx(expected, abs=0.01)
    assert expected.argmin() == 4
    assert expected.argmax() == 13
    assert expected.max() > 5 * expected.min()


@pytest.mark.parametrize("kind", VARIANTS)
def test_a_day_is_worth_as_many_points_as_it_has_buckets(kind: str) -> None:
    clock = _Clock.of(VARIANTS[kind])
    assert clock.ends[-1] == pytest.approx(BUCKETS)
    assert (np.diff(clock.ends) > 0).all()
    points = np.array([0.0, BUCKETS, 2.5 * BUCKETS])
    assert clock.time_s(points)[:2] == pytest.approx([0.0, 86_400.0])
    assert clock.time_s(points)[2] == pytest.approx(clock.time_s(np.array([BUCKETS / 2]))[0] + 2 * 86_400)


@pytest.mark.parametrize("x", [0.1, 1.0, 5.0, 15.0])
def test_incomplete_gamma_against_its_closed_form(x: float) -> None:
    """For a whole shape, what is left above x is a Poisson sum."""
    above = math.exp(-x) * sum(x**k / math.factorial(k) for k in range(8))
    assert _gamma_share(8.0, x) == pytest.approx(1 - above, abs=1e-13)


@pytest.mark.parametrize("load", [0.1, 0.9, 1.5])
@pytest.mark.parametrize("cores", [64, 200, 256])
def test_offered_load_is_as_asked(load: float, cores: int) -> None:
    workload = read_workload(f"generate:lublin?seed=1&jobs=2000&cores={cores}&load={load}")
    assert offered_load(workload, Cluster.pool(cores)) == pytest.approx(load, rel=1e-4)
    assert workload.cluster_spec == str(cores)


@pytest.mark.parametrize("cores", [1, 2, 3, 5, 100, 1000])
def test_jobs_fit_the_machine(cores: int) -> None:
    tasks = read_workload(f"generate:lublin?jobs=5000&cores={cores}").jobs["tasks"]
    assert tasks.min() == 1
    assert tasks.is_between(1, cores).all()
