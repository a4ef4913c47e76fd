"""Think times: who follows whom in a log, and that a log whose waits are explained comes out as it was."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shunter
from shunter.errors import InputError
from shunter.model.workload import Workload
from shunter.workloads.think_times import NOBODY, find_think_times, with_think_times
from tests.support import examples


def table(*rows: tuple[object, ...], **columns: list[object]) -> Workload:
    """Returns jobs of one core from (id, user, submit, wait, run)."""
    names = ("job_id", "user", "submit_s", "logged_wait_s", "run_s")
    told = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    return Workload.from_frame(pl.DataFrame({**told, **columns, "tasks": [1] * len(rows)}), name="log")


def follows(workload: Workload, **limits: float) -> list[str | None]:
    found = with_think_times(workload, find_think_times(workload, **limits))
    cells: list[str | None] = found.jobs["depends_on"].to_list()
    return cells


def test_a_job_follows_the_one_of_its_user_that_ended_last() -> None:
    workload = table(
        (1, "ann", 0.0, 10.0, 100.0),
        (2, "ann", 5.0, 0.0, 50.0),
        (3, "bob", 115.0, 0.0, 10.0),
        (4, "ann", 120.0, 0.0, 10.0),
        (5, "ann", 1000.0, 5.0, 1.5),
        (6, "bob", 1325.0, 0.0, 1.0),
        (7, "bob", 2526.001, 0.0, 1.0),
        (8, None, 2527.0, 0.0, 1.0),
    )
    # Job 1 ends at 110, job 4 at 130, job 3 at 125; 20 minutes are enough for job 6, and for job 7 1 ms is too much.
    assert follows(workload) == [None, None, None, "follows:1+10s", "follows:4+870s", "follows:3+1200s", None, None]
    assert follows(workload, limit_s=10.0) == [None] * 3 + ["follows:1+10s"] + [None] * 4
    assert find_think_times(workload).count(0, 8) == 3
    # Of the jobs from the fourth on, one follows one that is among them.
    assert find_think_times(workload).count(3, 5) == 1


def test_what_a_log_says_itself_goes_before() -> None:
    workload = table(
        (1, "ann", 0.0, 0.0, 10.0),
        (2, "ann", 20.0, 0.0, 10.0),
        (3, "ann", 40.0, 0.0, 10.0),
        (4, "ann", 9000.0, 0.0, 10.0),
        preceding_job_id=[None, None, 1, 2],
        think_time_s=[None, None, 30.0, None],
    )
    assert follows(workload) == [None, "follows:1+10s", "follows:1+30s", "follows:2+8970s"]


def test_a_job_with_a_time_to_leave_and_an_id_that_cannot_be_named_stay_where_they_are() -> None:
    rows = (("a:b", "ann", 0.0, 0.0, 10.0), ("c", "ann", 20.0, 0.0, 10.0), ("d", "ann", 40.0, 0.0, 10.0))
    workload = table(*rows, cancel_s=[None, None, 90.0], depends_on=[None, "singleton", None], name=["x"] * 3)
    assert follows(workload) == [None, "singleton", None]
    plain = table(*rows[1:], depends_on=[None, "afterany:c"])
    assert follows(plain) == [None, "afterany:c,follows:c+10s"]


def test_logs_that_do_not_tell() -> None:
    with pytest.raises(InputError, match="does not say when jobs ended"):
        find_think_times(table((1, "ann", 0.0, None, 10.0)))
    with pytest.raises(InputError, match="names no users"):
        find_think_times(table((1, None, 0.0, 1.0, 10.0)))
    with pytest.raises(InputError, match="--think-limit"):
        find_think_times(table((1, "ann", 0.0, 1.0, 10.0)), limit_s=-1.0)


def drawn(seed: int, jobs: int) -> Workload:
    """Returns a log with bursts of short jobs of few users, in whole and in broken seconds."""
    draw = Random(seed)
    submit_s = sorted(draw.choice([draw.randint(0, 400), round(draw.uniform(0, 400), 3)]) for _ in range(jobs))
    run_s = [draw.choice([draw.randint(1, 60), round(draw.uniform(0.5, 60), 3)]) for _ in range(jobs)]
    return Workload.from_frame(
        pl.DataFrame(
            {
                "job_id": list(range(1, jobs + 1)),
                "submit_s": [float(time_s) for time_s in submit_s],
                "run_s": [float(time_s) for time_s in run_s],
                "requested_s": [float(round(time_s * draw.choice([1, 2, 5]))) or 1.0 for time_s in run_s],
                "tasks": [draw.randint(1, 4) for _ in range(jobs)],
                "user": [draw.choice(["ann", "bob", "cyd"]) for _ in range(jobs)],
            }
        ),
        name="log",
    )


@pytest.mark.every(5)
@pytest.mark.parametrize("policy", ["fcfs", "sjf", "f2", "wfp3", "fair-share"])
@pytest.mark.parametrize("dispatch", ["strict", "greedy", "easy", "conservative"])
@examples(8)
@given(seed=st.integers(0, 2**32), jobs=st.integers(1, 40), limit_s=st.sampled_from([0.0, 5.0, 1200.0]))
def test_a_log_that_is_explained_comes_out_as_it_was(
    policy: str, dispatch: str, seed: int, jobs: int, limit_s: float
) -> None:
    """Its waits are those of a simulation: with think times, the same policy gives the same arrivals and schedule."""
    rules: dict[str, Any] = {
        "policy": policy, "dispatch": dispatch, "estimate": "last-two", "reserve_by": "estimate",
    }  # fmt: skip
    workload = drawn(seed, jobs)
    open_loop = shunter.simulate(workload, 4, **rules)
    logged = replace(workload, jobs=workload.jobs.with_columns(pl.Series("logged_wait_s", open_loop.queue_wait_s)))
    found = find_think_times(logged, limit_s)
    closed_loop = shunter.simulate(with_think_times(logged, found), 4, **rules)
    assert np.array_equal(closed_loop.eligible_ms, open_loop.submit_ms)
    assert np.array_equal(closed_loop.start_ms, open_loop.start_ms)
    assert np.array_equal(closed_loop.end_ms, open_loop.end_ms)


def test_the_log_above_has_jobs_that_follow_others() -> None:
    workload = drawn(3, 40)
    waits_s = shunter.simulate(workload, 4).queue_wait_s
    logged = replace(workload, jobs=workload.jobs.with_columns(pl.Series("logged_wait_s", waits_s)))
    assert np.count_nonzero(find_think_times(logged).followed != NOBODY) > 10


def test_faster_service_brings_the_next_job_earlier() -> None:
    """On 2 cores nobody waits, so job 2 ends at 50 instead of 100, and job 3 comes 10 s later, at 60 instead of 110."""
    workload = table((1, "ann", 0.0, 0.0, 50.0), (2, "ann", 0.0, 50.0, 50.0), (3, "ann", 110.0, 0.0, 5.0))
    found = shunter.what_if(workload, 1, changes="cores=2", think_times=True)
    base, (case,) = found.base.run.schedule, found.changed
    assert base.eligible_ms.tolist() == [0, 0, 110_000]
    assert case.run.schedule.eligible_ms.tolist() == [0, 0, 60_000]
    assert case.run.schedule.start_s.tolist() == [0, 0, 60]
    assert case.run.metrics["mean_wait_s"] == 0
    assert case.run.metrics["mean_bounded_slowdown"] == 1
    assert found.to_json()["think_times"] == {"jobs": 1, "of_jobs": 3, "limit_s": 1200.0}
    assert shunter.what_if(workload, 1, changes="cores=2").to_json()["think_times"] is None


def test_one_that_follows_a_job_before_the_window_comes_as_logged() -> None:
    workload = table((1, "ann", 0.0, 0.0, 50.0), (2, "ann", 60.0, 0.0, 50.0), (3, "ann", 120.0, 0.0, 5.0))
    found = shunter.what_if(workload, 1, changes="cores=2", think_times=True, start=1)
    assert found.base.run.schedule.eligible_ms.tolist() == [60_000, 120_000]
    assert found.following is not None
    assert (found.following.jobs, found.following.of_jobs) == (1, 2)
