"""LSF's lsb.events: jobs put together from their events, what is dropped, and the real sample."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shunter.errors import InputError
from shunter.model.workload import Workload
from shunter.workloads import read_workload
from shunter.workloads.formats.lsb_events import NO_END_OF_RUN, recognizes
from shunter.workloads.text.requeues import REQUEUED
from shunter.workloads.text.source import open_source
from tests.support import trace

USED = "1.5 0.25 3756 0 -1 0 0 407 4 0 936 8 -1 0 0 0 19 2 -1"
BEGINNING = """#80
"LOAD_INDEX" "10.108" 1600000000 2 "r15s" "mem"
"MBD_START" "10.108" 1600000000 "master" "west" 4 2
"""


def new(number: int, time_s: int, user: str, name: str, *, limit: int = -1, slots: int = 1, need: str = "") -> str:
    """Returns the record of a submission; the tenth of its eleven limits is that of the run time."""
    return (
        f'"JOB_NEW" "10.108" {time_s} {number} 1501 33554434 {slots} {time_s} 0 0 -65535 0 0 "{user}" '
        f'-1 -1 -1 -1 -1 -1 -1 -1 -1 {limit} -1 "" 1.00 18 "normal" "{need}" "login1" "/home" "" "" "" "" "/home" '
        f'"{time_s}.{number}" 1 "n1" "" "" "{name}" "echo ""hi"";./run" 1 "in" "out" 2 "" "climate" {slots} '
        '"UNKNOWN_AUTO_DETECT" "" "" "" "" 5136 0 "" "" "" -1 -1 -1 0 "" "" -1 "" 0 -1 "" "" 1 1032 "0" 0 0'
    )


def start(number: int, time_s: int, hosts: str, index: int = 0, need: str = "select[type == any] ") -> str:
    count = len(hosts.split())
    return (
        f'"JOB_START" "10.108" {time_s} {number} 4 0 0 100.0 {count} {hosts} "" "" 0 "" {index} "" 2147483647 4194304 '
        f'"{need}" "" -1 "" -1 0 "" -1 0 0 -1 -1 1 {time_s} 0 0 0 1 "SCHEDULING_OVERHEAD" "0.00" 0'
    )


def status(number: int, time_s: int, word: int, *, index: int = 0, reason: int = 0, memory_kb: int = 0) -> str:
    return (
        f'"JOB_STATUS" "10.108" {time_s} {number} {word} 0 0 1.75 {time_s} 1 {USED} 0 {index} {reason} 0 {memory_kb} '
        f'{memory_kb} "" -1 "" -1 0 -1 -1 0 0'
    )


def back_to_pending(number: int, time_s: int) -> str:
    return f'"JOB_STATUS" "10.108" {time_s} {number} 1 2903 0 0.0000 0 0 0 0 0 0 0 0 "" -1 "" -1 0 -1 -1 0 0'


FIVE = [
    # A job with a limit, and what is run after it, which does not count.
    new(601, 1600000010, "anna", "a job", limit=3600, slots=2),
    start(601, 1600000020, '"n1" "n1"'),
    '"JOB_START_ACCEPT" "10.108" 1600000021 601 3942 3942 0 "" -1 "" -1 -1',
    '"JOB_EXECUTE" "10.108" 1600000021 601 1501 3942 "/tmp" "/home" "anna" 3942 0 "" -1 "" 0 2147483647 "" -1 "" -1',
    status(601, 1600000120, 64, memory_kb=4096),
    '"JOB_STATUS" "10.108" 1600000150 601 192 0 0 1.75 1600000150 0 0 0 0 0 4096 4096 "" -1 "" -1 0 -1 -1 0 0',
    '"JOB_CLEAN" "10.108" 1600003800 601 0 0',
    # Two elements of an array, of which one is killed by its owner.
    new(602, 1600000030, "ben", "sweep[1-2]", need="rusage[mem=100]"),
    start(602, 1600000040, '"n1"', index=1, need=""),
    start(602, 1600000050, '"n2"', index=2, need=""),
    status(602, 1600000060, 32, index=2, reason=14),
    status(602, 1600000070, 64, index=1),
    # Forwarded to another cluster, sent back, started twice: two runs.
    new(603, 1600000080, "cleo", ""),
    '"JOB_FORWARD" "10.108" 1600000081 603 0 "east" 0 1 "" -1 -1 "" -1',
    '"JOB_ACCEPTACK" "10.108" 1600000081 603 0 1 "" -1 "east" 101',
    start(603, 1600000090, '"n1"'),
    back_to_pending(603, 1600000100),
    start(603, 1600000200, '"2*g1@east" "2*g2@east"', need="rusage[mem=2GB,ngpus_physical=1.00]"),
    status(603, 1600000500, 32, reason=5),
    # Requeued after its end.
    new(604, 1600000090, "anna", ""),
    start(604, 1600000100, '"n1"'),
    status(604, 1600000110, 32),
    start(604, 1600000300, '"n1" "n1" "n2"'),
    status(604, 1600000400, 64),
]


def write(folder: Path, *lines: str, name: str = "lsb.events") -> Path:
    path = folder / name
    path.write_text(BEGINNING + "".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def rules(workload: Workload) -> dict[str, int]:
    return {entry.rule: entry.count for entry in workload.ledger.entries}


def test_five_jobs(tmp_path: Path) -> None:
    """Every column of every job."""
    workload = read_workload(write(tmp_path, *FIVE), strict=True)
    common: dict[str, Any] = {
        "requested_s": None, "memory_mb_per_task": None, "gpus_per_task": 0.0, "group": None, "queue": "normal",
        "partition": "normal", "priority": None, "used_memory_mb_per_task": None, "name": None, "account": "climate",
        "nodes": 1, "attempts": 1, "depends_on": None,
    }  # fmt: skip
    expected = [
        {
            "job_id": "601", "submit_s": 1600000010.0, "run_s": 100.0, "requested_s": 3600.0, "tasks": 1,
            "cores_per_task": 2.0, "user": "anna", "status": "completed", "logged_wait_s": 10.0,
            "used_memory_mb_per_task": 4.0, "name": "a job", "hosts": "n1*2",
        },
        {
            "job_id": "602[1]", "submit_s": 1600000030.0, "run_s": 30.0, "tasks": 1, "cores_per_task": 1.0,
            "memory_mb_per_task": 100.0, "user": "ben", "status": "completed", "logged_wait_s": 10.0,
            "name": "sweep[1-2]", "hosts": "n1*1",
        },
        {
            "job_id": "602[2]", "submit_s": 1600000030.0, "run_s": 10.0, "tasks": 1, "cores_per_task": 1.0,
            "memory_mb_per_task": 100.0, "user": "ben", "status": "cancelled", "logged_wait_s": 20.0,
            "name": "sweep[1-2]", "hosts": "n2*1",
        },
        {
            "job_id": "603", "submit_s": 1600000080.0, "run_s": 10.0, "tasks": 1, "cores_per_task": 1.0,
            "user": "cleo", "status": "requeued", "logged_wait_s": 10.0, "hosts": "n1*1",
        },
        {
            "job_id": "604", "submit_s": 1600000090.0, "run_s": 10.0, "tasks": 1, "cores_per_task": 1.0,
            "user": "anna", "status": "failed", "logged_wait_s": 10.0, "hosts": "n1*1",
        },
        {
            "job_id": "603.r1", "submit_s": 1600000100.0, "run_s": 300.0, "tasks": 2, "cores_per_task": 2.0,
            "memory_mb_per_task": 2048.0, "gpus_per_task": 1.0, "user": "cleo", "status": "timeout",
            "logged_wait_s": 100.0, "nodes": 2, "attempts": 2, "hosts": "g1@east*2,g2@east*2",
            "depends_on": "afterany:603",
        },
        {
            "job_id": "604.r1", "submit_s": 1600000110.0, "run_s": 100.0, "tasks": 3, "cores_per_task": 1.0,
            "user": "anna", "status": "completed", "logged_wait_s": 190.0, "nodes": 2, "attempts": 2,
            "hosts": "n1*2,n2*1", "depends_on": "afterany:604",
        },
    ]  # fmt: skip
    assert workload.jobs.to_dicts() == [common | job for job in expected]
    assert workload.format == "lsb-events"
    assert rules(workload) == {REQUEUED: 2}


ENDED = [new(1, 1600000000, "a", ""), start(1, 1600000001, '"n1"'), status(1, 1600000009, 64)]


@pytest.mark.parametrize(
    ("lines", "rule"),
    [
        ([new(2, 1600000001, "a", "")], "no end in the log: job dropped"),
        ([new(2, 1600000001, "a", "x[1-9]")], "no end in the log: job dropped"),
        ([new(2, 1600000001, "a", ""), start(2, 1600000002, '"n1"')], "no end in the log: job dropped"),
        ([start(2, 1600000002, '"n1"'), status(2, 1600000003, 64)], "submitted before the log begins: job dropped"),
        ([new(2, 1600000001, "a", ""), status(2, 1600000003, 32, reason=14)], "never started: job dropped"),
        ([new(2, 1600000001, "a", "")[:200]], "not readable: line skipped"),
        ([start(2, 1600000001, '"n1"').replace("100.0 1", "100.0 3")], "not readable: line skipped"),
        ([status(2, 1600000001, 64)[:60]], "not readable: line skipped"),
        (["JOB_STATUS and so on"], "not readable: line skipped"),
    ],
)
def test_what_is_dropped(tmp_path: Path, lines: list[str], rule: str) -> None:
    path = write(tmp_path, *ENDED, *lines)
    workload = read_workload(path)
    assert (len(workload), rules(workload)) == (1, {rule: 1})
    with pytest.raises(InputError, match=rf"lsb\.events:7: .*{rule}"):
        read_workload(path, strict=True)


def test_records_of_older_versions_end_earlier(tmp_path: Path) -> None:
    """Without the user's group and all behind it, as in LSF's free relatives."""
    old_start = '"JOB_START" "3.0" 1600000100 7 4 0 0 100.0 1 "n1" "" "" 0 0'
    old_status = f'"JOB_STATUS" "3.0" 1600000160 7 64 0 0 1.75 1600000150 1 {USED} 0 0'
    jobs = read_workload(write(tmp_path, new(7, 1600000090, "a", ""), old_start, old_status), strict=True).jobs
    assert jobs.select("run_s", "logged_wait_s", "status").row(0) == (50, 10, "completed")


def test_files_are_read_from_the_oldest_on(tmp_path: Path) -> None:
    """LSF writes the submission of a job that is not over once more into the new file."""
    old = write(tmp_path, *FIVE, new(9, 1600000600, "dora", ""), name="lsb.events.1")
    recent = tmp_path / "lsb.events"
    ended = [new(9, 1600000600, "dora", ""), start(9, 1600000700, '"n1"'), status(9, 1600000800, 64)]
    recent.write_text("\n".join(["#123", '"MBD_START" "10.108" 1600000650 "master" "west" 4 2', *ended]))
    jobs = read_workload([recent, old], strict=True).jobs
    assert jobs["job_id"].to_list() == ["601", "602[1]", "602[2]", "603", "604", "603.r1", "604.r1", "9"]
    assert jobs.row(-1, named=True)["run_s"] == 100


def test_a_job_that_is_requeued_while_it_runs(tmp_path: Path) -> None:
    """Its first run ends with the event; a start that the next file repeats is none of its own."""
    lines = [
        new(7, 1600000000, "a", ""),
        start(7, 1600000010, '"n1"'),
        start(7, 1600000010, '"n1"'),
        '"JOB_REQUEUE" "10.108" 1600000050 7 0',
        back_to_pending(7, 1600000050),
        start(7, 1600000060, '"n1"'),
        status(7, 1600000090, 64),
    ]
    workload = read_workload(write(tmp_path, *lines), strict=True)
    columns = ("job_id", "submit_s", "logged_wait_s", "run_s", "status", "depends_on")
    assert workload.jobs.select(columns).rows() == [
        ("7", 1600000000.0, 10.0, 40.0, "requeued", None),
        ("7.r1", 1600000050.0, 10.0, 30.0, "completed", "afterany:7"),
    ]


def test_a_run_whose_end_is_not_told_is_left_out(tmp_path: Path) -> None:
    lines = [new(7, 1600000000, "a", ""), start(7, 1600000010, '"n1"'), start(7, 1600000060, '"n1"')]
    workload = read_workload(write(tmp_path, *lines, status(7, 1600000090, 64)))
    assert workload.jobs.select("job_id", "logged_wait_s", "run_s").rows() == [(7, 60.0, 30.0)]
    assert rules(workload) == {NO_END_OF_RUN: 1}


def test_a_number_that_is_given_again_is_another_job(tmp_path: Path) -> None:
    again = [new(1, 1700000000, "b", ""), start(1, 1700000001, '"n1"'), status(1, 1700000005, 64)]
    workload = read_workload(write(tmp_path, *ENDED, *again))
    assert workload.jobs.select("job_id", "user", "run_s").rows() == [("1", "a", 8), ("1#2", "b", 4)]


def test_the_real_sample_agrees_with_its_accounting() -> None:
    workload = read_workload(trace("lsf/hpc-cost-simulator/lsb.events"))
    accounted = read_workload(trace("lsf/hpc-cost-simulator/lsb.acct.16")).jobs.sort("job_id")
    # 87 jobs; lsb.acct.16 ends before the last five, and 13 ran for less than a second.
    assert len(workload) == 74
    assert rules(workload) == {"run time 0 s: job dropped": 13}
    same = workload.jobs.filter(pl.col("job_id").is_in(accounted["job_id"].to_list())).drop("attempts").sort("job_id")
    # For one job, the two files tell another memory.
    memory = "used_memory_mb_per_task"
    assert same.drop(memory).equals(accounted.drop(memory))
    assert (~same[memory].eq_missing(accounted[memory])).sum() == 1
    assert workload.jobs["job_id"].to_list()[-5:] == [384, 385, 386, 387, 388]


@pytest.mark.parametrize("text", ["x", '"JOB_NEW"', '"JOB_NEW" 10.1 5', '"JOB_FINISH" "10.1" 5 6', '"OTHER" "1.0" 5 6'])
def test_what_is_not_recognized(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a"
    path.write_text(text)
    assert not recognizes(open_source(path))
