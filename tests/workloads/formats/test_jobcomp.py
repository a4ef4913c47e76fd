"""Slurm's job completion log: five jobs, repairs and refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.model.workload import Workload
from shunter.workloads import read_workload
from shunter.workloads.formats import jobcomp
from shunter.workloads.text.source import open_source

NOON = 1_709_294_400.0
"""2024-03-01T12:00:00 UTC."""


def line(job_id: str = "9", **values: str) -> str:
    """Returns a good line, with some values replaced; keys that are not in the format's are added at the end."""
    pairs = {
        "JobId": job_id,
        "UserId": "ada(1000)",
        "GroupId": "math(2000)",
        "Name": "solve",
        "JobState": "COMPLETED",
        "Partition": "short",
        "TimeLimit": "60",
        "StartTime": "2024-03-01T12:01:00",
        "EndTime": "2024-03-01T12:11:00",
        "NodeList": "n[1-2]",
        "NodeCnt": "2",
        "ProcCnt": "8",
        "WorkDir": "/home/ada/a b",
        "ReservationName": "",
        "Tres": "cpu=8,mem=8000M,node=2,billing=8",
        "Account": "numbers",
        "QOS": "normal",
        "WcKey": "",
        "Cluster": "unknown",
        "SubmitTime": "2024-03-01T12:00:00",
        "EligibleTime": "2024-03-01T12:00:00",
        "DerivedExitCode": "0:0",
        "ExitCode": "0:0",
    }
    return " ".join(f"{key}={value}" for key, value in {**pairs, **values}.items()) + " \n"


FIVE_JOBS = (
    line("1", SubmitTime="2024-03-01T12:00:30")
    + line(
        "8",
        ArrayJobId="2",
        ArrayTaskId="7",
        Name="a name JobState=FAILED Partition=x",
        JobState="CANCELLED",
        TimeLimit="UNLIMITED",
        NodeCnt="1",
        ProcCnt="6",
        Tres="cpu=6,mem=18000M,node=1,gres/gpu:a100=2",
        UserId="(1001)",
    )
    + "\n# a comment\n"
    + line("3", NodeCnt="2", ProcCnt="5", Tres="", Account="", QOS="", TimeLimit="Partition_Limit", JobState="TIMEOUT")
    + line("4", ProcCnt="7", Tres="(null)", Gres="gpu:v100:3", Account="(null)", JobState="NODE_FAIL", Name="")
    + line("5", NodeCnt="0", ProcCnt="0", Tres="cpu=1,mem=512M,node=1", TimeLimit="1", GroupId="bio(7)")
)
EXPECTED = {
    "job_id": ["2_7", "3", "4", "5", "1"],
    "submit_s": [NOON] * 4 + [NOON + 30],
    "run_s": [600.0] * 5,
    "requested_s": [None, None, 3_600.0, 60.0, 3_600.0],
    "tasks": [1, 5, 3, 1, 2],
    "cores_per_task": [6.0, 1.0, 7 / 3, 1.0, 4.0],
    "memory_mb_per_task": [18_000.0, None, None, 512.0, 4_000.0],
    "gpus_per_task": [2.0, 0.0, 1.0, 0.0, 0.0],
    "user": ["1001", "ada", "ada", "ada", "ada"],
    "group": ["math", "math", "math", "bio", "math"],
    "queue": [None] * 5,
    "partition": ["short"] * 5,
    "status": ["cancelled", "timeout", "node_fail", "completed", "completed"],
    "priority": [None] * 5,
    "logged_wait_s": [60.0] * 4 + [30.0],
    "name": ["a name JobState=FAILED Partition=x", "solve", None, "solve", "solve"],
    "account": ["numbers", None, None, "numbers", "numbers"],
    "qos": ["normal", None, "normal", "normal", "normal"],
    "nodes": [1, 2, 2, 1, 2],
    "hosts": ["n[1-2]"] * 5,
    "gpu_type": ["a100", None, "v100", None, None],
}


def read(folder: Path, text: str, *, strict: bool = False) -> Workload:
    path = folder / "jobcomp.log"
    path.write_text(text)
    return read_workload(path, strict=strict)


def test_five_jobs(tmp_path: Path) -> None:
    """The log is in the order of the ends, which is no mistake."""
    workload = read(tmp_path, FIVE_JOBS, strict=True)
    assert workload.format == "jobcomp"
    assert workload.jobs.to_dict(as_series=False) == EXPECTED
    assert not workload.ledger
    assert "scontrol show node" in (workload.cluster_note or "")


@pytest.mark.parametrize(
    ("odd", "rule", "is_dropped"),
    [
        (line(StartTime="Unknown"), "never started", True),
        (line(EndTime="2024-03-01T12:01:00", NodeList="(null)", NodeCnt="0"), "never started", True),
        (line(EndTime="Unknown"), "still running: run time unknown", True),
        (line(JobState="RUNNING"), "still running: run time unknown", True),
        (line(EndTime="2024-03-01T12:01:00"), "run time 0 s", True),
        (line(EndTime="2024-03-01T12:00:59"), "run time negative", True),
        (line(SubmitTime="Unknown"), "submit time unknown", True),
        (line(ProcCnt="0", Tres=""), "size unknown", True),
        (line(SubmitTime="today"), "not readable: line skipped", True),
        ("JobId=9 UserId=ada(1000)\n", "not readable: line skipped", True),
        ("what is this\n", "not readable: line skipped", True),
        (line(ProcCnt="many"), "proccnt not readable: taken as unknown", False),
        (line(NodeCnt="many"), "nodecnt not readable: taken as unknown", False),
        (line(TimeLimit="long"), "timelimit not readable: taken as unknown", False),
        (line(Tres="cpu"), "tres not readable: taken as unknown", False),
        (line("1"), "id missing or that of an earlier job", False),
    ],
)
def test_every_repair(tmp_path: Path, odd: str, rule: str, is_dropped: bool) -> None:
    workload = read(tmp_path, line("1") + odd)
    (entry,) = workload.ledger.entries
    assert entry.rule.startswith(rule)
    assert entry.count == 1
    assert entry.example.split(": ")[0].endswith("2")
    assert len(workload) == (1 if is_dropped else 2)
    with pytest.raises(InputError, match=rule):
        read(tmp_path, line("1") + odd, strict=True)


def test_a_log_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text("what is this\n")
    with pytest.raises(InputError, match="1 of 1 lines are not readable, the first at"):
        read_workload(path, format="jobcomp")


@pytest.mark.parametrize(
    "text",
    [
        "JobId=5 JobName=a\n   JobState=RUNNING StartTime=2024-03-01T12:01:00 NumCPUs=8\n",
        "JobId=5\n",
        "NodeName=a CPUTot=5\n",
        "\n",
    ],
)
def test_what_is_not_recognized(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a"
    path.write_text(text + "x")
    assert not jobcomp.recognizes(open_source(path))
