"""SWF: every field of five jobs, every repair, and what files may look like."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.model.workload import COLUMNS, EXTRA_COLUMNS, Workload
from shunter.workloads import read_workload

FIVE_JOBS = """\
; Version: 2.2
; Computer: a machine: with a colon
;   MaxNodes: 64
; MaxProcs: 338 (batch partition; 512 total)
; Note: the first
; Note: the second

    1      0     10    100    4   95.5   2048    8    3600   4096  1   7   3  12  2   1  -1  -1
    2     60     -1     50    1     -1     -1   -1      -1     -1  0  -1  -1  -1 -1  -1  -1  -1
    3     60      0   7200   -1   7100   1024   16    7000  10240  5   8   4  13  0   2   1  30
    4  90.25      5    0.5   32     20      0   16     600     -1  3   7   3  12  2   1   2 5.5 0.871
    5    120  86400 216000  338     -1     -1  338  259200     -1 -1 400  40 900  8   4  -1  -1
"""

EXPECTED = {
    "job_id": [1, 2, 3, 4, 5],
    "submit_s": [0.0, 60.0, 60.0, 90.25, 120.0],
    "run_s": [100.0, 50.0, 7200.0, 0.5, 216000.0],
    "requested_s": [3600.0, None, 7000.0, 600.0, 259200.0],
    "tasks": [8, 1, 16, 32, 338],
    "cores_per_task": [1.0] * 5,
    "memory_mb_per_task": [4.0, None, 10.0, None, None],
    "gpus_per_task": [0.0] * 5,
    "user": ["7", None, "8", "7", "400"],
    "group": ["3", None, "4", "3", "40"],
    "queue": ["2", None, "0", "2", "8"],
    "partition": ["1", None, "2", "1", "4"],
    "status": ["completed", "failed", "cancelled", "partial", None],
    "priority": [None] * 5,
    "logged_wait_s": [10.0, None, 0.0, 5.0, 86400.0],
    "average_cpu_s": [95.5, None, 7100.0, 20.0, None],
    "used_memory_mb_per_task": [2.0, None, 1.0, 0.0, None],
    "executable": ["12", None, "13", "12", "900"],
    "preceding_job_id": [None, None, 1, 2, None],
    "think_time_s": [None, None, 30.0, 5.5, None],
}


def line(**fields: object) -> str:
    """Returns a good line, with some fields (``f4="abc"``) replaced."""
    values: list[object] = [1, 0, 5, 100, 4, -1, -1, 4, 3600, -1, 1, 7, 3, -1, 2, 1, -1, -1]
    for name, value in fields.items():
        values[int(name[1:]) - 1] = value
    return " ".join(map(str, values)) + "\n"


def read_text(folder: Path, text: str, *, strict: bool = False) -> Workload:
    path = folder / "log.swf"
    path.write_bytes(text.encode())
    return read_workload(path, strict=strict)


def read_or_message(path: Path) -> Workload | str:
    """Returns the workload, or what the error says; any other exception fails the test."""
    try:
        return read_workload(path)
    except InputError as error:
        return str(error)


def test_every_column_of_five_jobs(tmp_path: Path) -> None:
    workload = read_text(tmp_path, FIVE_JOBS, strict=True)
    assert workload.jobs.to_dict(as_series=False) == EXPECTED
    extra = {name: EXTRA_COLUMNS[name] for name in list(EXPECTED)[len(COLUMNS) :]}
    assert dict(workload.jobs.schema) == {name: kind.dtype for name, kind in COLUMNS.items()} | extra
    assert len(extra) == 5
    assert workload.name == "log.swf"
    assert workload.cluster_spec == "338"
    assert not workload.ledger
    assert workload.content_sha256 == hashlib.sha256(FIVE_JOBS.encode()).hexdigest()


@pytest.mark.parametrize(
    ("header", "cluster"),
    [
        ("", None),
        ("; MaxNodes: 144\n", "144"),
        ("; MaxNodes: -1\n; MaxProcs: 128\n", "128"),
        ("; MaxProcs: unknown\n; MaxNodes: 12\n", "12"),
        ("; MaxProcs: 0\n", None),
        ("; MaxProcs: 99999999999999999999999999999\n", None),
        ("\ufeff;MaxProcs:7\r\n\r\n", "7"),
    ],
)
def test_machine_size_from_the_header(tmp_path: Path, header: str, cluster: str | None) -> None:
    assert read_text(tmp_path, header + line()).cluster_spec == cluster


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_line_ends_and_a_missing_last_one(tmp_path: Path, ending: str) -> None:
    workload = read_text(tmp_path, FIVE_JOBS.replace("\n", ending).rstrip())
    assert workload.jobs.to_dict(as_series=False) == EXPECTED
    assert workload.cluster_spec == "338"


def test_gzip_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    path = tmp_path / "log.swf"
    path.write_bytes(gzip.compress(FIVE_JOBS.encode()))
    assert read_workload(path).jobs.to_dict(as_series=False) == EXPECTED
    other = tmp_path / "log.txt.gz"
    other.write_bytes(path.read_bytes())
    assert len(read_workload(other, format="swf")) == 5


def test_comments_between_jobs_are_passed_over(tmp_path: Path) -> None:
    assert len(read_text(tmp_path, line() + "; a comment 1 2\n\n \t\n" + line(f1=2))) == 2


REPAIRS = [
    ({"f4": -1}, "run time unknown (-1): job dropped", "run time -1", [1, 3]),
    ({"f4": 0}, "run time 0 s: job dropped", "run time 0", [1, 3]),
    (
        {"f5": -1, "f8": -1},
        "processors unknown (fields 5 and 8 are -1): job dropped",
        "requested processors -1",
        [1, 3],
    ),
    ({"f3": -7}, "wait time negative: taken as unknown", "wait time -7", [1, 2, 3]),
    ({"f9": 0}, "requested time not positive: taken as unknown", "requested time 0", [1, 2, 3]),
    ({"f10": 0}, "requested memory not positive: taken as unknown", "requested memory 0", [1, 2, 3]),
    ({"f11": 9}, "status code outside the format's: taken as unknown", "status 9", [1, 2, 3]),
    ({"f1": 1}, "job number unknown or that of an earlier job: numbered anew", "job_id 1", [1, 4, 3]),
    ({"f1": -1}, "job number unknown or that of an earlier job: numbered anew", "job_id -1", [1, 4, 3]),
]


@pytest.mark.parametrize(("fields", "rule", "what", "left"), REPAIRS)
def test_repairs_are_counted_and_strict_refuses_them(
    tmp_path: Path, fields: dict[str, object], rule: str, what: str, left: list[int]
) -> None:
    text = line() + line(**{"f1": 2, **fields}) + line(f1=3)
    workload = read_text(tmp_path, text)
    assert workload.jobs["job_id"].to_list() == left
    assert workload.ledger.to_json() == [{"rule": rule, "count": 1, "example": f"line 2: {what}"}]
    with pytest.raises(InputError) as caught:
        read_text(tmp_path, text, strict=True)
    assert str(caught.value).endswith(f"log.swf:2: {what} ({rule}); mend the line, or run without --strict")


def test_taken_as_unknown_means_null(tmp_path: Path) -> None:
    jobs = read_text(tmp_path, line(f3=-7, f9=0, f10=0, f11=9)).jobs
    assert jobs.select("logged_wait_s", "requested_s", "memory_mb_per_task", "status").row(0) == (None,) * 4


def test_jobs_out_of_order_are_sorted_and_equal_times_keep_their_order(tmp_path: Path) -> None:
    text = line(f1=1, f2=50) + line(f1=2, f2=20) + line(f1=3, f2=50) + line(f1=4, f2=20)
    workload = read_text(tmp_path, text)
    assert workload.jobs["job_id"].to_list() == [2, 4, 1, 3]
    (entry,) = workload.ledger.entries
    assert (entry.rule, entry.count) == ("submit time before the previous job's: sorted", 2)
    assert entry.example.endswith("log.swf:2: submit time 20 after 50")
    with pytest.raises(InputError, match=r"log\.swf:2: submit time 20 after 50; .*without --strict to sort"):
        read_text(tmp_path, text, strict=True)


def test_a_dropped_job_may_hold_what_would_be_refused_otherwise(tmp_path: Path) -> None:
    """LLNL Thunder marks jobs that never ran with submit time -1."""
    workload = read_text(tmp_path, line(f1=1, f2=-1, f4=-1, f5=0, f8=0) + line(f1=2))
    assert workload.jobs["job_id"].to_list() == [2]


def test_all_renumbered_ids_are_new(tmp_path: Path) -> None:
    ids = read_text(tmp_path, "".join(line(f1=number) for number in (5, 5, -1, 5, 6))).jobs["job_id"].to_list()
    assert ids == [5, 7, 8, 9, 6]
