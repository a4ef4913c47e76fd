"""The workload: checks, defaults, order and windows."""

from __future__ import annotations

import polars as pl
import pytest

from shunter.errors import InputError
from shunter.model.log import Ledger
from shunter.model.workload import COLUMNS, Workload


def three_jobs() -> Workload:
    return Workload.from_frame(pl.DataFrame({"submit_s": [0, 5, 9], "run_s": [1.0, 2.0, 3.0]}), name="three")


def test_defaults_types_and_order_of_columns() -> None:
    workload = three_jobs()
    assert dict(workload.jobs.schema) == {name: kind.dtype for name, kind in COLUMNS.items()}
    assert list(workload.jobs.columns) == list(COLUMNS)
    assert workload.jobs.row(1) == (2, 5.0, 2.0, None, 1, 1.0, None, 0.0, *[None] * 7)
    assert len(workload) == 3
    assert not workload.ledger


def test_columns_of_ones_own_stay_at_the_end() -> None:
    frame = pl.DataFrame({"colour": ["red"], "submit_s": [0], "run_s": [1], "think_time_s": ["2.5"]})
    jobs = Workload.from_frame(frame, name="x").jobs
    assert jobs.columns[-2:] == ["colour", "think_time_s"]
    assert jobs.select("colour", "think_time_s").row(0) == ("red", 2.5)


def test_sorting_is_stable_and_adds_to_the_ledger() -> None:
    frame = pl.DataFrame({"job_id": ["c", "a", "b"], "submit_s": [2, 1, 1], "run_s": [1, 1, 1]})
    workload = Workload.from_frame(frame, name="x", ledger=Ledger().plus("before", 4, "line 1"))
    assert workload.jobs["job_id"].to_list() == ["a", "b", "c"]
    assert [(entry.rule, entry.count) for entry in workload.ledger.entries] == [
        ("before", 4),
        ("submit time before the previous job's: sorted", 1),
    ]


def test_the_hash_is_that_of_the_jobs_unless_given() -> None:
    other = Workload.from_frame(pl.DataFrame({"submit_s": [0, 5, 9], "run_s": [1.0, 2.0, 4.0]}), name="three")
    assert three_jobs().content_sha256 == three_jobs().content_sha256 != other.content_sha256
    given = Workload.from_frame(three_jobs().jobs, name="x", content_sha256="abc", cluster_spec="8")
    assert (given.content_sha256, given.cluster_spec) == ("abc", "8")


def test_window_keeps_absolute_times_and_the_source() -> None:
    workload = three_jobs()
    window = workload.window(1, 2)
    assert window.jobs["submit_s"].to_list() == [5.0, 9.0]
    assert window.name == "three[1:3]"
    assert window.content_sha256 == workload.content_sha256
    assert workload.window() is workload
    assert len(workload.window(2)) == 1


@pytest.mark.parametrize(("start", "length"), [(-1, 2), (0, 4), (2, 2), (1, 0), (1, -1)])
def test_windows_outside_are_refused(start: int, length: int | None) -> None:
    with pytest.raises(InputError, match=r"three: window of jobs .* lies outside the workload's 3 jobs"):
        three_jobs().window(start, length)


@pytest.mark.parametrize(("start", "length"), [(3, None), (5, 1)])
def test_windows_that_start_behind_the_last_job(start: int, length: int | None) -> None:
    with pytest.raises(InputError, match=rf"three: the window starts at job {start}, but the workload has 3; choose"):
        three_jobs().window(start, length)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"submit_s": [0.0]}, "x: column run_s is missing; add it"),
        ({"submit_s": [0.0], "runs": [1.0]}, 'did you mean it by "runs"'),
        ({"submit_s": [], "run_s": []}, "x: the table holds no job"),
        ({"submit_s": [0.0, None], "run_s": [1.0, 1.0]}, 'x: row 2: column "submit_s" is empty'),
        ({"submit_s": [0.0], "run_s": [float("nan")]}, '"run_s" is "nan"; expected a number from 0'),
        ({"submit_s": [0.0], "run_s": [1.0], "tasks": [2**31]}, '"tasks" is "2147483648"; expected a number from 1'),
        (
            {"submit_s": [0.0], "run_s": [1.0], "tasks": [4], "cores_per_task": [5e8]},
            "at most 1,000,000,000 cores over all",
        ),
        ({"submit_s": [0.0], "run_s": [-1.0]}, '"run_s" is "-1"; expected a number from 0 to 1,000,000,000; '),
        ({"submit_s": [0.0], "run_s": [1.0], "gpus_per_task": [0.0004]}, '"0.0004"; expected 0, or 0.001 at least'),
        ({"submit_s": [0.0], "run_s": [1.0], "cores_per_task": [0.0005]}, '"0.0005"; expected 0, or 0.001 at least'),
        ({"submit_s": [0.0] * 2, "run_s": [1.0] * 2, "job_id": [1.0, 1.5]}, 'row 2: column "job_id" is "1.5"'),
        ({"submit_s": [0.0], "run_s": [1.0], "job_id": [float("nan")]}, 'column "job_id" is "nan"; expected a whole'),
        ({"submit_s": [0.0], "run_s": [1.0], "job_id": [[1]]}, r'"job_id" holds List\(Int64\); expected text'),
        ({"submit_s": [0.0], "run_s": [1.0], "user": [[1]]}, r'"user" holds List\(Int64\); expected text'),
        ({"submit_s": [0.0] * 3, "run_s": [1.0] * 3, "job_id": [4, 5, 4]}, 'row 3: column "job_id" is "4"'),
        ({"submit_s": [0.0] * 2, "run_s": [1.0] * 2, "job_id": [1, None]}, 'row 2: column "job_id" is empty'),
    ],
)
def test_bad_tables_are_refused(columns: dict[str, list[object]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Workload.from_frame(pl.DataFrame(columns), name="x")


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("submit_s", 1e12),
        ("submit_s", -1e12),
        ("run_s", 0.0),
        ("run_s", 1e9),
        ("requested_s", 1e9),
        ("requested_s", 0.0),
        ("tasks", 10**9),
        ("cores_per_task", 1e9),
        ("cores_per_task", 0.0),
        ("cores_per_task", 0.001),
        ("gpus_per_task", 0.0006),
        ("gpus_per_task", 0.25),
        ("gpus_per_task", 1.0),
        ("gpus_per_task", 8.0),
    ],
)
def test_limits_belong_to_what_is_allowed(column: str, value: float) -> None:
    frame = pl.DataFrame({"submit_s": [0.0], "run_s": [1.0]} | {column: [value]})
    assert Workload.from_frame(frame, name="x").jobs[column].to_list() == [value]


def test_ids_of_other_number_types() -> None:
    def ids(values: pl.Series) -> list[object]:
        frame = pl.DataFrame({"submit_s": [0.0, 0.0], "run_s": [1.0, 1.0], "job_id": values})
        return Workload.from_frame(frame, name="x").jobs["job_id"].to_list()

    assert ids(pl.Series([3.0, 4.0])) == [3, 4]
    large = 2**60 + 1
    assert ids(pl.Series([large, 4], dtype=pl.UInt64)) == [large, 4]
    with pytest.raises(InputError, match=r'row 2: column "job_id" is "18446744073709551615"; expected a number below'):
        ids(pl.Series([1, 2**64 - 1], dtype=pl.UInt64))
