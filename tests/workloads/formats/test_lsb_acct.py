"""LSF's lsb.acct: records of three versions, their quirks, what is dropped, and the real samples."""

from __future__ import annotations

import csv
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shunter.errors import InputError
from shunter.model.workload import Workload
from shunter.workloads import read_workload
from shunter.workloads.formats.lsb_acct import PARTED, recognizes
from shunter.workloads.text.leaving import LEFT_RULE
from shunter.workloads.text.requeues import REQUEUED
from shunter.workloads.text.source import open_source
from tests.support import trace

USED = "1.5 0.25 3756 0 -1 0 0 407 4 0 936 8 -1 0 0 0 19 2 -1"
REST = '"" -1 "" -1 0 "" 0 0 "" 60 "/w" 0 "" 0.000000 0.00 0.00 0.00 0.00'

# A script with quotes and signs of more than one byte, two hosts with two slots each, a limit, memory of each host.
EVEN = (
    '"JOB_FINISH" "10.108" 1600000700 501 1501 33554450 4 1600000010 0 0 1600000100 "anna" "normal" '
    '"rusage[mem=4000]" "" "" "login1" "/home/anna" "" "%J.out" "" "1600000010.501" 0 4 "n1" "n1" "n2" "n2" 64 100.0 '
    f'"model a" "#BSUB -R ""rusage[mem=4000]"";./grüße" {USED} "" "climate" 0 4 "" "" 0 2097152 0 "" "" "" "" 0 "" 0 '
    '"" -1 "/anna" "" "" "" -1 "" "" 5136 "" 1600000100 "" "" 2 1032 "0" 1086 "-1 -1 " '
    '1 n1 1306 0 12 3 1 7 "x" 3600 4194304 1024 "select[type == any] rusage[mem=4000.00:duration=1h] " '
    f'{REST} 4 "n1" "n1" "n2" "n2" -1 0 0 0 0 1 "schedulingOverhead" "0.00"'
)
# An element of an array, killed by its owner; the forwarded job's host has its cluster behind it.
ELEMENT = (
    '"JOB_FINISH" "10.1" 1600000260 502 1502 33554434 1 1600000000 0 0 1600000200 "ben" "short" '
    '"" "" "" "login1" "/home/ben" "" "" "" "1600000000.502" 1 "n9" 1 "n9@west" 32 60.0 '
    f'"sweep[1-9]" "./run" {USED} "" "default" 33280 1 "" "" 4 0 0 "" "" "" "" 0 "" 14 '
    '"" -1 "" "" "" "" -1 "" "" 80 "" 1600000200 "" "" 0 '
    f'0 -1 64 0 "select[type == any] order[r15s:pg] " {REST} 1 "n9@west"'
)
# Hosts in short, uneven, with GPUs of each host: a task a GPU. Killed at its limit.
UNEVEN = (
    '"JOB_FINISH" "10.108" 1600007500 503 1501 33554434 3 1600000020 0 0 1600000300 "anna" "gpu" '
    '"" "" "" "login1" "/home/anna" "" "" "" "1600000020.503" 0 2 "2*g1" "1*g2" 32 100.0 '
    f'"" "./train" {USED} "" "climate" 35584 3 "" "" 0 6291456 0 "" "" "" "" 0 "" 5 '
    '"" -1 "" "" "" "" -1 "" "" 80 "" 1600000300 "" "" 0 '
    f'0 7200 0 0 "rusage[mem=8GB,ngpus_physical=2.00] span[ptile=2]" {REST} 0 -1 0 0 0 0 0'
)
# Version 9: no list of slots; memory of each task; killed for its memory.
NINE = (
    '"JOB_FINISH" "9.11" 1600001030 504 1503 33882739 32 1600000030 0 0 1600000130 "cleo" "normal" '
    '"span[ptile=16]" "" "" "login2" "/scratch" "" "" "" "1600000030.504" 0 2 "16*n3" "16*n4" 32 60.0 '
    f'"job4" "./mpi" {USED} "" "ocean" 35072 32 "" "" 0 1048576 0 "" "" "" "" 0 "" 16 '
    '"" -1 "" "" "" "" -1 "" "" 6160 "" 1600000130 "" "" 0 '
    "2 n3 1306 0 128 24 0 n4 1291 0 64 6 0 "
    '2147483647 0 86886 "select[type == local] rusage[mem=2048M/task] span[ptile=16] " "" -1 "" -1 0 "" '
    '0 0 "" 900 "/s" 1 "183" 1 ""'
)
# Version 7 ends behind the number of further options; neither limit nor hosts are told.
SEVEN = (
    '"JOB_FINISH" "7.06" 1600000150 505 1504 33554434 2 1600000040 0 0 1600000140 "" "normal" '
    '"rusage[mem=512]" "" "" "login2" "/home" "" "" "" "1600000040.505" 0 0 64 60.0 '
    f'"" "date" {USED} "" "" 0 2 "" "" 0 -1 0 "" "" "" "" 0 "" 0 '
    '"" -1 "" "" "" "" -1 "" "" 80 "" 0 "" "" 0'
)
FIVE = [EVEN, ELEMENT, UNEVEN, NINE, SEVEN]


def write(folder: Path, *lines: str) -> Path:
    path = folder / "lsb.acct.1"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def rules(workload: Workload) -> dict[str, int]:
    return {entry.rule: entry.count for entry in workload.ledger.entries}


def test_five_jobs(tmp_path: Path) -> None:
    """Every column of every job; records stand in the order in which jobs end, which is no repair."""
    workload = read_workload(write(tmp_path, *FIVE), strict=True)
    common: dict[str, Any] = {"group": None, "priority": None}
    element = common | {
        "job_id": "502[4]", "submit_s": 1600000000.0, "run_s": 60.0, "requested_s": None, "tasks": 1,
        "cores_per_task": 1.0, "memory_mb_per_task": None, "gpus_per_task": 0.0, "user": "ben", "queue": "short",
        "status": "cancelled", "logged_wait_s": 200.0, "used_memory_mb_per_task": None, "name": "sweep[1-9]",
        "account": "default", "nodes": 1, "hosts": "n9@west*1",
    }  # fmt: skip
    even = common | {
        "job_id": "501", "submit_s": 1600000010.0, "run_s": 600.0, "requested_s": 3600.0, "tasks": 2,
        "cores_per_task": 2.0, "memory_mb_per_task": 4000.0, "gpus_per_task": 0.0, "user": "anna", "queue": "normal",
        "status": "completed", "logged_wait_s": 90.0, "used_memory_mb_per_task": 1024.0, "name": "model a",
        "account": "climate", "nodes": 2, "hosts": "n1*2,n2*2",
    }  # fmt: skip
    uneven = common | {
        "job_id": "503", "submit_s": 1600000020.0, "run_s": 7200.0, "requested_s": 7200.0, "tasks": 4,
        "cores_per_task": 0.75, "memory_mb_per_task": 4096.0, "gpus_per_task": 1.0, "user": "anna", "queue": "gpu",
        "status": "timeout", "logged_wait_s": 280.0, "used_memory_mb_per_task": 1536.0, "name": None,
        "account": "climate", "nodes": 2, "hosts": "g1*2,g2*1",
    }  # fmt: skip
    nine = common | {
        "job_id": "504", "submit_s": 1600000030.0, "run_s": 900.0, "requested_s": None, "tasks": 2,
        "cores_per_task": 16.0, "memory_mb_per_task": 32768.0, "gpus_per_task": 0.0, "user": "cleo", "queue": "normal",
        "status": "out_of_memory", "logged_wait_s": 100.0, "used_memory_mb_per_task": 512.0, "name": "job4",
        "account": "ocean", "nodes": 2, "hosts": "n3*16,n4*16",
    }  # fmt: skip
    seven = common | {
        "job_id": "505", "submit_s": 1600000040.0, "run_s": 10.0, "requested_s": None, "tasks": 2,
        "cores_per_task": 1.0, "memory_mb_per_task": 256.0, "gpus_per_task": 0.0, "user": None, "queue": "normal",
        "status": "completed", "logged_wait_s": 100.0, "used_memory_mb_per_task": None, "name": None,
        "account": None, "nodes": None, "hosts": None,
    }  # fmt: skip
    # A queue of LSF is what others call a partition.
    expected = [job | {"partition": job["queue"]} for job in (element, even, uneven, nine, seven)]
    assert workload.jobs.to_dicts() == expected
    assert workload.format == "lsb-acct"
    assert not workload.ledger


def test_numbers_stay_numbers_without_arrays(tmp_path: Path) -> None:
    jobs = read_workload(write(tmp_path, EVEN, NINE)).jobs
    assert jobs["job_id"].to_list() == [501, 504]


def test_two_records_of_one_job_are_two_runs(tmp_path: Path) -> None:
    """Both have the time of the submission; the second run could wait from the end of the first on."""
    again = EVEN.replace(" 1600000700 501 ", " 1600002000 501 ").replace(" 1600000100 ", " 1600001000 ")
    workload = read_workload(write(tmp_path, EVEN, again), strict=True)
    assert workload.jobs.select("job_id", "submit_s", "logged_wait_s", "run_s", "depends_on").rows() == [
        ("501", 1600000010.0, 90.0, 600.0, None),
        ("501.r1", 1600000700.0, 300.0, 1000.0, "afterany:501"),
    ]
    assert rules(workload) == {REQUEUED: 1}


def test_comments_and_other_records_are_no_mistakes(tmp_path: Path) -> None:
    other = '"EVENT_ADRSV_FINISH" "10.108" 1600000000 1600000000 6 13 "adm" "adm#1" 1 "" 1 2 "n1" 1'
    workload = read_workload(write(tmp_path, "#1600000000", "", "   # a note", other, EVEN), strict=True)
    assert len(workload) == 1
    assert rules(workload) == {"record of another kind: left out": 1}


def test_jobs_that_never_started_are_dropped(tmp_path: Path) -> None:
    pending = EVEN.replace(" 0 0 1600000100 ", " 0 0 0 ")
    path = write(tmp_path, pending, NINE)
    assert rules(read_workload(path)) == {"never started: job dropped": 1}
    with pytest.raises(InputError, match=r"lsb\.acct\.1:1: job_id 501 \(never started: job dropped\)"):
        read_workload(path, strict=True)


def test_two_counts_without_a_blank_between_them_are_taken_apart(tmp_path: Path) -> None:
    glued = EVEN.replace(' 0 4 "n1"', ' 04 "n1"')
    assert glued != EVEN
    workload = read_workload(write(tmp_path, glued))
    assert workload.jobs.equals(read_workload(write(tmp_path, EVEN)).jobs)
    assert rules(workload) == {PARTED: 1}


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (EVEN[: EVEN.index("%J.out")], "a quote is not closed"),
        (EVEN[: EVEN.index(" 3600 4194304")], "the record ends after"),
        (EVEN[: EVEN.index('"climate"')], "the record ends after"),
        (SEVEN[: SEVEN.index('"date"')], "the record ends after"),
        (EVEN.replace(" 501 ", " five ", 1), "field 4 is five, not a number"),
        (EVEN.replace(" 501 ", " 501.5 ", 1), "field 4 is 501.5, not a whole number"),
        (EVEN.replace(" 501 ", f" {'9' * 30} ", 1), "not a number"),
        (EVEN.replace('"anna"', "anna", 1), "field 12 is anna, not a text"),
        ("JOB_FINISH 10.108 nonsense", "'JOB_FINISH 10.108 nonsense' is not a record of LSF"),
    ],
)
def test_what_is_no_whole_record_is_skipped(tmp_path: Path, line: str, what: str) -> None:
    path = write(tmp_path, NINE, ELEMENT, line)
    workload = read_workload(path)
    assert workload.jobs["job_id"].to_list() == ["502[4]", "504"]
    assert rules(workload) == {"not readable: line skipped": 1}
    assert what in workload.ledger.entries[0].example
    with pytest.raises(InputError, match=r"lsb\.acct\.1:3: "):
        read_workload(path, strict=True)


def test_a_file_of_nonsense_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="2 of 3 lines are not readable"):
        read_workload(write(tmp_path, EVEN, "a", "b"))
    with pytest.raises(InputError, match="no job is left after repairs: never started"):
        read_workload(write(tmp_path, EVEN.replace(" 0 0 1600000100 ", " 0 0 0 ")))


def test_a_text_may_touch_the_number_behind_it(tmp_path: Path) -> None:
    assert len(read_workload(write(tmp_path, EVEN.replace('"climate" 0 4', '"climate"0 4')), strict=True)) == 1


def test_many_files_are_one_log(tmp_path: Path) -> None:
    paths = []
    for number, line in enumerate(FIVE):
        paths.append(tmp_path / f"lsb.acct.{number}")
        paths[-1].write_text(line, encoding="utf-8")
    assert read_workload(paths, strict=True).jobs.equals(read_workload(write(tmp_path, *FIVE)).jobs)


def test_the_real_sample_agrees_with_its_expected_parse() -> None:
    workload = read_workload(trace("lsf/hpc-cost-simulator/lsb.acct.16"))
    with trace("lsf/hpc-cost-simulator/exp_jobs.csv").open(encoding="utf-8") as file:
        expected = {int(row["job_id"]): row for row in csv.DictReader(file)}
    # 82 jobs; those that ran for less than a second cannot be replayed.
    assert len(workload) == 69
    assert rules(workload) == {"run time 0 s: job dropped": 13}
    for job in workload.jobs.iter_rows(named=True):
        row = expected[job["job_id"]]
        assert job["submit_s"] == _unix(row["submit_time"])
        assert job["submit_s"] + job["logged_wait_s"] == _unix(row["start_time"])
        assert job["submit_s"] + job["logged_wait_s"] + job["run_s"] == _unix(row["finish_time"])
        assert job["tasks"] * job["cores_per_task"] == int(row["num_cores"])
        assert (job["queue"], job["account"]) == (row["queue"], row["project"])
        assert (job["status"] == "completed") == (row["exit_status"] == "0")
        # The expected parse has at least 0.1 GB for each job.
        used_gb = (job["used_memory_mb_per_task"] or 0) * job["tasks"] / 1024
        assert max(used_gb, 0.09765625) == float(row["max_mem_gb"])

    # The expected parse has 1 host for every job; the records name more for these.
    several = workload.jobs.filter(pl.col("nodes") > 1).select("job_id", "nodes").rows()
    assert several == [(160, 2), (161, 8), (166, 2), (167, 3), (273, 2), (274, 2), (275, 3), (280, 2), (281, 5)]


def _unix(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp()


def test_the_statistics_of_the_real_sample() -> None:
    jobs = read_workload(trace("lsf/hpc-cost-simulator/lsb.acct.16")).jobs
    slots = (jobs["tasks"] * jobs["cores_per_task"]).to_list()
    # Of 63, 5, 4 and 3 jobs with 1, 2, 4 and 8 slots, 13 ran for 0 s, and as many of 41 that failed.
    assert [slots.count(size) for size in (1, 2, 4, 8, 30)] == [50, 5, 4, 3, 1]
    # The median of all 82 is 3 s.
    assert (jobs["run_s"].max(), jobs["run_s"].median()) == (501, 5)
    assert jobs["status"].value_counts().sort("status").rows() == [("completed", 41), ("failed", 28)]


def test_records_may_end_behind_the_requirement(tmp_path: Path) -> None:
    """Each version of LSF has added fields at the end, which tell nothing of the schedule."""
    whole = read_workload(write(tmp_path, EVEN)).jobs
    fields = REST.split()
    for count in range(0, len(fields), 3):
        cut = EVEN[: EVEN.index(f" {REST}")] + "".join(f" {field}" for field in fields[:count])
        assert read_workload(write(tmp_path, cut), strict=True).jobs.equals(whole), cut


def test_a_record_that_is_there_twice(tmp_path: Path) -> None:
    """Two records with the same start are no two runs."""
    workload = read_workload(write(tmp_path, EVEN, EVEN))
    assert workload.jobs["job_id"].to_list() == ["501", "501#2"]
    assert rules(workload) == {"id missing or that of an earlier job: numbered anew": 1}


def test_a_job_that_was_cancelled_while_it_waited(tmp_path: Path) -> None:
    """It leaves when the record says; what it would have run is its limit, or what its user's jobs ran."""
    left = EVEN.replace(" 0 0 1600000100 ", " 0 0 0 ").replace(" 64 100.0 ", " 32 100.0 ").replace(" 501 ", " 509 ")
    left = left.replace('0 4 "n1" "n1" "n2" "n2" 32', "0 0 32").replace('0 "" 0 "" -1 "/anna"', '0 "" 14 "" -1 "/anna"')
    workload = read_workload(write(tmp_path, EVEN, left))
    assert workload.jobs.select("job_id", "run_s", "cancel_s", "logged_wait_s").rows() == [
        (501, 600.0, None, 90.0),
        (509, 600.0, 1600000700.0, None),
    ]
    assert rules(workload) == {LEFT_RULE: 1}


@pytest.mark.parametrize("text", ["x", '"JOB_FINISH"', '"JOB_NEW" "10.108" 1 2 3', '"JOB_FINISH" 10.1 5', "\x01\x02"])
def test_what_is_not_recognized(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a"
    path.write_text(text)
    assert not recognizes(open_source(path))
