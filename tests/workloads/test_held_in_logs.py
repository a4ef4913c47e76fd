"""What logs tell of jobs that could not run yet, and of jobs that left the queue."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from shunter.workloads.load import offered_load
from shunter.workloads.reading import read_cluster, read_workload
from shunter.workloads.text.depending import NOT_THERE, lsf_dependency, pbs_dependency
from shunter.workloads.text.leaving import LEFT_RULE, keep_those_that_left
from shunter.workloads.text.repairs import Repairs
from shunter.workloads.text.source import open_source

SACCT = """JobID|Submit|Eligible|Start|End|Elapsed|Timelimit|NNodes|NCPUS|ReqCPUS|State|NodeList
1|1000|1000|1010|1110|00:01:40|00:02:00|1|4|4|COMPLETED|n1
2|1000|1500|1600|1700|00:01:40|00:02:00|1|4|4|COMPLETED|n1
3|1000|1000|Unknown|1300|00:00:00|00:10:00|1|0|4|CANCELLED by 7|None assigned
4|1000|Unknown|Unknown|1300|00:00:00|00:10:00|1|0|4|CANCELLED|None assigned
5|1000|1000|Unknown|1300|00:00:00|UNLIMITED|1|0|4|CANCELLED|None assigned
"""


def test_sacct(tmp_path: Path) -> None:
    path = tmp_path / "sacct.txt"
    path.write_text(SACCT, encoding="utf-8")
    workload = read_workload(path)
    jobs = workload.jobs
    assert jobs["job_id"].to_list() == [1, 2, 3]
    assert jobs["begin_s"].to_list() == [None, 1500, None]
    assert jobs["cancel_s"].to_list() == [None, None, 1300]
    assert jobs["logged_wait_s"].to_list() == [10, 100, None]
    assert jobs["run_s"].to_list() == [100, 100, 600]
    told = {entry.rule: (entry.count, entry.mistake) for entry in workload.ledger.entries}
    assert told == {LEFT_RULE: (1, False), "never started: job dropped": (2, True)}


def test_sacct_without_such_jobs_has_no_such_columns(tmp_path: Path) -> None:
    path = tmp_path / "sacct.txt"
    path.write_text("\n".join(SACCT.splitlines()[:2]) + "\n", encoding="utf-8")
    assert not {"begin_s", "cancel_s"} & set(read_workload(path).jobs.columns)


def swf(job: int, wait: int, run: int, requested: int, status: int) -> str:
    """Returns a line of a SWF log."""
    return f"{job} 0 {wait} {run} 2 -1 -1 2 {requested} -1 {status} 1 1 -1 1 -1 -1 -1"


def test_swf(tmp_path: Path) -> None:
    path = tmp_path / "log.swf"
    path.write_text(
        "\n".join([swf(1, 5, 10, 60, 1), swf(2, 30, -1, 60, 5), swf(3, 30, -1, -1, 5), swf(4, 3, -1, 60, 1)])
    )
    workload = read_workload(path)
    jobs = workload.jobs
    assert jobs["job_id"].to_list() == [1, 2]
    assert jobs["cancel_s"].to_list() == [None, 30]
    # What its user's job ran stands in.
    assert jobs["run_s"].to_list() == [10, 10]
    assert jobs["logged_wait_s"].to_list() == [5, None]


def test_those_that_left_are_no_load(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("submit_s,run_s,cancel_s\n0,10,\n0,1000,5\n100,10,\n", encoding="utf-8")
    assert offered_load(read_workload(path), read_cluster("1")) == 20 / 100


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("", None),
        ("done(12)", "afterok:12"),
        ("done(12) && ended( 13 )", "afterok:12,afterany:13"),
        ("exit(12)&&started(13)", "afternotok:12,after:13"),
        ('done("name")', None),
        ("done(12) || done(13)", None),
        ("exit(12, >1)", None),
    ],
)
def test_conditions_of_lsf(condition: str, told: str | None) -> None:
    assert lsf_dependency(condition) == told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, None),
        ("afterok:12.server", "afterok:12"),
        ("afterok:12.a:13.a,afterany:14.a", "afterok:12:13,afterany:14"),
        ("beforeok:12.a", None),
        ("on:3", None),
    ],
)
def test_dependencies_of_pbs(text: str | None, told: str | None) -> None:
    assert pbs_dependency(text) == told


def pbs(job: int, more: str) -> str:
    """Returns the record of a job that has ended."""
    times = "ctime=1000 qtime=1000 start=2000 end=2100"
    asked = "Resource_List.ncpus=1 Resource_List.walltime=00:05:00 resources_used.walltime=00:01:40 Exit_status=0"
    return f"01/01/2020 00:00:00;E;{job}.server;user=ann {times} {asked} {more}"


def test_pbs(tmp_path: Path) -> None:
    path = tmp_path / "20200101"
    path.write_text(
        "\n".join([pbs(1, "etime=1000"), pbs(2, "etime=1500"), pbs(3, "etime=1900 depend=afterok:1.server:9.server")])
    )
    workload = read_workload(path)
    jobs = workload.jobs
    assert jobs["begin_s"].to_list() == [None, 1500, None]
    assert jobs["depends_on"].to_list() == [None, None, "afterok:1"]
    assert jobs["logged_wait_s"].to_list() == [1000, 500, 1000]
    assert [entry.rule for entry in workload.ledger.entries] == [NOT_THERE]


def test_what_its_users_jobs_ran_stands_in_for_a_job_that_left(tmp_path: Path) -> None:
    """Those that asked for the same time count first, then all of the user's; a job never runs beyond its request."""
    ran, left = None, 50.0
    rows = [
        ("ann", 100.0, 10.0, ran),
        ("ann", 100.0, 30.0, ran),
        ("ann", 100.0, 0.0, left),  # 20: the median of 10 and 30
        ("ann", 5.0, 0.0, left),  # 5: the request is less than the median of all
        ("bob", 100.0, 80.0, ran),
        ("bob", 900.0, 0.0, left),  # 80: none of his ran that asked for 900
        ("eve", 700.0, 0.0, left),  # 700: none of hers ran
        (None, 600.0, 9.0, ran),
        (None, 600.0, 0.0, left),  # 600: nobody knows whose it is
    ]
    schema = ["user", "requested_s", "run_s", "left_s"]
    path = tmp_path / "log.txt"
    path.write_text("nine lines\n" * 9, encoding="utf-8")
    source = open_source(path)
    repairs = Repairs([source])
    frame = pl.DataFrame(rows, schema=schema, orient="row").with_columns(repairs.places(source, range(1, 10)))
    found = keep_those_that_left(frame.with_columns(submit_s=pl.lit(0.0)), pl.col("left_s"), repairs)
    assert found["run_s"].to_list() == [10.0, 30.0, 20.0, 5.0, 80.0, 80.0, 700.0, 9.0, 600.0]
