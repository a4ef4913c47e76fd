"""Tests of `shunter.workloads.variants`."""

from __future__ import annotations

import polars as pl
import pytest

from shunter.errors import InputError
from shunter.model.workload import Workload
from shunter.workloads.clock import Clock
from shunter.workloads.variants import (
    anonymize,
    keep_statuses,
    limit_requests,
    moment_s,
    scale_requests,
    slice_time,
    split,
)

DAY_S = 86_400.0


@pytest.fixture
def week() -> Workload:
    """Returns a job every six hours of ten days, with statuses in turn."""
    count = 40
    statuses = ["completed", "failed", None, "completed"] * (count // 4)
    submit_s = [1000 + number * DAY_S / 4 for number in range(count)]
    frame = pl.DataFrame({"submit_s": submit_s, "run_s": [60.0] * count, "status": statuses})
    return Workload.from_frame(frame, name="week")


def test_statuses(week: Workload) -> None:
    kept = keep_statuses(week, "completed")
    assert (len(kept), kept.name) == (20, "week")
    assert set(kept.jobs["status"]) == {"completed"}
    (entry,) = kept.ledger.entries
    assert entry.rule == "status other than completed (--only): left out"
    assert (entry.count, entry.example) == (20, "job 2: failed")
    assert len(keep_statuses(week, "completed, failed")) == 30
    assert kept.content_sha256 != week.content_sha256
    with pytest.raises(InputError, match=r'no job has the status "done" of --only .*; it has completed, failed'):
        keep_statuses(week, "done")
    silent = Workload.from_frame(pl.DataFrame({"submit_s": [1.0], "run_s": [1.0]}), name="silent")
    with pytest.raises(InputError, match="silent: tells no statuses"):
        keep_statuses(silent, "completed")


def test_slices_hold_their_first_moment_and_not_their_last(week: Workload) -> None:
    part = slice_time(week, "+1d", "+2d")
    assert part.jobs["job_id"].to_list() == [5, 6, 7, 8]
    assert slice_time(week, None, "+12h").jobs["job_id"].to_list() == [1, 2]
    assert slice_time(week, str(1000 + 9.5 * DAY_S), None).jobs["job_id"].to_list() == [39, 40]
    # Nine days from the log's time 0 on, which its clock says was the first of March 2024.
    clock = Clock(1_709_251_200, "UTC")
    assert slice_time(week, "2024-03-10", None, clock).jobs["job_id"].to_list() == [37, 38, 39, 40]
    assert slice_time(week, None, "2024-03-01T06:00", clock).jobs["job_id"].to_list() == [1]
    with pytest.raises(InputError, match="--to is '2024-03-02', but the log's seconds are no dates; expected seconds"):
        slice_time(week, None, "2024-03-02")
    with pytest.raises(InputError, match=r"no job is submitted from .* its first comes at 1000 s"):
        slice_time(week, "+3w", None)


@pytest.mark.parametrize(
    ("text", "second"),
    [
        ("86400", 86_400.0),
        ("-5", -5.0),
        ("+90", 190.0),
        ("+90s", 190.0),
        ("+2min", 220.0),
        ("+1.5h", 5_500.0),
        ("+1w", 604_900.0),
        ("2017-10-03", 1_506_988_800.0),
        ("2017-10-03T02:00:00+02:00", 1_506_988_800.0),
        ("2017-10-03T00:00:01Z", 1_506_988_801.0),
    ],
)
def test_moments(text: str, second: float) -> None:
    assert moment_s(text, 100.0, "--from") == second


@pytest.mark.parametrize("text", ["", "+", "+3x", "yesterday", "nan", "inf", "2017-13-01"])
def test_no_moments(text: str) -> None:
    with pytest.raises(InputError, match=r"--from is '.*'; expected seconds \(86400\)"):
        moment_s(text, 0.0, "--from")


def test_a_split_covers_the_log_once(week: Workload) -> None:
    parts = split(week, (0.6, 0.1, 0.3))
    assert {name: len(part) for name, part in parts.items()} == {"train": 24, "validation": 4, "report": 12}
    assert pl.concat([part.jobs for part in parts.values()]).equals(week.jobs)


def test_a_split_by_time(week: Workload) -> None:
    crowded = Workload.from_frame(
        pl.concat([week.jobs, week.jobs.head(1).with_columns(job_id=pl.lit(99, pl.Int64))]), name="crowded"
    )
    parts = split(crowded, (0.5, 0.0, 0.5), "time")
    assert list(parts) == ["train", "report"]
    middle_s = 1000 + 0.5 * 9.75 * DAY_S
    assert parts["train"].jobs["submit_s"].to_numpy().max() < middle_s <= parts["report"].jobs["submit_s"][0]
    assert len(parts["train"]) == 21


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.6, 0.1, 0.2), (1.2, -0.1, -0.1), (float("nan"), 0.5, 0.5)])
def test_wrong_shares(week: Workload, shares: tuple[float, ...]) -> None:
    with pytest.raises(InputError, match="expected three from 0 to 1 that add up to 1"):
        split(week, shares)


def test_a_part_without_a_job(week: Workload) -> None:
    with pytest.raises(InputError, match="the part validation would hold no job"):
        split(week, (0.6, 0.001, 0.399))


def jobs() -> Workload:
    frame = pl.DataFrame(
        {
            "submit_s": [0.0, 1.0, 2.0, 3.0],
            "run_s": [50.0, 500.0, 500.0, 50.0],
            "requested_s": [100.0, 600.0, None, None],
        }
    )
    return Workload.from_frame(frame, name="four")


def requests(workload: Workload) -> list[float | None]:
    return workload.jobs["requested_s"].to_list()


def test_known_requests_are_scaled() -> None:
    scaled, count = scale_requests(jobs(), 0.5)
    assert requests(scaled) == [50.0, 300.0, None, None]
    assert count == 2
    assert scaled.content_sha256 != jobs().content_sha256
    assert scaled.jobs["run_s"].equals(jobs().jobs["run_s"])


@pytest.mark.parametrize("factor", [0.0, -1.0, float("nan"), float("inf"), 1e8])
def test_factors_that_nobody_means(factor: float) -> None:
    with pytest.raises(InputError, match=r"four: requests cannot be scaled by .* longest of 600 s"):
        scale_requests(jobs(), factor)


def test_a_log_without_requests_has_none_to_scale() -> None:
    workload = Workload.from_frame(pl.DataFrame({"submit_s": [0.0], "run_s": [5.0]}), name="one")
    scaled, count = scale_requests(workload, 2.0)
    assert (requests(scaled), count) == ([None], 0)


def test_longer_requests_are_cut_to_the_limit() -> None:
    """The third job has no request; its run time of 500 s stands in, and is cut too."""
    limited, count = limit_requests(jobs(), 200.0)
    assert (requests(limited), count) == ([100.0, 200.0, 200.0, None], 2)


def test_what_stands_in_for_a_request_is_cut_too() -> None:
    limited, count = limit_requests(jobs(), 200.0, missing_request="3600")
    assert (requests(limited), count) == ([100.0, 200.0, 200.0, 200.0], 3)
    untouched, none = limit_requests(jobs(), 200.0, missing_request="60")
    assert (requests(untouched), none) == ([100.0, 200.0, None, None], 1)


@pytest.mark.parametrize("limit_s", [0.0, -5.0, float("nan"), 1e10])
def test_limits_that_nobody_means(limit_s: float) -> None:
    with pytest.raises(InputError, match=r"the limit is .*; expected above 0 to 1e"):
        limit_requests(jobs(), limit_s)


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


def test_without_a_seed_nobody_can_draw_the_order_again() -> None:
    users = [f"u{number}" for number in range(40)]
    frame = pl.DataFrame({"submit_s": range(40), "run_s": [1] * 40, "user": users, "hosts": ["n1*4"] * 40})
    workload = Workload.from_frame(frame, name="log")
    first, second = anonymize(workload), anonymize(workload)
    assert first.jobs["user"].to_list() != second.jobs["user"].to_list()
    assert first.content_sha256 != second.content_sha256
    assert not any(first.jobs["user"].equals(anonymize(workload, seed=seed).jobs["user"]) for seed in range(100))
    assert "hosts" not in first.jobs.columns


def test_places_and_times_if_asked_for() -> None:
    jobs = anonymize(Workload.from_frame(FRAME, name="log"), places=True, shift=True).jobs
    assert set(jobs["queue"]) == {"queue1", "queue2"}
    assert jobs["submit_s"].to_list() == [0.0, 10.0, 20.0, 30.0]


def test_preceding_jobs_follow_their_new_numbers() -> None:
    frame = FRAME.with_columns(job_id=pl.Series([7, 9, 3, 4]), preceding_job_id=pl.Series([None, 7, 1234, 9]))
    jobs = anonymize(Workload.from_frame(frame, name="log")).jobs
    assert jobs["preceding_job_id"].to_list() == [None, 1, None, 2]
