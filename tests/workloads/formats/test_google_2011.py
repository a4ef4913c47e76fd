"""Google 2011: task_events, from several files, to attempts."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.workloads import read_workload
from shunter.workloads.formats.google import IDLE
from tests.support import trace
from tests.workloads.formats.published_logs import job, quantiles, read_text, rules, write

SAMPLE = "google_2011/task_events-part-00000.from600s_60000rows.csv.gz"

FIRST_PART = """\
600000000,,10,0,,0,hash+a/b=,2,9,0.025,0.07959,0.0004,0
600000000,,10,1,,0,hash+a/b=,2,9,0.025,0.07959,0.0004,0
601500000,,10,0,77,1,hash+a/b=,2,9,0.025,0.07959,0.0004,0
602000000,,10,1,78,1,hash+a/b=,2,9,0.025,0.07959,0.0004,0
603000000,,12,3,,0,hash2=,0,0,0.5,0.25,0.0,1
604000000,,12,3,,7,hash2=,0,1,0.0625,0.125,0.0,1
605000000,,12,3,79,1,hash2=,0,1,0.0625,0.125,0.0,1
606000000,,12,3,79,8,hash2=,0,1,0.125,0.125,0.0,1
611500001,,10,0,77,2,hash+a/b=,2,9,0.025,0.07959,0.0004,0
611500001,,10,0,,0,hash+a/b=,2,9,0.025,0.07959,0.0004,0
"""
SECOND_PART = """\
620000000,,10,1,78,3,hash+a/b=,2,9,0.025,0.07959,0.0004,0
621500001,,10,0,80,1,hash+a/b=,2,9,0.03125,0.07959,0.0004,0
630000000,,11,0,,0,,,2,0.0,0.5,0.0,0
630250000,,11,0,81,1,,,2,0.0,0.5,0.0,0
640250000,,11,0,81,5,,,2,0.0,0.5,0.0,0
650000000,,12,3,79,6,hash2=,0,1,0.0625,0.125,0.0,1
721500001,,10,0,80,4,hash+a/b=,2,9,0.025,0.07959,0.0004,0
"""
EXPECTED = [
    job(
        "10/0", 600.0, 10.000001, cores_per_task=2.5, memory_mb_per_task=7959.0, user="hash+a/b=", queue="2",
        status="preempted", priority=9.0, logged_wait_s=1.5,
    ),
    job(
        "10/1", 600.0, 18.0, cores_per_task=2.5, memory_mb_per_task=7959.0, user="hash+a/b=", queue="2",
        status="failed", priority=9.0, logged_wait_s=2.0,
    ),
    job(
        "12/3", 603.0, 45.0, cores_per_task=6.25, memory_mb_per_task=12_500.0, user="hash2=", queue="0",
        status="node_fail", priority=1.0, logged_wait_s=2.0,
    ),
    job(
        "10/0#2", 611.500001, 100.0, cores_per_task=3.125, memory_mb_per_task=7959.0, user="hash+a/b=", queue="2",
        status="completed", priority=9.0, logged_wait_s=10.0,
    ),
    job(
        "11/0", 630.0, 10.0, cores_per_task=0.0, memory_mb_per_task=50_000.0, status="cancelled", priority=2.0,
        logged_wait_s=0.25,
    ),
]  # fmt: skip


@pytest.mark.parametrize("in_order", [True, False])
def test_five_attempts(tmp_path: Path, in_order: bool) -> None:
    paths = [write(tmp_path, FIRST_PART, "part-1"), write(tmp_path, SECOND_PART, "part-2")]
    workload = read_workload(paths if in_order else paths[::-1], strict=True)
    assert workload.jobs.to_dicts() == EXPECTED
    assert workload.format == "google-2011"
    assert workload.name == ("part-1 and 1 more" if in_order else "part-2 and 1 more")
    assert "machine_events" in (workload.cluster_note or "")


TAIL = "0.1,0.1,0.1,0"
REPAIRED = {
    f"700000000,,20,0,5,4,u=,1,1,{TAIL}": "start not in the log: attempt dropped",
    f"0,,20,0,5,1,u=,1,1,{TAIL}\n700000000,,20,0,5,4,u=,1,1,{TAIL}": "start not in the log: attempt dropped",
    f"700000000,,20,0,5,0,u=,1,1,{TAIL}\n700000001,,20,0,5,5,u=,1,1,{TAIL}": "ended before it started: attempt dropped",
    f"700000000,,20,0,5,1,u=,1,1,{TAIL}": "end not in the log, or still running: attempt dropped",
    f"700000000,,20,0,5,1,u=,1,1,{TAIL}\n9223372036854775807,,20,0,5,4,u=,1,1,{TAIL}": (
        "end not in the log, or still running: attempt dropped"
    ),
    f"700000000,,20,0,5,0,u=,1,1,{TAIL}": "never started in the log: task dropped",
    f"700000000,,20,0,5,9,u=,1,1,{TAIL}": "event of an unknown type: line skipped",
    "721500001,,10,0,80,4,hash+a/b=,2,9,0.025,0.07959,0.0004,0": "event told before: line skipped",
    f"soon,,20,0,5,1,u=,1,1,{TAIL}": "not readable: line skipped",
    f"700000000,,,0,5,1,u=,1,1,{TAIL}": "not readable: line skipped",
    "700000000,,20": "not readable: line skipped",
}


@pytest.mark.parametrize("lines", REPAIRED)
def test_events_that_make_no_attempt(tmp_path: Path, lines: str) -> None:
    text = f"{FIRST_PART}{SECOND_PART}{lines}\n"
    workload = read_text(tmp_path, text)
    assert rules(workload) == {REPAIRED[lines]: 1}
    assert workload.jobs.to_dicts() == EXPECTED
    with pytest.raises(InputError, match=r"log\.txt:1[89]: .*run without --strict"):
        read_text(tmp_path, text, strict=True)


def test_events_that_change_nothing_are_counted_and_no_mistake(tmp_path: Path) -> None:
    text = f"{FIRST_PART}{SECOND_PART}700000000,,20,0,5,7,u=,1,1,{TAIL}\n"
    before = sum(entry.count for entry in read_text(tmp_path, FIRST_PART + SECOND_PART).ledger.entries)
    workload = read_text(tmp_path, text, strict=True)
    assert workload.jobs.to_dicts() == EXPECTED
    (entry,) = workload.ledger.entries
    assert (entry.rule, entry.count, entry.mistake) == (IDLE, before + 1, False)


def test_a_start_without_its_submission_is_taken_as_one(tmp_path: Path) -> None:
    text = (
        f"0,2,20,0,,0,u=,1,1,,,,\n600000000,,20,0,5,1,u=,1,1,{TAIL}\n610000000,,20,0,5,2,u=,1,1,{TAIL}\n"
        f"620000000,,20,0,5,1,u=,1,1,,,,\n650000000,,20,0,5,4,u=,1,1,{TAIL}\n"
    )
    workload = read_text(tmp_path, text)
    known = {"user": "u=", "queue": "1", "priority": 1.0}
    assert workload.jobs.to_dicts() == [
        job("20/0", 600.0, 10.0, cores_per_task=10.0, memory_mb_per_task=10_000.0, status="preempted", **known),
        job("20/0#2", 620.0, 30.0, status="completed", **known),
    ]
    assert rules(workload) == {
        "submission not in the log: taken as submitted when it started, wait unknown": 2,
        "cores not told: one core a task stands in": 1,
    }
    with pytest.raises(InputError, match=r"log\.txt:3: submit_us empty \(submission not in the log"):
        read_text(tmp_path, text, strict=True)


def test_events_of_jobs_are_refused(tmp_path: Path) -> None:
    text = "0,,3418309,0,user+hash=,3,name/hash=,logical+hash=\n600000000,,3418309,4,user+hash=,3,name/hash=,logical=\n"
    with pytest.raises(InputError, match=r"log\.txt: is of job_events, which tell no sizes; give task_events"):
        read_text(tmp_path, text)


def test_tasks_that_were_there_before_the_log_make_no_attempt(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"no job is left after repairs: never started in the log: task dropped \(40\)"
    ):
        read_text(tmp_path, "".join(f"0,2,20,{task},,0,u=,1,1,{TAIL}\n" for task in range(40)))


def test_the_published_events_as_a_plain_loop_reads_them() -> None:
    path = trace(SAMPLE)
    started: dict[tuple[str, str], int] = {}
    submitted: dict[tuple[str, str], int] = {}
    expected = []
    with gzip.open(path, "rt") as lines:
        for line in lines:
            cells = line.rstrip("\n").split(",")
            task, time_us, kind = (cells[2], cells[3]), int(cells[0]), int(cells[5])
            if kind == 0:
                submitted[task] = time_us
            elif kind == 1:
                started[task] = time_us
            elif task in started:
                start_us = started.pop(task)
                expected.append((submitted.pop(task, start_us) / 1e6, (time_us - start_us) / 1e6, float(cells[8])))
    workload = read_workload(path)
    assert sorted(workload.jobs.select("submit_s", "run_s", "priority").rows()) == sorted(expected)


def test_the_published_events() -> None:
    workload = read_workload([trace(SAMPLE), trace("google_2011/task_events-part-00000.t0_first5000.csv.gz")])
    jobs = workload.jobs
    # The statistics published with the sample are of the whole part, 93 minutes; here are its first 26.
    assert len(workload) == 12_230
    assert jobs["submit_s"].min() == 600.026913
    assert jobs["submit_s"].is_sorted()
    assert quantiles(jobs["run_s"], 0.5) == pytest.approx([261.7], abs=0.1)
    assert dict(jobs["status"].value_counts().iter_rows()) == {
        "completed": 9715,
        "cancelled": 2392,
        "failed": 100,
        "preempted": 23,
    }
    assert quantiles(jobs["cores_per_task"], 0.05, 0.5, 1) == pytest.approx([0.9369, 2.499, 25.05])
    assert rules(workload)["submission not in the log: taken as submitted when it started, wait unknown"] == 10
    assert rules(workload)["never started in the log: task dropped"] > 250
