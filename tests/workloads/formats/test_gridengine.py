"""Accounting of Grid Engine: fields and their colons, units, requests, what is dropped, and the real samples."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.model.workload import Workload
from shunter.workloads import read_workload
from shunter.workloads.formats.gridengine import PART, parse_category, recognizes
from shunter.workloads.text.records import NEVER_STARTED, ODD
from shunter.workloads.text.repairs import UNREADABLE
from shunter.workloads.text.source import open_source

HEADER = "# Version: 8.1.9\n#\n# DO NOT MODIFY THIS FILE MANUALLY!\n"


def record(
    *,
    name: str = "run",
    number: str = "100",
    times: str = "1600000000:1600000060:1600003660",
    failed: str = "0:0",
    parallel: str = "NONE:1:0",
    category: str = "-l h_rt=7200,mem_free=2G",
    part: str = "NONE",
    rest: str = "",
) -> str:
    """Returns a record with 45 fields and what is added."""
    usage = ":".join(["3600", "10.5", "0.5", *["0"] * 15])
    return (
        f"all.q:node1:staff:ann:{name}:{number}:sge:5:{times}:{failed}:{usage}:physics:defaultdepartment:{parallel}:"
        f"3500.0:7.3:0.1:{category}:0.000000:{part}:2097152.000000:0:0{rest}"
    )


def _read(tmp_path: Path, *lines: str, strict: bool = False) -> Workload:
    path = tmp_path / "accounting"
    path.write_text(HEADER + "\n".join(lines) + "\n")
    return read_workload(path, strict=strict)


def test_a_serial_job(tmp_path: Path) -> None:
    workload = _read(tmp_path, record(), strict=True)
    assert workload.format == "gridengine"
    assert not workload.ledger
    job = workload.jobs.row(0, named=True)
    expected = {
        "job_id": 100,
        "submit_s": 1_600_000_000.0,
        "logged_wait_s": 60.0,
        "run_s": 3600.0,
        "requested_s": 7200.0,
        "tasks": 1,
        "cores_per_task": 1.0,
        "memory_mb_per_task": 2048.0,
        "gpus_per_task": 0.0,
        "average_cpu_s": 3500.0,
        "used_memory_mb_per_task": 2.0,
        "user": "ann",
        "group": "staff",
        "queue": "all.q",
        "account": "physics",
        "name": "run",
        "priority": 5.0,
        "status": "completed",
        "nodes": 1,
        "hosts": "node1*1",
    }
    assert {name: job[name] for name in expected} == expected


def test_milliseconds_of_univa(tmp_path: Path) -> None:
    line = record(times="1600000000250:1600000060250:1600003660500", rest=":NONE:NONE:5:5:login:/home:qsub a b:1.5")
    job = _read(tmp_path, line).jobs.row(0, named=True)
    assert (job["submit_s"], job["logged_wait_s"], job["run_s"]) == (1_600_000_000.25, 60.0, 3600.25)


@pytest.mark.parametrize(
    ("parallel", "category", "shape"),
    [
        ("mpi:24:0", "-l mem_free=1G -pe mpi 24", (24, 1.0, 1024.0, 0.0, None, None)),
        ("smp:16:0", "-l m_mem_free=1G -pe smp 16", (1, 16.0, 16_384.0, 0.0, 1, "node1*16")),
        ("threads:8:0", "-l gpu=2,h_vmem=500M", (1, 8.0, 4000.0, 2.0, 1, "node1*8")),
        ("mpi:8:0", "-l gpu=2", (2, 4.0, None, 1.0, None, None)),
    ],
)
def test_parallel_environments(tmp_path: Path, parallel: str, category: str, shape: tuple[object, ...]) -> None:
    workload = _read(tmp_path, record(parallel=parallel, category=category))
    columns = ("tasks", "cores_per_task", "memory_mb_per_task", "gpus_per_task", "nodes", "hosts")
    assert workload.jobs.select(columns).row(0) == shape


def test_tasks_of_an_array_share_a_number(tmp_path: Path) -> None:
    lines = [record(parallel=f"NONE:1:{task}") for task in (1, 2, 3)]
    workload = _read(tmp_path, *lines, record(parallel="NONE:1:2"))
    assert workload.jobs["job_id"].to_list() == ["100.1", "100.2", "100.3", "100.2#2"]


def test_colons_in_a_name_and_in_a_request(tmp_path: Path) -> None:
    line = record(name="a:1:b", category="-l h_rt=24:00:00,mem_free=4G -q all.q:x", rest=":more:fields")
    job = _read(tmp_path, line, strict=True).jobs.row(0, named=True)
    assert (job["name"], job["requested_s"], job["memory_mb_per_task"]) == ("a:1:b", 86_400.0, 4096.0)


@pytest.mark.parametrize(
    ("failed", "rest", "status"),
    [
        ("0:0", "", "completed"),
        ("0:1", "", "failed"),
        ("100:137", "", "failed"),
        ("100:137", ":NONE:ann@login", "cancelled"),
        ("37:137", "", "timeout"),
        ("25:0", "", "preempted"),
    ],
)
def test_how_a_job_ended(tmp_path: Path, failed: str, rest: str, status: str) -> None:
    assert _read(tmp_path, record(failed=failed, rest=rest)).jobs["status"].to_list() == [status]


def test_a_job_that_was_killed_at_its_limit(tmp_path: Path) -> None:
    line = record(failed="100:137", category="-l h_rt=3600")
    assert _read(tmp_path, line).jobs["status"].to_list() == ["timeout"]


def test_what_is_dropped_and_folded(tmp_path: Path) -> None:
    workload = _read(
        tmp_path,
        record(),
        record(number="101", times="1600000000:0:0", failed="1:0"),
        record(part="1.node2"),
        "all.q:node1:staff",
        record(number="102", parallel="NONE:some:0"),
        record(number="103"),
    )
    assert workload.jobs["job_id"].to_list() == [100, 103]
    ledger = {entry.rule: (entry.count, entry.example, entry.mistake) for entry in workload.ledger.entries}
    assert ledger == {
        PART: (1, "line 6: part 1.node2 of job 100", False),
        UNREADABLE: (2, "line 7: 'all.q:node1:staff' is not a record of Grid Engine", True),
        NEVER_STARTED: (1, "line 5: job_id 101", True),
    }
    with pytest.raises(InputError, match=r"accounting:5: 'x' is not a record of Grid Engine"):
        _read(tmp_path, record(), "x", strict=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", (None, None, 0.0)),
        ("NONE", (None, None, 0.0)),
        ("-U a -l s_rt=60,gpus=1", (60.0, None, 1.0)),
        ("-l mem_free=1.000T,s_vmem=1.024t", (None, 1_048_576.0, 0.0)),
        ("-l h_vmem=1g", (None, 1e9 / 2**20, 0.0)),
        ("-l h_rt=INFINITY", (None, None, 0.0)),
        ("-q gpu -l gpu=1 -l h_rt=60 -pe gpu 4", (60.0, None, 1.0)),
        ("-l gpu_type=v100", (None, None, 0.0)),
    ],
)
def test_requests(text: str, expected: tuple[float | None, ...]) -> None:
    request = parse_category(text)
    assert request[:3] == pytest.approx(expected)
    assert request.odd is None


@pytest.mark.parametrize("what", ["h_rt=soon", "mem_free=much", "gpu=x"])
def test_amounts_that_cannot_be_read_are_counted(tmp_path: Path, what: str) -> None:
    (entry,) = _read(tmp_path, record(category=f"-l {what}")).ledger.entries
    assert (entry.rule, entry.count, entry.example) == (ODD, 1, f"line 4: {what.replace('=', ' ')}")


def test_a_record_of_univa_with_all_that_it_adds(tmp_path: Path) -> None:
    """Times in milliseconds, a request with switches that say nothing of a size, and fields behind the 45th."""
    category = "-U guests -q gpu.q -l gpu=2,m_mem_free=500M -pe threads 8 -binding no_job_binding 0 0 0 0 no_explicit"
    line = record(
        number="4242",
        times="1600000000123:1600000060623:1600000100873",
        parallel="threads:8:0",
        category=category,
        rest=":NONE:NONE:4096:8192:login1:/home/ann:qsub job.sh:40.5:12:NONE:1,2:NONE:0:0.0:NONE:gpu=2:gpu.q",
    )
    job = _read(tmp_path, line, strict=True).jobs.row(0, named=True)
    assert (job["logged_wait_s"], job["run_s"], job["status"]) == (60.5, 40.25, "completed")
    assert (job["tasks"], job["cores_per_task"], job["gpus_per_task"]) == (1, 8.0, 2.0)
    assert job["memory_mb_per_task"] == 4000.0


@pytest.mark.parametrize("text", ["a:b:c", ":".join(["x"] * 45), ":".join(["1"] * 20)])
def test_what_is_not_recognized(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a"
    path.write_text(text)
    assert not recognizes(open_source(path))
