"""Which days serve what."""

from __future__ import annotations

import numpy as np
import pytest

from shunter.advice.plan import LEAST_JOBS, QUICK, Days, effort_for
from shunter.comparison.statistics import LEAST_BLOCKS
from shunter.model.cluster import Cluster
from shunter.model.log import Log
from shunter.workloads import read_workload

SPEC = "generate:uniform?seed=1&load=0.5"


@pytest.mark.parametrize("jobs", [LEAST_JOBS, 1000, 4321, 20_000])
def test_days_are_apart_and_in_order(jobs: int) -> None:
    log = Log(read_workload(f"{SPEC}&jobs={jobs}"), Cluster.pool(256))
    days = Days.of(jobs)
    assert days.is_enough
    benches = (days.first_bench(log, 5_000, 1), days.choosing_bench(log, 1), days.later_bench(log, 1))
    before = 0
    for bench, end in zip(benches, (days.middle, days.early, jobs), strict=True):
        windows = bench.parts[0].windows
        first = windows.first.astype(np.int64)
        assert before <= first.min()
        assert first.max() + windows.length <= end
        assert len(np.unique(windows.block)) >= LEAST_BLOCKS
        # No job is measured twice.
        assert np.diff(first).min() >= windows.length
        before = end


def test_a_network_learns_and_is_chosen_within_the_first_days() -> None:
    days = Days.of(10_000)
    assert days.learned_from[1] < days.first[1] == days.choosing[0] == pytest.approx(5 / 7)


def test_too_few_jobs_are_too_few() -> None:
    assert not Days.of(LEAST_JOBS - 1).is_enough


def test_more_time_is_more_work() -> None:
    few, some, many = (effort_for(seconds) for seconds in (15, 120, 3600))
    assert few.steps == 0 < some.steps < many.steps
    assert QUICK.windows <= some.windows < many.windows
