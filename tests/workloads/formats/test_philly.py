"""Philly: the log in JSON, and the two flat tables."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shunter.errors import InputError
from shunter.workloads import read_cluster, read_workload
from shunter.workloads.formats import reader_of
from shunter.workloads.load import offered_load
from shunter.workloads.text.repairs import UNREADABLE
from shunter.workloads.text.source import open_source
from tests.support import trace
from tests.workloads.formats.published_logs import days, job, percentages, quantiles, read_text, rules, write

FOLDER = "philly"
NEVER_RAN = "no attempt that began: never ran, job dropped"
NO_END = "last attempt without an end: run time unknown, job dropped"
NO_SIZE = "size unknown: job dropped"
SORTED = "submit time before the previous job's: sorted"


def unix_s(text: str, hours_behind: int) -> float:
    """Returns the Unix time of a clock that is so many hours behind UTC."""
    zone = timezone(timedelta(hours=-hours_behind))
    return datetime.fromisoformat(text).replace(tzinfo=zone).timestamp()


def attempt(start: str | None, end: str | None, *machines: tuple[str, int]) -> dict[str, Any]:
    detail = [{"ip": name, "gpus": [f"gpu{number}" for number in range(gpus)]} for name, gpus in machines]
    return {"start_time": start, "end_time": end, "detail": detail}


def entry(number: int, submitted: str, *attempts: dict[str, Any], **others: object) -> dict[str, Any]:
    job_id = f"application_1500000000000_{number}"
    usual = {"status": "Pass", "vc": "aaaa11", "jobid": job_id, "user": "bbbb22"}
    return usual | {"attempts": list(attempts), "submitted_time": submitted} | others


FIVE = [
    entry(
        1,
        "2017-10-07 01:00:00",
        attempt("2017-10-07 01:00:30", "2017-10-07 01:01:00", ("m1", 8)),
        attempt("2017-10-07 01:10:00", "2017-10-08 01:00:30", ("m2", 8), ("m3", 4)),
        attempt("2017-10-08 01:00:40", "2017-10-08 02:00:30", ("m2", 2)),
    ),
    entry(2, "2017-10-09 12:00:00", attempt("2017-10-09 12:00:00", "2017-10-09 12:00:05", ("m9", 1)), status="Killed"),
    entry(
        3,
        "2017-11-04 23:59:00",
        attempt("None", "2017-11-05 00:00:00"),
        attempt("2017-11-05 00:30:00", "2017-11-05 02:30:00", ("m4", 2)),
        status="Failed",
        user=None,
    ),
    entry(4, "2017-11-05 01:30:00", attempt("2017-11-05 03:00:00", "2017-11-05 03:00:09", ("m5", 4)), vc="cccc33"),
    entry(
        5,
        "2017-12-01 08:00:00",
        attempt("2017-12-01 07:59:00", "2017-12-01 09:00:00", ("m6", 3), ("m6", 1)),
        attempt(None, None),
        status="Suspended",
    ),
]


def gpu_job(number: int, submit_s: float, run_s: float, tasks: int, **others: object) -> dict[str, object]:
    usual: dict[str, object] = {
        "tasks": tasks, "cores_per_task": 0.0, "gpus_per_task": 1.0, "user": "bbbb22", "partition": "aaaa11",
        "status": "completed", "logged_wait_s": None, "nodes": 1, "attempts": 1,
    }  # fmt: skip
    return job(f"application_1500000000000_{number}", submit_s, run_s, **(usual | others))


def test_five_jobs(tmp_path: Path) -> None:
    """The clocks went back an hour on 5 November; what the clock showed twice is taken as the first."""
    workload = read_text(tmp_path, json.dumps(FIVE, indent=1), format="philly")
    assert workload.jobs.to_dicts() == [
        gpu_job(1, unix_s("2017-10-07 01:00:00", 7), 90_000.0, 12, logged_wait_s=30.0, nodes=2, attempts=3),
        gpu_job(2, unix_s("2017-10-09 12:00:00", 7), 5.0, 1, logged_wait_s=0.0, status="cancelled"),
        gpu_job(
            3,
            unix_s("2017-11-04 23:59:00", 7),
            10_800.0,
            2,
            logged_wait_s=1860.0,
            status="failed",
            user=None,
            attempts=2,
        ),
        gpu_job(4, unix_s("2017-11-05 01:30:00", 7), 9.0, 4, logged_wait_s=9000.0, partition="cccc33"),
        gpu_job(5, unix_s("2017-12-01 08:00:00", 8), 3660.0, 4, status="suspended", attempts=2),
    ]
    assert rules(workload) == {"wait negative or absurd: taken as unknown": 1}
    assert workload.cluster_note == "does not tell its machine (the published one is the preset philly)"


def test_objects_one_after_another_are_read_too(tmp_path: Path) -> None:
    lines = "\n".join(json.dumps(one) for one in FIVE)
    in_list = read_text(tmp_path, json.dumps(FIVE), format="philly").jobs
    assert read_text(tmp_path, lines, format="philly").jobs.equals(in_list)


RAN = attempt("2017-10-09 12:00:00", "2017-10-09 13:00:00", ("m1", 1))


@pytest.mark.parametrize(
    ("odd", "rule"),
    [
        (entry(6, "2017-10-09 12:00:00"), NEVER_RAN),
        (entry(6, "2017-10-09 12:00:00", attempt(None, None), attempt("None", "None", ("m1", 1))), NEVER_RAN),
        (entry(6, "2017-10-09 12:00:00", RAN, attempt("2017-10-09 13:00:10", "None", ("m1", 1))), NO_END),
        (entry(6, "2017-10-09 12:00:00", attempt("2017-10-09 13:00:10", None, ("m1", 1))), NO_END),
        (
            entry(6, "2017-10-09 12:00:00", attempt("2017-10-09 12:00:00", "2017-10-09 13:00:00")),
            "size unknown: job dropped",
        ),
        (entry(6, "None", RAN), "submit time unknown: job dropped"),
        (entry(6, "9 October", RAN), UNREADABLE),
        (entry(6, "2017-10-09 12:00:00", attempt("noon", "2017-10-09 13:00:00", ("m1", 1))), UNREADABLE),
        (entry(6, "2017-10-09 12:00:00", RAN, attempts=5), UNREADABLE),
        (entry(6, "2017-10-09 12:00:00", RAN, attempts=[{"start_time": None}]), UNREADABLE),
        (entry(6, "2017-10-09 12:00:00", RAN, attempts=["x"]), UNREADABLE),
        ({"jobid": "x"}, UNREADABLE),
    ],
)
def test_what_is_dropped(tmp_path: Path, odd: dict[str, Any], rule: str) -> None:
    text = json.dumps([FIVE[0], odd])
    workload = read_text(tmp_path, text, format="philly")
    assert (len(workload), rules(workload)) == (1, {rule: 1})
    with pytest.raises(InputError, match=r"log\.txt:1: .*run without --strict"):
        read_text(tmp_path, text, format="philly", strict=True)


FLAT = "timestamp,duration,num_gpus,gpu_time,cluster\n"
FIVE_FLAT = (
    FLAT + "2017-10-09 07:00:01,66.0,1,66.0,aaaa11\n2017-09-04 06:13:03,2951.0,8,23608.0,bbbb22\n"
    "2017-11-05 01:30:00,5.0,2,10.0,\n2017-11-05 02:00:00,1.0,1,1.0,cccc33\n2017-12-22 23:59:59,9.5,128,1216.0,aaaa11\n"
)


def test_five_jobs_of_the_flat_table(tmp_path: Path) -> None:
    workload = read_text(tmp_path, FIVE_FLAT, format="philly")

    def flat(number: str, time: str, behind: int, run_s: float, tasks: int, vc: str | None) -> dict[str, object]:
        shape: dict[str, object] = {"tasks": tasks, "cores_per_task": 0.0, "gpus_per_task": 1.0}
        return job(number, unix_s(time, behind), run_s, partition=vc, **shape) | {"job_id": int(number)}

    assert workload.jobs.to_dicts() == [
        flat("2", "2017-09-04 06:13:03", 7, 2951.0, 8, "bbbb22"),
        flat("1", "2017-10-09 07:00:01", 7, 66.0, 1, "aaaa11"),
        flat("3", "2017-11-05 01:30:00", 7, 5.0, 2, None),
        flat("4", "2017-11-05 02:00:00", 8, 1.0, 1, "cccc33"),
        flat("5", "2017-12-22 23:59:59", 8, 9.5, 128, "aaaa11"),
    ]
    assert rules(workload) == {SORTED: 1}


SAMPLE = "job_id,arrival_time,duration,gpu_count,gpu_type,preemptible,workload_kind,priority,source_trace\n"


def sample_row(number: int, shown: str, run_s: float, gpus: int, source: str = "philly") -> str:
    """Returns a row of the sample, whose arrivals are those of a clock that is nine hours ahead of UTC."""
    arrival = unix_s(shown, -9)
    return f"ph-application_1500000000000_{number},{arrival},{run_s},{gpus},any,False,training,0,{source}\n"


def test_five_jobs_of_the_sample_have_the_times_of_the_log(tmp_path: Path) -> None:
    rows = [sample_row(number + 1, one["submitted_time"], 5.0, number + 1) for number, one in enumerate(FIVE)]
    workload = read_text(tmp_path, SAMPLE + "".join(rows), format="philly")
    in_json = read_text(tmp_path, json.dumps(FIVE), format="philly").jobs
    assert workload.jobs["submit_s"].to_list() == in_json["submit_s"].to_list()
    unknown: dict[str, object] = dict.fromkeys(("user", "partition", "status"))
    for number, found in enumerate(workload.jobs.to_dicts(), start=1):
        expected = gpu_job(number, in_json["submit_s"][number - 1], 5.0, number, **unknown)
        assert found == {name: expected[name] for name in found}
    assert "attempts" not in workload.jobs.columns


def test_rows_of_other_logs_in_the_sample_are_left_out(tmp_path: Path) -> None:
    rows = sample_row(1, "2017-10-09 12:00:00", 5, 1) + sample_row(2, "2017-10-09 12:00:00", 5, 1, "helios")
    assert rules(read_text(tmp_path, SAMPLE + rows, format="philly")) == {"not of Philly: job left out": 1}


@pytest.mark.parametrize("row", ["yesterday,5,1,5,a", "2017-03-12 02:30:00,5,1,5,a", "2017-10-09 07:00:00,x,1,5,a"])
def test_a_line_that_is_no_row_is_skipped(tmp_path: Path, row: str) -> None:
    """On 12 March 2017 no clock showed 02:30."""
    text = f"{FLAT}2017-09-04 06:13:03,1,1,1,a\n{row}\n"
    assert rules(read_text(tmp_path, text, format="philly")) == {UNREADABLE: 1}
    with pytest.raises(InputError, match=r"log\.txt:3: "):
        read_text(tmp_path, text, format="philly", strict=True)


def test_files_of_other_formats_and_two_layouts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none of the layouts that are known; expected a list in JSON, or the header"):
        read_text(tmp_path, "submit_s,run_s\n1,2\n", format="philly")
    paths = [write(tmp_path, json.dumps(FIVE), "a.json"), write(tmp_path, FIVE_FLAT, "b.csv")]
    with pytest.raises(InputError, match=r"b\.csv: has another layout than .*a\.json; read them apart"):
        read_workload(paths, format="philly")


def test_what_is_recognized(tmp_path: Path) -> None:
    reader = reader_of("philly")
    sample = SAMPLE + sample_row(1, "2017-10-09 12:00:00", 5, 1)
    for text in (json.dumps(FIVE), json.dumps(FIVE[0]), FIVE_FLAT, FLAT.upper(), sample):
        assert reader.recognizes(open_source(write(tmp_path, text)))
    for text in (
        SAMPLE,
        sample.replace("philly", "helios"),
        "[]",
        "{",
        '[{"jobid": 3}]',
        FLAT[3:],
        "\x01",
        "a,b\n1,2\n",
    ):
        assert not reader.recognizes(open_source(write(tmp_path, text)))


def test_statistics_of_the_flat_table() -> None:
    workload = read_workload(trace(f"{FOLDER}/philly_sia.csv.gz"))
    jobs = workload.jobs
    assert rules(workload) == {SORTED: 44_878}
    assert len(workload) == 82_247
    # An hour longer than the clocks say, which were turned back meanwhile.
    assert days(workload) == pytest.approx(108.9 + 1 / 24, abs=0.05)
    months = jobs.select(
        pl.from_epoch(pl.col("submit_s").cast(pl.Int64)).dt.convert_time_zone("America/Los_Angeles").dt.month()
    ).to_series()
    assert dict(months.value_counts().iter_rows()) == {9: 5657, 10: 47_192, 11: 21_318, 12: 8080}
    assert quantiles(jobs["run_s"], 0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1) == pytest.approx(
        [48, 115, 1144, 2932, 11_265, 43_646, 254_758, 4_628_226], rel=1e-3
    )
    assert jobs["run_s"].mean() == pytest.approx(13_136, abs=1)
    sizes, clusters = percentages(jobs["tasks"]), percentages(jobs["partition"])
    assert {size: round(sizes[size], 2) for size in (1, 2, 4, 8, 16, 32)} == {
        1: 93.17, 2: 2.21, 4: 2.27, 8: 2.0, 16: 0.24, 32: 0.08,
    }  # fmt: skip
    assert jobs["tasks"].max() == 128
    top = {"6214e9": 50.1, "11cb48": 19.6, "6c71a0": 12.1, "b436b2": 9.0}
    assert {name: round(clusters[name], 1) for name in top} == top
    assert len(clusters) == 15
    assert offered_load(workload, read_cluster("philly")) == pytest.approx(0.15, abs=0.005)


def test_the_sample_agrees_with_the_flat_table() -> None:
    sample = read_workload(trace(f"{FOLDER}/philly_sample1000_jobid.csv")).jobs
    flat = read_workload(trace(f"{FOLDER}/philly_sia.csv.gz")).jobs
    assert sample.height == 1000
    assert sample.join(flat, on=["submit_s", "run_s", "tasks"], how="semi").height == 739
