"""Workloads without names."""

from __future__ import annotations

import polars as pl

from shunter.model.workload import Workload
from shunter.workloads.variants import anonymize

FRAME = pl.DataFrame(
    {
        "job_id": ["app_7", "app_9", "app_3", "app_4"],
        "submit_s": [100.0, 110.0, 120.0, 130.0],
        "run_s": [1.0, 2.0, 3.0, 4.0],
        "user": ["ann", "bob", "ann", None],
        "group": ["staff", "staff", "staff", "guests"],
        "queue": ["long", "short", "long", "long"],
        "name": ["secret", "secret", "plan", None],
    }
)


def test_names_are_gone_and_sameness_stays() -> None:
    workload = Workload.from_frame(FRAME, name="secret-cluster.log")
    hidden = anonymize(workload, seed=3)
    jobs = hidden.jobs
    assert jobs["job_id"].to_list() == [1, 2, 3, 4]
    users = jobs["user"].to_list()
    assert users[0] == users[2] != users[1]
    assert set(users) == {"user1", "user2", None}
    assert jobs["group"].n_unique() == 2
    assert jobs["name"].to_list()[0] == jobs["name"].to_list()[1]
    text = jobs.write_csv()
    for name in ("ann", "bob", "staff", "guests", "secret", "plan", "app_"):
        assert name not in text
    assert jobs["queue"].to_list() == ["long", "short", "long", "long"]
    assert hidden.name == "anonymous"
    kept = ("submit_s", "run_s", "tasks")
    assert jobs.select(kept).equals(workload.jobs.select(kept))


def test_the_seed_draws_the_order() -> None:
    workload = Workload.from_frame(FRAME.with_columns(user=pl.Series(["a", "b", "c", "d"])), name="log")
    orders = {tuple(anonymize(workload, seed=seed).jobs["user"]) for seed in range(20)}
    assert len(orders) > 5
    assert anonymize(workload, seed=1).jobs.equals(anonymize(workload, seed=1).jobs)


def test_places_and_times_if_asked_for() -> None:
    jobs = anonymize(Workload.from_frame(FRAME, name="log"), places=True, shift=True).jobs
    assert set(jobs["queue"]) == {"queue1", "queue2"}
    assert jobs["submit_s"].to_list() == [0.0, 10.0, 20.0, 30.0]


def test_preceding_jobs_follow_their_new_numbers() -> None:
    frame = FRAME.with_columns(job_id=pl.Series([7, 9, 3, 4]), preceding_job_id=pl.Series([None, 7, 1234, 9]))
    jobs = anonymize(Workload.from_frame(frame, name="log")).jobs
    assert jobs["preceding_job_id"].to_list() == [None, 1, None, 2]
