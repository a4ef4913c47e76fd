"""Slurm's ``sacct --json``: five jobs as different versions write them, repairs and refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shunter.errors import InputError
from shunter.model.workload import Workload
from shunter.workloads import read_workload
from shunter.workloads.formats import sacct_json
from shunter.workloads.text.source import open_source

Job = dict[str, Any]


def number(value: int | None, *, infinite: bool = False) -> Job:
    """Returns a number as newer versions write it."""
    return {"set": value is not None, "infinite": infinite, "number": value or 0}


def tres(**amounts: int) -> list[Job]:
    """Returns a list of trackable resources; ``gpu_a100`` is the type ``gres`` with the name ``gpu:a100``."""
    parts = {key: ("gres", key.replace("_", ":")) if key.startswith("gpu") else (key, "") for key in amounts}
    return [{"type": parts[key][0], "name": parts[key][1], "id": 1, "count": count} for key, count in amounts.items()]


def job(job_id: int, **values: object) -> Job:
    """Returns a good job of version 22.05, with some values replaced; ``time`` is only added to."""
    whole: Job = {
        "account": "numbers",
        "allocation_nodes": 2,
        "array": {"job_id": 0, "task": None, "task_id": None},
        "association": {"account": "numbers", "cluster": "c", "partition": None, "user": "ada"},
        "time": {"elapsed": 60, "eligible": 100, "end": 170, "start": 110, "submission": 100, "limit": 30},
        "group": "math",
        "het": {"job_id": 0, "job_offset": None},
        "job_id": job_id,
        "name": "solve",
        "nodes": "n[1-2]",
        "partition": "short",
        "priority": 1200,
        "qos": "normal",
        "required": {"CPUs": 8, "memory": 4000},
        "state": {"current": "COMPLETED", "reason": "None"},
        "steps": [],
        "tres": {"allocated": tres(cpu=8, mem=8000, node=2, billing=8), "requested": tres(cpu=8, mem=8000, node=2)},
        "user": "ada",
    }
    times = values.pop("time", {})
    assert isinstance(times, dict)
    return {**whole, **values, "time": {**whole["time"], **times}}


def step(used: int | None) -> Job:
    """Returns a step of which a task used some bytes."""
    return {"tres": {"requested": {"max": [{"type": "cpu", "count": 9}, {"type": "mem", "count": used}]}}}


FIVE_JOBS = [
    job(1, steps=[step(2**20), step(3 * 2**20), step(None)]),
    job(
        3,
        array={"job_id": 2, "task_id": number(7), "task": ""},
        state={"current": ["CANCELLED"], "reason": "None"},
        time={"limit": number(None, infinite=True), "submission": 101},
        priority=number(900),
        tres={"allocated": tres(cpu=6, mem=18000, node=1, gpu=2, gpu_a100=2), "requested": tres(cpu=3, mem=12000)},
        allocation_nodes=1,
        user="",
    ),
    job(
        4,
        array={"job_id": 0, "task_id": number(None), "task": ""},
        het={"job_id": 4, "job_offset": number(0)},
        state="TIMEOUT",
        time={"limit": 4_294_967_295, "submission": 102},
        tres={"allocated": [], "requested": tres(cpu=5)},
        required={"CPUs": 5, "memory": (1 << 63) + 3072},
        priority=number(None),
        group="",
    ),
    job(
        5,
        het={"job_id": 4, "job_offset": number(1)},
        state=["NODE_FAIL", "REQUEUED"],
        time={"limit": number(90), "submission": 103, "elapsed": None},
        tres={"allocated": tres(cpu=7, gpu_a100=1, gpu_v100=2)},
        required={"CPUs": 7, "memory_per_cpu": number(None), "memory_per_node": number(10_500)},
        account="",
    ),
    job(
        10,
        time={"limit": None, "submission": 104},
        tres=None,
        required={"CPUs": 1, "memory_per_cpu": number(512), "memory_per_node": number(None)},
        allocation_nodes=1,
        association=None,
        qos=None,
        partition="long",
        name="é",
    ),
]
EXPECTED = {
    "job_id": ["1", "2_7", "4+0", "4+1", "10"],
    "submit_s": [100.0, 101.0, 102.0, 103.0, 104.0],
    "run_s": [60.0] * 5,
    "requested_s": [1_800.0, None, None, 5_400.0, None],
    "tasks": [2, 1, 5, 3, 1],
    "cores_per_task": [4.0, 6.0, 1.0, 7 / 3, 1.0],
    "memory_mb_per_task": [4_000.0, 12_000.0, 3_072.0, 7_000.0, 512.0],
    "gpus_per_task": [0.0, 2.0, 0.0, 1.0, 0.0],
    "user": ["ada"] * 5,
    "group": ["math", "math", None, "math", "math"],
    "queue": [None] * 5,
    "partition": ["short", "short", "short", "short", "long"],
    "status": ["completed", "cancelled", "timeout", "node_fail", "completed"],
    "priority": [1_200.0, 900.0, None, 1_200.0, 1_200.0],
    "logged_wait_s": [10.0, 9.0, 8.0, 7.0, 6.0],
    "used_memory_mb_per_task": [3.0, None, None, None, None],
    "name": ["solve", "solve", "solve", "solve", "é"],
    "account": ["numbers"] * 5,
    "qos": ["normal", "normal", "normal", "normal", None],
    "nodes": [2, 1, 2, 2, 1],
    "hosts": ["n[1-2]"] * 5,
    "gpu_type": [None, "a100", None, None, None],
}


def read(folder: Path, jobs: list[Job], *, strict: bool = False) -> Workload:
    path = folder / "jobs.json"
    path.write_text(json.dumps({"meta": {}, "errors": [], "jobs": jobs}, indent=1))
    return read_workload(path, strict=strict)


def test_five_jobs(tmp_path: Path) -> None:
    workload = read(tmp_path, FIVE_JOBS, strict=True)
    assert workload.format == "sacct-json"
    assert workload.jobs.to_dict(as_series=False) == EXPECTED
    assert not workload.ledger
    assert "scontrol show node" in (workload.cluster_note or "")


def test_the_list_may_stand_before_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps({"jobs": FIVE_JOBS, "meta": {"plugin": {}}, "warnings": []}))
    assert read_workload(path).jobs.to_dict(as_series=False) == EXPECTED


@pytest.mark.parametrize(
    ("odd", "rule", "is_dropped"),
    [
        (job(2, time={"start": 0, "elapsed": 0, "end": 0}, state={"current": "CANCELLED"}), "never started", True),
        (job(2, time={"elapsed": 0}, nodes="None assigned"), "never started", True),
        (job(2, time={"end": 0}), "still running: run time unknown", True),
        (job(2, state={"current": ["RUNNING"]}), "still running: run time unknown", True),
        (job(2, time={"elapsed": 0}), "run time 0 s", True),
        (job(2, time={"elapsed": None, "start": None}), "run time unknown", True),
        (job(2, required={}, tres={}), "size unknown", True),
        (job(2, priority="high"), "value of another kind than sacct writes: taken as unknown", False),
        (job(2, state={"current": 5}), "value of another kind than sacct writes: taken as unknown", False),
        (job(2, name=["a"]), "value of another kind than sacct writes: taken as unknown", False),
        (job(2, allocation_nodes=10**300), "value of another kind than sacct writes: taken as unknown", False),
    ],
)
def test_every_repair(tmp_path: Path, odd: Job, rule: str, is_dropped: bool) -> None:
    workload = read(tmp_path, [job(1), odd])
    (entry,) = workload.ledger.entries
    assert entry.rule.startswith(rule)
    assert entry.count == 1
    assert len(workload) == (1 if is_dropped else 2)
    with pytest.raises(InputError, match=rule):
        read(tmp_path, [job(1), odd], strict=True)


def test_whatever_stands_in_a_job_is_no_crash(tmp_path: Path) -> None:
    """Values of other kinds, in every place, one in each job."""
    values: tuple[object, ...] = (None, [], {}, "\ud800", 5, -1.5, True, [[1]], {"a": []}, [{"type": 5, "count": {}}])
    odd = [{**job(2), key: value} for key in job(1) for value in values]
    workload = read(tmp_path, [job(1), *odd])
    assert workload.jobs["job_id"][0] == "1"
    assert 2 * len(workload) > len(odd)


def test_refusals(tmp_path: Path) -> None:
    path = tmp_path / "jobs.json"
    whole = json.dumps({"meta": {}, "jobs": FIVE_JOBS})
    path.write_text(whole[:-200])
    with pytest.raises(InputError, match=r"jobs\.json:1: is no JSON"):
        read_workload(path)
    path.write_text(json.dumps({"jobs": [5]}))
    with pytest.raises(InputError, match="expected an object for each job"):
        read_workload(path, format="sacct-json")
    path.write_text('{"meta": {}}')
    with pytest.raises(InputError, match='the outer object has no "jobs"'):
        read_workload(path, format="sacct-json")


@pytest.mark.parametrize(
    "text",
    [
        '{"jobs": [{"job_id": 5, "submit_time": 7, "association_id": 9}]}',
        '{"jobs": []}',
        '{"COMMAND": "bjobs", "JOBS": 1, "RECORDS": []}',
        '[{"submission": 5, "association": {}}]',
        '{"statistics": {}}',
        "{",
        "jobs",
    ],
)
def test_what_is_not_recognized(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a"
    path.write_text(text)
    assert not sacct_json.recognizes(open_source(path))
