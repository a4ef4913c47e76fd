"""Workloads of Batsim: profiles that tell a run time, those that cannot, and what is malformed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shunter.errors import InputError
from shunter.model.workload import Workload
from shunter.workloads import read_workload
from shunter.workloads.formats.batsim import CUT, NO_PROFILE, ON_PLATFORM
from shunter.workloads.text.repairs import UNREADABLE

PROFILES = {
    "ten": {"type": "delay", "delay": 10},
    "new": {"type": "DelayProfile", "delay": 20.25},
    "bad": {"type": "delay", "delay": 5, "ret": 1},
    "twice": {"type": "composed", "repeat": 2, "seq": ["ten", "new"]},
    "flops": {"type": "parallel_homogeneous", "cpu": 1e9, "com": 0},
    "endless": {"type": "parallel_homogeneous", "cpu": 1e22, "com": 0},
    "self": {"type": "composed", "seq": ["self", "ten"]},
    "mixed": {"type": "composed", "seq": ["ten", "flops"]},
    "trace": {"type": "smpi", "trace": "x"},
}


def _job(number: int, profile: str, **others: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    return {"id": f"w0!{number}", "subtime": float(number), "res": 4, "profile": profile, **others}


def _read(tmp_path: Path, jobs: list[Any], *, strict: bool = False, **others: Any) -> Workload:  # noqa: ANN401
    path = tmp_path / "workload.json"
    path.write_text(json.dumps({"nb_res": 16, "jobs": jobs, "profiles": PROFILES, **others}))
    return read_workload(path, strict=strict)


def test_delays(tmp_path: Path) -> None:
    jobs = [_job(1, "ten", walltime=60), _job(2, "new", user="ann"), _job(3, "twice", walltime=-1), _job(4, "bad")]
    workload = _read(tmp_path, jobs, strict=True)
    assert (workload.format, workload.cluster_spec) == ("batsim", "16")
    assert not workload.ledger
    columns = ("job_id", "submit_s", "run_s", "requested_s", "tasks", "cores_per_task", "user", "status")
    assert workload.jobs.select(columns).rows() == [
        ("w0!1", 1.0, 10.0, 60.0, 4, 1.0, None, "completed"),
        ("w0!2", 2.0, 20.25, None, 4, 1.0, "ann", "completed"),
        ("w0!3", 3.0, 60.5, None, 4, 1.0, None, "completed"),
        ("w0!4", 4.0, 5.0, None, 4, 1.0, None, "failed"),
    ]


def test_a_walltime_ends_a_job(tmp_path: Path) -> None:
    """No machine computes 1e22 operations on a resource within a minute, whatever its speed is."""
    workload = _read(tmp_path, [_job(1, "ten", walltime=4), _job(2, "endless", walltime=60)], strict=True)
    assert workload.jobs.select("run_s", "status").rows() == [(4.0, "timeout"), (60.0, "timeout")]
    assert [(entry.rule, entry.count, entry.mistake) for entry in workload.ledger.entries] == [(CUT, 2, False)]


def test_run_times_that_depend_on_the_platform(tmp_path: Path) -> None:
    names = ("flops", "mixed", "self", "trace", "endless")
    jobs = [_job(number, name) for number, name in enumerate(names)]
    workload = _read(tmp_path, [*jobs, _job(9, "ten"), _job(10, "absent")])
    assert workload.jobs["job_id"].to_list() == ["w0!9"]
    assert [(entry.rule, entry.count, entry.example) for entry in workload.ledger.entries] == [
        (ON_PLATFORM, 5, "line 1: job w0!0, profile of type parallel_homogeneous"),
        (NO_PROFILE, 1, "line 1: profile absent"),
    ]
    with pytest.raises(InputError, match="no job is left after repairs: run time depends on the platform"):
        _read(tmp_path, jobs)


@pytest.mark.parametrize(
    "broken",
    [{"id": 5}, {"id": 5, "subtime": 0, "res": 1.5, "profile": "ten"}, {"id": True, "subtime": 0, "res": 1},
     {"id": 5, "subtime": "soon", "res": 1, "profile": "ten"}, {"id": 1, "subtime": 1, "res": 1e300, "profile": "ten"}],
)  # fmt: skip
def test_malformed_jobs_are_skipped(tmp_path: Path, broken: dict[str, Any]) -> None:
    workload = _read(tmp_path, [_job(1, "ten"), broken])
    assert [(entry.rule, entry.count) for entry in workload.ledger.entries] == [(UNREADABLE, 1)]
    with pytest.raises(InputError, match=r"workload\.json:1: job .* has no id, no subtime, or no whole number as res"):
        _read(tmp_path, [_job(1, "ten"), broken], strict=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"nb_res": 4, "jobs": [{"id": 1, "subtime": 0, "res": 1}]}', 'the outer object has no "profiles"'),
        ('{"nb_res": 4, "profiles": {}}', 'the outer object has no "jobs"'),
        ('{"nb_res": 4, "profiles": {"a": {"type"', "is no JSON"),
        ('{"nb_res": 4, "profiles": {}, "jobs": [1]}', "expected an object for each job"),
    ],
)
def test_files_that_are_no_workload(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "workload.json"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_workload(path)


def test_the_number_of_resources_may_stand_behind_the_jobs(tmp_path: Path) -> None:
    path = tmp_path / "workload.json"
    jobs = [_job(number, "ten") for number in range(5000)]
    path.write_text(json.dumps({"jobs": jobs, "nb_res": 32, "profiles": PROFILES}, indent=1))
    assert read_workload(path).cluster_spec == "32"
    (tmp_path / "other.json").write_text(json.dumps({"jobs": jobs[:1], "nb_res": 8, "profiles": PROFILES}))
    both = read_workload([path, tmp_path / "other.json"])
    assert both.cluster_spec is None
    assert both.cluster_note == "its files tell of machines of different sizes (nb_res 8, 32)"


def test_sequences_of_sequences_end(tmp_path: Path) -> None:
    """Each holds the next one twice: counted one by one, there would be a million parts."""
    chain = {f"s{number}": {"type": "composed", "seq": [f"s{number + 1}"] * 2} for number in range(20)}
    profiles = {**chain, "s20": {"type": "delay", "delay": 1}}
    workload = _read(tmp_path, [_job(1, "s0")], profiles=profiles)
    assert workload.jobs["run_s"].to_list() == [2.0**20]
    deep = {f"s{number}": {"type": "composed", "seq": [f"s{number + 1}"]} for number in range(3000)}
    with pytest.raises(InputError, match="run time depends on the platform"):
        _read(tmp_path, [_job(1, "s0")], profiles=deep)
