"""Workloads to SWF: what is read again is the same, and what is lost is named."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import polars as pl

from shunter.model.workload import Workload
from shunter.workloads import read_workload
from shunter.workloads.write import to_swf, write_table

EXTRAS = ("average_cpu_s", "used_memory_mb_per_task", "executable", "preceding_job_id", "think_time_s")


def workload_of(columns: dict[str, list[Any]], cluster_spec: str | None = None) -> Workload:
    count = len(next(iter(columns.values())))
    frame = {"submit_s": [float(row) for row in range(count)], "run_s": [10.0] * count, **columns}
    return Workload.from_frame(pl.DataFrame(frame), name="made up", cluster_spec=cluster_spec)


def rows(text: bytes) -> list[str]:
    return [line for line in text.decode().splitlines() if not line.startswith(";")]


def comments(text: bytes) -> list[str]:
    return [line for line in text.decode().splitlines() if line.startswith(";")]


def read_back(folder: Path, text: bytes) -> Workload:
    path = folder / "again.swf"
    path.write_bytes(text)
    return read_workload(path, strict=True)


def test_five_jobs() -> None:
    """Every field of the format, from a workload that has all of them."""
    workload = workload_of(
        {
            "job_id": [3, 5, 4, 9, 1],
            "submit_s": [0.0, 0.5, 7.0, 7.0, 1e9],
            "run_s": [100.0, 0.1, 1 / 3, 86400.0, 5.0],
            "requested_s": [3600.0, None, 10.5, 1.0, 2.0],
            "tasks": [4, 1, 2, 1000, 1],
            "memory_mb_per_task": [2.0, None, 0.5, 1e-3, 4096.0],
            "user": ["7", None, "8", "7", "0"],
            "group": ["1", "1", "2", None, "3"],
            "queue": ["0", "1", None, "2", "2"],
            "partition": [None, None, "6", "6", "6"],
            "status": ["completed", "failed", "cancelled", "partial", None],
            "logged_wait_s": [None, 12.25, 0.0, 3.0, 4.0],
            "average_cpu_s": [99.5, None, 1.0, 2.0, 3.0],
            "used_memory_mb_per_task": [1.0, None, 0.25, 2.0, 3.0],
            "executable": ["11", None, "12", "11", "12"],
            "preceding_job_id": [None, 3, None, None, 4],
            "think_time_s": [None, 60.0, None, None, 1.5],
        },
        cluster_spec="2048",
    )
    text, lost = to_swf(workload)
    assert text.decode().splitlines() == [
        "; Version: 2.2",
        "; MaxJobs: 5",
        "; MaxRecords: 5",
        "; MaxProcs: 2048",
        "; Note: written by Shunter from made up",
        "3 0 -1 100 4 99.5 1024 4 3600 2048 1 7 1 11 0 -1 -1 -1",
        "5 0.5 12.25 0.1 1 -1 -1 1 -1 -1 0 -1 1 -1 1 -1 3 60",
        "4 7 0 0.3333333333333333 2 1 256 2 10.5 512 5 8 2 12 -1 6 -1 -1",
        "9 7 3 86400 1000 2 2048 1000 1 1.024 2 7 -1 11 2 6 -1 -1",
        "1 1000000000 4 5 1 3 3072 1 2 4194304 -1 0 3 12 2 6 4 1.5",
    ]
    assert lost == []


def test_what_a_generator_makes_comes_back_the_same(tmp_path: Path) -> None:
    workload = read_workload("generate:lublin?seed=42&jobs=500&cores=256&load=0.9")
    text, lost = to_swf(workload)
    again = read_back(tmp_path, text)
    assert lost == []
    assert again.jobs.drop(EXTRAS).equals(workload.jobs)
    assert again.cluster_spec == workload.cluster_spec


def test_numbers_keep_all_their_digits(tmp_path: Path) -> None:
    draw = random.Random(5)
    odd = sorted([5e-324, 1e12, *(math.ldexp(draw.random(), draw.randrange(-60, 39)) for _ in range(2000))])
    run_s = [min(value, 1e9) or 1.0 for value in odd]
    workload = workload_of({"submit_s": odd, "run_s": run_s})
    again = read_back(tmp_path, to_swf(workload)[0])
    assert again.jobs["submit_s"].to_list() == odd
    assert again.jobs["run_s"].to_list() == run_s


def test_names_become_numbers_with_a_table(tmp_path: Path) -> None:
    workload = workload_of(
        {
            "user": ["zoe", "al", "zoe", None],
            "queue": ["7", "long", "7", "7"],
            "group": ["007", "7", None, "7"],
            "partition": ["-4", "-4", "-4", "-4"],
            "executable": ["a\nb", "c", "c", "c"],
        }
    )
    text, lost = to_swf(workload)
    assert comments(text)[4:] == [
        "; User: 1 zoe",
        "; User: 2 al",
        "; Group: 1 007",
        "; Group: 2 7",
        "; Executable: 1 a b",
        "; Executable: 2 c",
        "; Queue: 1 7",
        "; Queue: 2 long",
        "; Partition: 1 -4",
    ]
    again = read_back(tmp_path, text).jobs
    assert again["user"].to_list() == ["1", "2", "1", None]
    assert again["queue"].to_list() == ["1", "2", "1", "1"]
    assert lost == [
        "user: SWF has numbers, and names only in its header (3 jobs)",
        "group: SWF has numbers, and names only in its header (3 jobs)",
        "executable: SWF has numbers, and names only in its header (4 jobs)",
        "queue: SWF has numbers, and names only in its header (4 jobs)",
        "partition: SWF has numbers, and names only in its header (4 jobs)",
    ]


def test_ids_that_are_no_numbers_are_numbered(tmp_path: Path) -> None:
    workload = workload_of({"job_id": ["7[1]", "7[2]", "8"], "preceding_job_id": [None, 7, None]})
    text, lost = to_swf(workload)
    assert read_back(tmp_path, text).jobs["job_id"].to_list() == [1, 2, 3]
    assert lost == [
        "job_id: SWF has whole numbers from 0 on, so jobs are numbered in their order (3 jobs)",
        "preceding_job_id: the jobs have other numbers (1 job)",
    ]
    assert rows(to_swf(workload_of({"job_id": [-5, 2**60]}))[0])[0].startswith("1 ")


def test_tasks_become_processors(tmp_path: Path) -> None:
    workload = workload_of(
        {
            "tasks": [2, 3, 1, 8],
            "cores_per_task": [4.0, 0.5, 1.0, 0.0],
            "memory_mb_per_task": [4096.0, 2.0, 1.0, 1.0],
            "gpus_per_task": [0.0, 0.0, 0.0, 1.0],
        }
    )
    text, lost = to_swf(workload)
    again = read_back(tmp_path, text).jobs
    assert again["tasks"].to_list() == [8, 2, 1, 8]
    assert again["memory_mb_per_task"].to_list() == [1024.0, 3.0, 1.0, 1.0]
    assert lost == [
        "cores_per_task: SWF has no jobs without cores, so each task gets a processor (1 job)",
        "cores_per_task: SWF counts processors, not tasks of several or of parts of a core (2 jobs)",
        "cores_per_task: processors are whole, so they are rounded up (1 job)",
        "gpus_per_task: SWF has no field for GPUs (1 job)",
    ]


def test_what_has_no_field_is_named() -> None:
    workload = workload_of(
        {
            "status": ["timeout", "timeout", "node_fail", "completed"],
            "priority": [1.0, None, None, None],
            "name": ["a", None, "b", None],
            "account": [None, None, None, None],
            "nodes": [1, 1, 1, 1],
            "own": [1, None, None, None],
        }
    )
    text, lost = to_swf(workload)
    assert [line.split()[10] for line in rows(text)] == ["-1", "-1", "-1", "1"]
    assert lost == [
        'status: SWF has no code for "timeout" (2 jobs)',
        'status: SWF has no code for "node_fail" (1 job)',
        "priority: SWF has no field for it (1 job)",
        "name: SWF has no field for it (2 jobs)",
        "nodes: SWF has no field for it (4 jobs)",
        "own: SWF has no field for it (1 job)",
    ]


def test_zeros_that_readers_do_not_keep_are_named() -> None:
    workload = workload_of({"run_s": [0.0, 1.0], "requested_s": [0.0, 0.0], "memory_mb_per_task": [0.0, None]})
    assert to_swf(workload)[1] == [
        "run_s: readers of SWF drop jobs that ran for 0 s (1 job)",
        "requested_s: readers of SWF take 0 as unknown (2 jobs)",
        "memory_mb_per_task: readers of SWF take 0 as unknown (1 job)",
    ]


def test_times_before_zero_are_moved(tmp_path: Path) -> None:
    text, lost = to_swf(workload_of({"submit_s": [-100.5, 0.0, 3.0]}))
    assert read_back(tmp_path, text).jobs["submit_s"].to_list() == [0.0, 100.5, 103.5]
    assert lost == ["submit_s: SWF has no times before 0, so all are 100.5 s later (3 jobs)"]


def test_the_cluster_becomes_its_cores() -> None:
    columns: dict[str, list[Any]] = {"tasks": [1]}
    assert "; MaxProcs: 64" in comments(to_swf(workload_of(columns, "64"))[0])
    text, lost = to_swf(workload_of(columns, "generate:eda?hosts=20&seed=42"))
    assert any(line.startswith("; MaxProcs: ") for line in comments(text))
    assert lost == ["the cluster: SWF has only its cores; give --cluster generate:eda?hosts=20&seed=42"]
    text, lost = to_swf(workload_of(columns, "absent.toml"))
    assert not any("MaxProcs" in line for line in comments(text))
    assert lost == ["the cluster: absent.toml: no such cluster file; check the path"]


def test_a_file_is_written_packed_or_plain(tmp_path: Path) -> None:
    workload = workload_of({"tasks": [1, 2, 3], "name": ["a", "b", None]})
    for name in ("a.swf", "a.swf.gz"):
        assert write_table(workload, tmp_path / name) == ["name: SWF has no field for it (2 jobs)"]
        assert read_workload(tmp_path / name).jobs["tasks"].to_list() == [1, 2, 3]
