"""The uniform workload: ranges, both ends included, and uniform between them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shunter.workloads import read_workload
from tests.workloads.generators.distributions import gaps, is_sample_of


@pytest.mark.parametrize(("column", "low", "high"), [("tasks", 3, 12), ("run_s", 5, 14)])
def test_every_value_is_as_likely_as_another(column: str, low: int, high: int) -> None:
    jobs = read_workload("generate:uniform?seed=1&jobs=20000&n_min=3&n_max=12&p_min=5&p_max=14").jobs
    values, counts = np.unique(jobs[column].to_numpy(), return_counts=True)
    assert values.tolist() == list(range(low, high + 1))
    # Each count has a mean of 2,000 and a standard deviation of 42.
    assert np.abs(counts - 2000).max() < 4 * 42


def test_gaps_are_uniform_up_to_twice_the_mean() -> None:
    jobs = read_workload("generate:uniform?seed=1&jobs=20000&mean_gap_s=50").jobs
    drawn = gaps(jobs["submit_s"].to_numpy())
    assert is_sample_of(drawn, lambda gap: gap / 100)
    assert drawn.min() >= 0
    assert drawn.max() == pytest.approx(100, rel=0.001)


def test_sizes_and_run_times_have_nothing_to_do_with_each_other() -> None:
    jobs = read_workload("generate:uniform?seed=1&jobs=20000").jobs
    correlation = np.corrcoef(jobs["tasks"].to_numpy(), jobs["run_s"].to_numpy())[0, 1]
    assert abs(correlation) < 4 / math.sqrt(20_000)


def test_ranges_of_one_value() -> None:
    jobs = read_workload("generate:uniform?jobs=50&cores=8&n_min=8&p_min=60&p_max=60").jobs
    assert jobs.select("tasks", "run_s").unique().rows() == [(8, 60.0)]
