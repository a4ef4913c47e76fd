"""Lists of GPU jobs, and what tables of GPU jobs have in common."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from shunter.errors import InputError
from shunter.workloads.formats.gpu_list import CLIPPED, is_gpu_list
from shunter.workloads.text.repairs import UNREADABLE, from_clock
from shunter.workloads.text.source import open_source
from tests.workloads.formats.published_logs import job, read_text, rules, write

HEADER = "job_id,arrival_s,service_sec,gpu_count\n"
FIVE = HEADER + "31#0,0.0,172800.0,32\n32#1,12.5,60.0,1\n40#2,12.5,7,8\n41#3,500,172799.0,2\n41#4,501,1e3,4\n"


def gpu_job(job_id: str, submit_s: float, run_s: float, tasks: int) -> dict[str, object]:
    return job(job_id, submit_s, run_s, tasks=tasks, cores_per_task=0.0, gpus_per_task=1.0)


def test_five_jobs(tmp_path: Path) -> None:
    workload = read_text(tmp_path, FIVE, format="helios")
    assert workload.jobs.to_dicts() == [
        gpu_job("31#0", 0.0, 172_800.0, 32),
        gpu_job("32#1", 12.5, 60.0, 1),
        gpu_job("40#2", 12.5, 7.0, 8),
        gpu_job("41#3", 500.0, 172_799.0, 2),
        gpu_job("41#4", 501.0, 1000.0, 4),
    ]
    assert rules(workload) == {CLIPPED: 1}


def test_run_times_that_the_list_cuts_are_told_but_no_mistake(tmp_path: Path) -> None:
    (entry,) = read_text(tmp_path, FIVE, format="helios", strict=True).ledger.entries
    assert (entry.rule, entry.example) == (CLIPPED, "line 2: service_sec 172800")


@pytest.mark.parametrize("row", ["a#1,soon,5,1", "a#1,5,long,1", "a#1,5,5,one", "a#1,5,5,1.5", "a#1,5,5,1,9"])
def test_a_line_that_is_no_row_is_skipped(tmp_path: Path, row: str) -> None:
    text = f"{FIVE}{row}\n"
    assert rules(read_text(tmp_path, text, format="helios")) == {CLIPPED: 1, UNREADABLE: 1}
    with pytest.raises(InputError, match=r"log\.txt:7: "):
        read_text(tmp_path, text, format="helios", strict=True)


@pytest.mark.parametrize(
    ("row", "rule"),
    [
        ("a#1,5,5,0", "size unknown: job dropped"),
        ("a#1,5,5,nan", "not readable: line skipped"),
        ("a#1,5,5,", "size unknown: job dropped"),
        ("a#1,,5,1", "submit time unknown: job dropped"),
        ("a#1,5,nan,1", "not readable: line skipped"),
        ("a#1,5,0.0,1", "run time 0 s: job dropped"),
    ],
)
def test_jobs_of_which_not_all_is_known_are_dropped(tmp_path: Path, row: str, rule: str) -> None:
    assert rules(read_text(tmp_path, f"{FIVE}{row}\n", format="helios")) == {CLIPPED: 1, rule: 1}


@pytest.mark.parametrize(
    ("text", "of_pai"),
    [
        (FIVE, False),
        (HEADER, False),
        ("# from elsewhere\n" + HEADER.upper() + "ali-7-worker#0,1,2,3\n", True),
        (HEADER + '"ali-7-worker#0",1,2,3\n', True),
    ],
)
def test_ids_tell_whose_list_it_is(tmp_path: Path, text: str, of_pai: bool) -> None:
    source = open_source(write(tmp_path, text))
    assert [is_gpu_list(source, of_pai=which) for which in (True, False)] == [of_pai, not of_pai]


@pytest.mark.parametrize("text", ["job_id,arrival_s,service_sec\n1,2,3\n", "1,2,3,4\n", "x\n"])
def test_other_headers_are_nobodys(tmp_path: Path, text: str) -> None:
    source = open_source(write(tmp_path, text))
    assert not any(is_gpu_list(source, of_pai=which) for which in (True, False))


def test_a_clock_that_is_turned_back_shows_an_hour_twice() -> None:
    """On 5 November 2017 the clocks of Los Angeles went from 01:59:59 back to 01:00:00."""
    shown_s = pl.Series([1509841800.0, 1509845400.0, 1509849000.0])  # 00:30, 01:30 and 02:30
    unix_s = pl.DataFrame({"shown_s": shown_s}).select(from_clock(pl.col("shown_s"), "America/Los_Angeles"))
    assert (unix_s.to_series() - shown_s).to_list() == [7 * 3600.0, 7 * 3600.0, 8 * 3600.0]


def test_times_that_no_calendar_has_stay_as_they_are() -> None:
    times_s = pl.DataFrame({"shown_s": [1e12, 1e13, -9e15, float("inf"), None]})
    unix_s = times_s.select(from_clock(pl.col("shown_s"), "Asia/Shanghai")).to_series().to_list()
    assert unix_s == [1e12 - 8 * 3600, 1e13, -9e15, float("inf"), None]
