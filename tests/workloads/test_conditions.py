"""Tables with begin times, holds, cancellations, dependencies and arrays: what is refused, and what comes of it."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from shunter.errors import InputError
from shunter.metrics.explanation import explain
from shunter.metrics.explanation_text import conclusion, explanation_object
from shunter.metrics.record import Record
from shunter.metrics.table import compute_metrics
from shunter.model.cluster import Cluster
from shunter.model.schedule import Outcome, Schedule
from shunter.simulation import simulate
from shunter.workloads.load import scale_arrivals
from shunter.workloads.reading import read_workload
from shunter.workloads.variants import anonymize

HEADER = "job_id,submit_s,run_s,requested_s,tasks,begin_s,release_s,cancel_s,depends_on,array_id,array_limit,user,name"
LINES = [
    "1,0,100,100,4,,,,,,,ann,a",
    "2,10,50,50,4,200,,,,,,ann,b",
    "3,20,50,50,2,,,,afterok:1,,,ann,c",
    "4,30,50,50,4,,,35,,,,ann,d",
    "5,40,50,50,1,,,,afternotok:1,,,ann,e",
    "6,50,20,20,1,,,,,x,1,bob,f",
    "7,50,20,20,1,,,,,x,1,bob,f",
    "8,60,20,20,1,,300,,,,,bob,f",
    "9,60,20,20,1,,,,singleton,,,bob,f",
]


def write(folder: Path, *lines: str, header: str = HEADER) -> Path:
    """Writes a table."""
    path = folder / "jobs.csv"
    path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def schedule(tmp_path: Path) -> Schedule:
    """The jobs above on four cores."""
    return simulate(read_workload(write(tmp_path, *LINES)), Cluster.pool(4))


def test_when_jobs_may_run(schedule: Schedule) -> None:
    assert schedule.start_s.tolist()[:3] == [0, 200, 100]
    assert schedule.start_s.tolist()[5:] == [100, 120, 300, 320]
    assert schedule.eligible_ms.tolist() == [0, 200e3, 100e3, 30e3, 100e3, 50e3, 120e3, 300e3, 320e3]
    assert [Outcome(number).name for number in schedule.outcome[3:5]] == ["CANCELLED", "CANCELLED"]
    assert schedule.end_s[3:5].tolist() == [35, 100]


def test_waits_count_from_when_a_job_may_run(schedule: Schedule) -> None:
    assert schedule.queue_wait_s[[0, 1, 2, 5, 6, 7, 8]].tolist() == [0, 0, 0, 50, 0, 0, 0]
    metrics = compute_metrics(schedule)
    assert metrics["mean_wait_s"] == 50 / 7
    assert metrics["cancelled_jobs"] == 2
    # Job 6 waits for 50 s, and job 4 for 5 s until it leaves.
    assert metrics["mean_queue_length"] == 55 / 340


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (1, "it could not run for 3 min 10 s, for it waits for its begin time."),
        (2, "it could not run for 1 min 20 s, for it waits for job 1, on which it depends."),
        (3, "it left at 35 s before it had started."),
        (4, "left at 100 s before it had started, for job 1, on which it depends, ended well"),
        (6, "it could not run for 1 min 10 s, for it waits for a place among the 1 of its array."),
        (7, "it could not run for 4 min, for it is held until it is released."),
        (8, "for it waits for job 8, which has its user and its name."),
    ],
)
def test_explaining(schedule: Schedule, row: int, told: str) -> None:
    assert told in conclusion(explain(Record.of(schedule), row))


def test_an_explanation_for_programs(schedule: Schedule) -> None:
    told = explanation_object(explain(Record.of(schedule), 2), 3)
    assert told["held"] == [{"from_s": 20, "until_s": 100, "reason": "waits for job 1, on which it depends"}]
    assert told["waited_s"] == 0


def test_stretched_arrivals_keep_their_conditions(tmp_path: Path) -> None:
    jobs = scale_arrivals(read_workload(write(tmp_path, *LINES)), 2.0).jobs
    assert jobs["submit_s"].to_list()[:4] == [0, 20, 40, 60]
    assert jobs["begin_s"][1] == 20 + 190
    assert jobs["cancel_s"][3] == 60 + 5


def test_a_window_has_conditions_of_its_own_jobs_alone(tmp_path: Path) -> None:
    window = read_workload(write(tmp_path, *LINES)).window(2)
    assert simulate(window, Cluster.pool(4)).start_s[0] == 20


def test_a_dependency_on_an_array_is_on_all_of_its_jobs(tmp_path: Path) -> None:
    lines = ["1,0,10,10,1,,,,,x,1,,", "2,0,10,10,1,,,,,x,1,,", "3,0,5,5,1,,,,afterany:x,,,,"]
    assert simulate(read_workload(write(tmp_path, *lines)), Cluster.pool(4)).start_s.tolist() == [0, 10, 20]


def test_anonymous_jobs_keep_their_conditions(tmp_path: Path) -> None:
    lines = [
        "17,100,10,10,1,,,,,x,1,ann,a",
        "18,100,10,10,1,,,,,x,1,ann,a",
        '19,110,5,5,1,150,,200,"afterok:17:18,afterany:x,singleton",,,ann,a',
    ]
    workload = read_workload(write(tmp_path, *lines))
    jobs = anonymize(workload, seed=1, shift=True).jobs
    assert jobs["array_id"].to_list() == ["array1", "array1", None]
    assert jobs["depends_on"][2] == "afterok:1:2,afterany:array1,singleton"
    assert (jobs["begin_s"][2], jobs["cancel_s"][2]) == (50, 100)


def test_a_part_of_a_log_can_be_written_and_read_again(tmp_path: Path) -> None:
    from shunter.workloads.write import write_table

    workload = read_workload(write(tmp_path, *LINES)).window(2)
    write_table(workload, tmp_path / "part.csv")
    assert read_workload(tmp_path / "part.csv").jobs["depends_on"].to_list() == [*[None] * 6, "singleton"]


def test_tables_are_written_and_read_again(tmp_path: Path) -> None:
    from shunter.workloads.write import write_table

    workload = read_workload(write(tmp_path, *LINES))
    for name in ("again.csv", "again.parquet"):
        write_table(workload, tmp_path / name)
        assert read_workload(tmp_path / name).jobs.equals(workload.jobs)


WRONG = [
    ("begin_s", "50", 'column "begin_s" is "50"; expected a time that is not before the job\'s submit time'),
    ("release_s", "99.5", 'column "release_s" is "99.5"; expected a time that is not before'),
    ("cancel_s", "nan", 'column "cancel_s" is "nan"; expected a time that is not before'),
    ("depends_on", "afterok:1", "job 1 cannot depend on itself"),
    ("depends_on", "afterok:7", "but there is no job 7"),
    ("depends_on", "aftr:2", "expected after, afterok, afterany, afternotok, follows with job ids"),
    ("depends_on", "after:2?after:2", '"?" for any of them is not known'),
    ("depends_on", "singleton", "expected a user and a name"),
    ("array_limit", "0", 'column "array_limit" is "0"; expected a whole number from 1 on'),
    ("array_limit", "2", "expected none for a job that is in no array (array_id)"),
]


@pytest.mark.parametrize(("column", "cell", "told"), WRONG)
def test_what_is_refused(tmp_path: Path, column: str, cell: str, told: str) -> None:
    path = write(tmp_path, f"1,100,5,{cell}", "2,100,5,", header=f"job_id,submit_s,run_s,{column}")
    with pytest.raises(InputError) as caught:
        read_workload(path)
    assert str(caught.value).startswith(f"{path}:2: ")
    assert told in str(caught.value)


def test_jobs_that_wait_for_each_other_are_refused(tmp_path: Path) -> None:
    lines = ["1,0,5,after:2", "2,0,5,after:3", "3,0,5,afterok:1"]
    path = write(tmp_path, *lines, header="job_id,submit_s,run_s,depends_on")
    with pytest.raises(InputError, match=r"jobs\.csv:2: jobs wait for each other: 1 on 2 on 3 on 1; remove one"):
        read_workload(path)


def test_arrays_with_two_limits_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "1,0,5,x,2", "2,0,5,x,3", header="job_id,submit_s,run_s,array_id,array_limit")
    with pytest.raises(InputError, match=r'jobs\.csv:3: column "array_limit" is "3"; expected the same number'):
        read_workload(path)


def test_a_long_chain_of_dependencies(tmp_path: Path) -> None:
    jobs = 5000
    lines = [f"{job},0,1,{'' if job == 0 else f'afterok:{job - 1}'}" for job in range(jobs)]
    path = write(tmp_path, *lines, header="job_id,submit_s,run_s,depends_on")
    assert simulate(read_workload(path), Cluster.pool(4)).start_s.tolist() == pl.int_range(jobs, eager=True).to_list()
