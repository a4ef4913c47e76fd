"""RLTune's tables: both numbers of columns, what is dropped, and the public sample."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shunter.errors import InputError
from shunter.model.workload import Workload
from shunter.workloads import read_workload
from shunter.workloads.formats import Reading, rltune
from shunter.workloads.text.source import open_source
from tests.support import trace

# With a virtual cluster, a partition alone, without GPUs, with all fields, and with the fewest.
FIVE_19 = """; MaxNodes: 25
; MaxProcs: 100
c0ffee01,1000,-1,2612,4,-1,-1,-1,-1,29.296875,1,-1,-1,-1,0,-1,-1,-1,1
bert-2_1,1010,30,25,2,-1,-1,-1,-1,-1,2,7,2,-1,0,5,-1,-1,0
; a comment between
cpu-1,1020,0,100,0,-1,-1,16,600,-1,0,8,2,3,1,-1,-1,2,-1
full,1030.5,12.25,50.75,2,40.5,1024,24,3600,64,5,9,3,4,2,1,bert-2_1,3,4
least,1040,-1,1,1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "jobs.csv"
    path.write_text(text)
    return path


def twenty(text: str) -> str:
    """Returns the rows with a think time of 20 s before the virtual cluster."""
    rows = [line.split(",") for line in text.splitlines()]
    return "\n".join(
        ",".join(cells if cells[0].startswith(";") else [*cells[:17], "20", *cells[17:]]) for cells in rows
    )


def rules(workload: Workload) -> dict[str, int]:
    return {entry.rule: entry.count for entry in workload.ledger.entries}


COMMON: dict[str, Any] = {
    "requested_s": None, "cores_per_task": 0.0, "memory_mb_per_task": None, "gpus_per_task": 1.0, "user": None,
    "group": None, "queue": None, "partition": None, "status": None, "priority": None, "logged_wait_s": None,
    "average_cpu_s": None, "executable": None, "gpu_type": None,
}  # fmt: skip
EXPECTED: list[dict[str, Any]] = [
    {
        "job_id": "c0ffee01", "submit_s": 1000.0, "run_s": 2612.0, "tasks": 4, "memory_mb_per_task": 7500.0,
        "queue": "0", "status": "completed", "gpu_type": "1",
    },
    {
        "job_id": "bert-2_1", "submit_s": 1010.0, "run_s": 25.0, "tasks": 2, "user": "7", "group": "2", "queue": "0",
        "partition": "5", "status": "partial", "logged_wait_s": 30.0, "gpu_type": "0",
    },
    {
        "job_id": "cpu-1", "submit_s": 1020.0, "run_s": 100.0, "requested_s": 600.0, "tasks": 16,
        "cores_per_task": 1.0, "gpus_per_task": 0.0, "user": "8", "group": "2", "executable": "3", "queue": "1",
        "partition": "2", "status": "failed", "logged_wait_s": 0.0,
    },
    {
        "job_id": "full", "submit_s": 1030.5, "run_s": 50.75, "requested_s": 3600.0, "tasks": 2,
        "cores_per_task": 12.0, "memory_mb_per_task": 32768.0, "user": "9", "group": "3", "executable": "4",
        "queue": "2", "partition": "3", "status": "cancelled", "logged_wait_s": 12.25, "average_cpu_s": 40.5,
        "gpu_type": "4",
    },
    {"job_id": "least", "submit_s": 1040.0, "run_s": 1.0, "tasks": 1},
]  # fmt: skip


def test_five_jobs_in_19_columns(tmp_path: Path) -> None:
    workload = read_workload(write(tmp_path, FIVE_19), strict=True)
    assert workload.jobs.to_dicts() == [COMMON | job for job in EXPECTED]
    assert workload.format == "rltune"
    assert not workload.ledger
    assert workload.cluster_spec is None
    assert workload.cluster_note == 'its header says "MaxProcs: 100", which counts GPUs and tells of no nodes'


def test_five_jobs_in_20_columns(tmp_path: Path) -> None:
    workload = read_workload(write(tmp_path, twenty(FIVE_19)), strict=True)
    assert workload.jobs.to_dicts() == [COMMON | job | {"think_time_s": 20.0} for job in EXPECTED]


def test_a_header_need_not_be_there(tmp_path: Path) -> None:
    workload = read_workload(write(tmp_path, FIVE_19.partition("100\n")[2]))
    assert workload.cluster_note is None


GOOD = "a,0,-1,10,1,-1,-1,-1,-1,-1,1,-1,-1,-1,0,-1,-1,-1,0"


@pytest.mark.parametrize(
    ("row", "rule", "jobs"),
    [
        ("b,1,-1,-1,1,-1,-1,-1,-1,-1,1,-1,-1,-1,0,-1,-1,-1,0", "run time unknown: job dropped", 1),
        ("b,1,-1,0,1,-1,-1,-1,-1,-1,1,-1,-1,-1,0,-1,-1,-1,0", "run time 0 s: job dropped", 1),
        ("b,1,-1,5,-1,-1,-1,-1,-1,-1,1,-1,-1,-1,0,-1,-1,-1,0", "size unknown: job dropped", 1),
        ("b,one,-1,5,1,-1,-1,-1,-1,-1,1,-1,-1,-1,0,-1,-1,-1,0", "not readable: line skipped", 1),
        ("b,1,-1,5,1.5,-1,-1,-1,-1,-1,1,-1,-1,-1,0,-1,-1,-1,0", "not readable: line skipped", 1),
        ("b,1,-1,5,1,-1,-1,-1", "not readable: line skipped", 1),
        (
            "b,1,-1,5,1,-1,-1,-1,-1,-1,9,-1,-1,-1,0,-1,-1,-1,0",
            "status code outside SWF's: taken as unknown",
            2,
        ),
        (
            "b,1,-1,5,1,-1,-1,-1,0,-1,1,-1,-1,-1,0,-1,-1,-1,0",
            "requested_s not positive or absurd: taken as unknown",
            2,
        ),
    ],
)
def test_repairs(tmp_path: Path, row: str, rule: str, jobs: int) -> None:
    path = write(tmp_path, f"{GOOD}\n{row}\n")
    workload = read_workload(path)
    assert (len(workload), rules(workload)) == (jobs, {rule: 1})
    with pytest.raises(InputError, match=r"jobs\.csv:2: "):
        read_workload(path, strict=True)


def test_another_number_of_columns_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the first row has 3 cells between commas; expected 19 or 20"):
        rltune.read([open_source(write(tmp_path, "1,2,3"))], Reading())


def test_the_public_sample() -> None:
    workload = read_workload(trace("rltune/synthetic_trace.csv"), strict=True)
    jobs = workload.jobs
    assert len(workload) == 960
    assert (jobs["submit_s"].min(), jobs["submit_s"].max()) == (1201, 259127)
    assert (jobs["run_s"].min(), jobs["run_s"].median(), jobs["run_s"].max()) == (25, 4261, 8631)
    shares = [round(100 * (jobs["tasks"] == size).sum() / 960) for size in (1, 2, 8, 6, 4, 16)]
    assert shares == [46, 15, 13, 11, 9, 4]
    assert jobs["status"].unique().to_list() == ["partial"]
    assert jobs["partition"].null_count() == 960
    assert sorted(jobs["gpu_type"].unique().to_list()) == ["0", "1"]


@pytest.mark.parametrize("text", ["x", "1,2,3", ",".join("a" * 19), GOOD.replace(",", " "), f"{GOOD},0,0"])
def test_what_is_not_recognized(tmp_path: Path, text: str) -> None:
    assert not rltune.recognizes(open_source(write(tmp_path, text)))
