"""Jobs that were queued again: each run is a job, in every format that tells of runs."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

import shunter
from shunter.model.workload import Workload
from shunter.workloads import read_workload
from shunter.workloads.text.requeues import REQUEUED
from tests.workloads.formats.test_sacct_json import job

SHOWN = ("job_id", "submit_s", "logged_wait_s", "run_s", "status", "depends_on")
SACCT = "JobID|User|JobName|State|Submit|Eligible|Start|End|Elapsed|Timelimit|NCPUS|NodeList\n"
PBS_HEAD = "user=ann group=staff jobname=run queue=batch ctime=1600000000 qtime=1600000000 etime=1600000000"
PBS_SIZE = "exec_host=n1/0 Resource_List.ncpus=1 Resource_List.walltime=02:00:00"


def _read(tmp_path: Path, text: str, name: str = "log.txt") -> Workload:
    path = tmp_path / name
    path.write_text(text)
    return read_workload(path, strict=True)


def _sacct(tmp_path: Path, *rows: str) -> Workload:
    return _read(tmp_path, SACCT + "".join(f"{row}\n" for row in rows))


def _row(job: str, state: str, submit: int, start: int, end: int, *, user: str = "ann", eligible: int = 0) -> str:
    eligible = eligible or submit
    base = 1_600_000_000
    elapsed = f"00:{(end - start) // 60:02}:{(end - start) % 60:02}"
    times = "|".join(str(base + time_s) for time_s in (submit, eligible, start, end))
    return f"{job}|{user}|run|{state}|{times}|{elapsed}|01:00:00|1|n1"


def _shown(workload: Workload) -> list[tuple[object, ...]]:
    zero = pl.col("submit_s") - 1_600_000_000
    return workload.jobs.with_columns(submit_s=zero).select(SHOWN).rows()


def test_runs_of_slurm_follow_one_another(tmp_path: Path) -> None:
    """Slurm writes as the submit time of a later run when the job was queued again, and holds it for two minutes."""
    workload = _sacct(
        tmp_path,
        _row("7", "PREEMPTED", 0, 10, 110),
        _row("7", "NODE_FAIL", 110, 240, 250, eligible=230),
        _row("7", "COMPLETED", 250, 400, 500, eligible=371),
        _row("8", "COMPLETED", 600, 600, 601),
    )
    assert _shown(workload) == [
        ("7", 0.0, 10.0, 100.0, "preempted", None),
        ("7.r1", 110.0, 10.0, 10.0, "node_fail", "afterany:7"),
        ("7.r2", 250.0, 29.0, 100.0, "completed", "afterany:7.r1"),
        ("8", 600.0, 0.0, 1.0, "completed", None),
    ]
    assert (workload.jobs["begin_s"] - workload.jobs["submit_s"]).to_list() == [None, 120.0, 121.0, None]
    (entry,) = workload.ledger.entries
    assert (entry.rule, entry.count, entry.example, entry.mistake) == (REQUEUED, 1, "line 2: job 7", False)


def test_ids_stay_numbers_where_nothing_ran_twice(tmp_path: Path) -> None:
    """A run of 0 s did nothing, and is dropped as always."""
    path = tmp_path / "log.txt"
    path.write_text(SACCT + _row("7", "REQUEUED", 0, 4, 4) + "\n" + _row("7", "COMPLETED", 4, 60, 90) + "\n")
    workload = read_workload(path)
    assert workload.jobs.select("job_id", "run_s").rows() == [(7, 30.0)]
    assert "depends_on" not in workload.jobs.columns


def test_an_id_of_another_user_or_at_the_same_time_is_no_run(tmp_path: Path) -> None:
    rows = [
        _row("7", "COMPLETED", 0, 0, 50),
        _row("7", "COMPLETED", 10, 40, 60),
        _row("7", "FAILED", 90, 90, 95, user="bo"),
    ]
    path = tmp_path / "log.txt"
    path.write_text(SACCT + "\n".join(rows) + "\n")
    workload = read_workload(path)
    assert workload.jobs["job_id"].to_list() == ["7", "7#2", "7#3"]
    assert "depends_on" not in workload.jobs.columns


def test_one_that_left_after_its_first_run(tmp_path: Path) -> None:
    """The second time it was cancelled while it waited: it leaves then."""
    left = "7|ann|run|CANCELLED by 1|1600000050|1600000050|Unknown|1600000080|00:00:00|01:00:00|1|None assigned"
    workload = _sacct(tmp_path, _row("7", "NODE_FAIL", 0, 10, 50), left)
    assert workload.jobs.select("job_id", "depends_on", "logged_wait_s").rows() == [
        ("7", None, 10.0),
        ("7.r1", "afterany:7", None),
    ]
    assert workload.jobs["cancel_s"].to_list() == [None, 1_600_000_080.0]


def test_runs_in_the_completion_log(tmp_path: Path) -> None:
    """Slurm holds a job for two minutes that it queues again."""
    line = (
        "JobId=7 UserId=ann(1) GroupId=x(1) Name=run JobState={} Partition=p TimeLimit=60 StartTime=2024-03-01T12:{} "
        "EndTime=2024-03-01T12:{} NodeList=n1 NodeCnt=1 ProcCnt=4 WorkDir=/ Tres=cpu=4,node=1 Account=a QOS=q "
        "SubmitTime=2024-03-01T12:{} EligibleTime=2024-03-01T12:{} ExitCode=0:0\n"
    )
    text = line.format("NODE_FAIL", "01:00", "11:00", "00:00", "00:00")
    text += line.format("COMPLETED", "14:00", "20:00", "11:00", "13:01")
    workload = _read(tmp_path, text)
    assert workload.jobs.select("job_id", "logged_wait_s", "run_s", "depends_on").rows() == [
        ("7", 60.0, 600.0, None),
        ("7.r1", 59.0, 360.0, "afterany:7"),
    ]
    assert (workload.jobs["begin_s"] - workload.jobs["submit_s"]).to_list() == [None, 121.0]


def test_reruns_of_pbs(tmp_path: Path) -> None:
    """Torque says hardly more than that there was a rerun, PBS Pro what it says at every end."""
    text = "\n".join(
        [
            f"09/13/2020 16:00:10;S;7.server;{PBS_HEAD} start=1600000010 {PBS_SIZE}",
            "09/13/2020 16:05:10;R;7.server;user=ann",
            f"09/13/2020 16:10:00;S;7.server;{PBS_HEAD} start=1600000600 {PBS_SIZE}",
            f"09/13/2020 16:15:00;R;7.server;{PBS_HEAD} start=1600000600 end=1600000890 {PBS_SIZE} Exit_status=-11",
            f"09/13/2020 16:30:00;E;7.server;{PBS_HEAD} start=1600001000 end=1600001800 {PBS_SIZE} Exit_status=0",
            f"09/13/2020 16:30:00;E;8.server;{PBS_HEAD} start=1600001000 end=1600001800 {PBS_SIZE} Exit_status=0 "
            "depend=afterok:7.server",
        ]
    )
    workload = _read(tmp_path, text + "\n")
    assert _shown(workload) == [
        ("7", 0.0, 10.0, 300.0, "requeued", None),
        # Who waits for a job waits for its last run.
        ("8", 0.0, 1000.0, 800.0, "completed", "afterok:7.r2"),
        ("7.r1", 310.0, 290.0, 290.0, "requeued", "afterany:7"),
        ("7.r2", 890.0, 110.0, 800.0, "completed", "afterany:7.r1"),
    ]
    assert workload.jobs["attempts"].to_list() == [1, None, 2, 3]


def test_a_rerun_of_pbs_whose_start_is_not_told(tmp_path: Path) -> None:
    text = (
        "09/13/2020 16:05:10;R;7.server;user=ann\n"
        f"09/13/2020 16:30:00;E;7.server;{PBS_HEAD} start=1600001000 end=1600001800 {PBS_SIZE} Exit_status=0\n"
    )
    jobs = _read(tmp_path, text).jobs
    assert jobs.select("job_id", "run_s", "attempts").rows() == [(7, 800.0, 2)]


def test_a_clock_that_no_calendar_has(tmp_path: Path) -> None:
    text = (
        f"99/99/2020 16:00:10;S;7.server;{PBS_HEAD} start=1600000010 {PBS_SIZE}\n"
        "99/99/2020 16:05:10;R;7.server;user=ann\n"
        f"09/13/2020 16:30:00;E;7.server;{PBS_HEAD} start=1600001000 end=1600001800 {PBS_SIZE} Exit_status=0\n"
    )
    path = tmp_path / "log.txt"
    path.write_text(text)
    workload = read_workload(path)
    assert workload.jobs["job_id"].to_list() == [7]
    assert [entry.rule for entry in workload.ledger.entries] == ["not readable: line skipped"]


def test_later_runs_are_held_until_the_run_before_has_ended(tmp_path: Path) -> None:
    """On one core the first run starts later than it did, since another job is there."""
    workload = _sacct(
        tmp_path,
        _row("6", "COMPLETED", 0, 0, 1000),
        _row("7", "NODE_FAIL", 10, 20, 120),
        _row("7", "COMPLETED", 120, 130, 230),
    )
    schedule = shunter.simulate(workload, 1, policy="sjf")
    start_s, end_s = (list(times - 1_600_000_000) for times in (schedule.start_s, schedule.end_s))
    assert start_s == [0.0, 1000.0, 1100.0]
    assert end_s == [1000.0, 1100.0, 1200.0]
    assert list(schedule.queue_wait_s) == [0.0, 990.0, 0.0]


def test_a_first_run_of_0_s_in_json(tmp_path: Path) -> None:
    """What is left is one job with its own id."""
    at_once = job(7, state={"current": ["NODE_FAIL"]}, time={"submission": 90, "start": 100, "elapsed": 0, "end": 100})
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps({"meta": {}, "jobs": [at_once, job(7)]}))
    workload = read_workload(path)
    assert workload.jobs["job_id"].dtype == pl.Int64
    assert workload.jobs.select("job_id", "submit_s", "run_s").rows() == [(7, 100.0, 60.0)]
