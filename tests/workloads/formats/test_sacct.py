"""Slurm's ``sacct --parsable2``: five jobs in each layout, each way to write a cell, and steps."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from shunter.model.workload import Workload
from shunter.workloads import read_workload
from shunter.workloads.formats.sacct import STEP_RULE
from shunter.workloads.text.source import BLOCK_BYTES

NOON = 1_709_294_400.0
"""2024-03-01T12:00:00 UTC."""

HEADER = (
    "JobID|User|Group|Account|QOS|Partition|State|Submit|Start|End|Elapsed|Timelimit|NNodes|NCPUS|ReqMem|AllocTRES|"
    "Priority|NodeList|JobName\n"
)
FIVE_JOBS = (
    HEADER
    + """\
101|ada|math|numbers|normal|short|COMPLETED|2024-03-01T12:00:00|2024-03-01T12:01:00|2024-03-01T12:11:00|00:10:00|01:00:00|2|8|4000Mn|billing=8,cpu=8,mem=8000M,node=2|1200|n[01-02]|solve
102_7|bob|phys|atoms|high|gpu|CANCELLED by 1234|2024-03-01T12:00:30|2024-03-01T12:00:30|2024-03-02T13:00:35|\
1-01:00:05|Partition_Limit|1|6|2147486648Mn|cpu=6,gres/gpu:A100=2,gres/gpu=2,mem=18000M,node=1|900|g1|train|a|b

103+0|ada|math|numbers|normal|short|TIMEOUT|2024-03-01T12:00:40|2024-03-01T13:00:40|2024-03-01T13:01:45|01:05|UNLIMITED|2|5|3Gc||0|n[01,03]|odd
# a comment
103+1|ada|||||NODE_FAIL|2024-03-01T12:00:40|2024-03-01T13:00:40|2024-03-01T14:00:40|01:00:00|10-00:00:00|2|7|0|cpu=7,gres/gpu:a100=1,gres/gpu:v100=2,mem=21G,node=2||n[04-05]|
110|eve|bio|cells|low|long|OUT_OF_MEMORY|2024-03-01T12:05:00|2024-03-01T12:05:10|2024-03-01T12:05:11|00:00:01|30:00|1|1|62.50G|cpu=1,mem=62.50G,node=1|1|n09|é
"""
)
EXPECTED = {
    "job_id": ["101", "102_7", "103+0", "103+1", "110"],
    "submit_s": [NOON, NOON + 30, NOON + 40, NOON + 40, NOON + 300],
    "run_s": [600.0, 90_005.0, 65.0, 3_600.0, 1.0],
    "requested_s": [3_600.0, None, None, 864_000.0, 1_800.0],
    "tasks": [2, 1, 5, 3, 1],
    "cores_per_task": [4.0, 6.0, 1.0, 7 / 3, 1.0],
    "memory_mb_per_task": [4_000.0, 18_000.0, 3_072.0, 7_168.0, 64_000.0],
    "gpus_per_task": [0.0, 2.0, 0.0, 1.0, 0.0],
    "user": ["ada", "bob", "ada", "ada", "eve"],
    "group": ["math", "phys", "math", None, "bio"],
    "queue": [None] * 5,
    "partition": ["short", "gpu", "short", None, "long"],
    "status": ["completed", "cancelled", "timeout", "node_fail", "out_of_memory"],
    "priority": [1_200.0, 900.0, 0.0, None, 1.0],
    "logged_wait_s": [60.0, 0.0, 3_600.0, 3_600.0, 10.0],
    "name": ["solve", "train|a|b", "odd", None, "é"],
    "account": ["numbers", "atoms", "numbers", None, "cells"],
    "qos": ["normal", "high", "normal", None, "low"],
    "nodes": [2, 1, 2, 2, 1],
    "hosts": ["n[01-02]", "g1", "n[01,03]", "n[04-05]", "n09"],
    "gpu_type": [None, "a100", None, None, None],
}

XDMOD = """\
7|7|cl|debug|normal|acc|grp|20|ada|10|2024-03-01T12:00:00|2024-03-01T12:00:00|2024-03-01T12:00:05|2024-03-01T12:00:15|00:00:10|0:0|COMPLETED|1|8|8|3000Mc|cpu=8|cpu=8,mem=24000M,node=1|02:00:00|a1|one
8_1|9|cl|debug|normal|acc|grp|20|ada|10|2024-03-01T12:00:00|2024-03-01T12:00:00|2024-03-01T12:00:10|2024-03-01T12:00:30|00:00:20|1:0|FAILED|2|8|4|8000Mn|cpu=8,gres/gpu=4,node=2||1-00:00:00|a[1-2]|two|bars||
8_2|10|cl|debug|normal|acc|grp|20|bob|11|2024-03-01T12:00:01|2024-03-01T12:00:01|2024-03-01T12:00:01|2024-03-01T12:00:02|00:00:01|0:0|PREEMPTED|1|1|1|500Mn|||00:10:00|a1|three
12|12|cl||normal|acc|grp|20||12|2024-03-01T12:00:02|Unknown|2024-03-01T12:00:03|2024-03-01T12:00:04|00:00:01|0:0|REQUEUED|0|0|2|0n|||UNLIMITED|a1|four
13|13|cl|debug|normal|acc||20|bob|11|2024-03-01T12:00:03|Unknown|2024-03-01T12:00:03|2024-03-01T12:01:03|00:01:00|0:0|FOO|3|9|9|1T|cpu=9,node=3|cpu=9,mem=1T,node=3|Partition_Limit|b[1-3]|five
"""
XDMOD_EXPECTED = {
    "job_id": ["7", "8_1", "8_2", "12", "13"],
    "submit_s": [NOON, NOON, NOON + 1, NOON + 2, NOON + 3],
    "run_s": [10.0, 20.0, 1.0, 1.0, 60.0],
    "requested_s": [7_200.0, 86_400.0, 600.0, None, None],
    "tasks": [1, 2, 1, 2, 3],
    "cores_per_task": [8.0, 4.0, 1.0, 1.0, 3.0],
    "memory_mb_per_task": [24_000.0, 8_000.0, 500.0, None, 1_048_576 / 3],
    "gpus_per_task": [0.0, 2.0, 0.0, 0.0, 0.0],
    "user": ["ada", "ada", "bob", "12", "bob"],
    "group": ["grp", "grp", "grp", "grp", "20"],
    "queue": [None] * 5,
    "partition": ["debug", "debug", "debug", None, "debug"],
    "status": ["completed", "failed", "preempted", "requeued", "foo"],
    "priority": [None] * 5,
    "logged_wait_s": [5.0, 10.0, 0.0, 1.0, 0.0],
    "name": ["one", "two|bars||", "three", "four", "five"],
    "account": ["acc"] * 5,
    "qos": ["normal"] * 5,
    "nodes": [1, 2, 1, None, 3],
    "hosts": ["a1", "a[1-2]", "a1", "a1", "b[1-3]"],
    "gpu_type": [None] * 5,
}

COST_SIMULATOR = """\

# One that an older version has printed
COMPLETED|21|4|2G|2|c7|2024-03-01T12:00:00|2024-03-01T12:00:00|2024-03-01T12:00:05|00:01:00|00:00:00|2024-03-01T12:01:05|0:0|0:0|2|4||||||00:04:00|00:00:00|00:00:00|00:00:00
COMPLETED|21.batch|2||1||2024-03-01T12:00:05|2024-03-01T12:00:05|2024-03-01T12:00:05|00:01:00|00:00:00|2024-03-01T12:01:05|0:0||1|2|0.1M|0|5|2048K|9K|00:02:00|00:00:00|00:00:00|00:00:00
COMPLETED|21.0|4||2||2024-03-01T12:00:05|2024-03-01T12:00:05|2024-03-01T12:00:05|00:01:00|00:00:00|2024-03-01T12:01:05|0:0||2|4|0.1M|0|5|1.5G|9K|00:04:00|00:00:00|00:00:00|00:00:00
FAILED|22_0|1|100Mc|1||2024-03-01T12:00:01|2024-03-01T12:00:01|2024-03-01T12:00:01|00:00:30|00:00:00|2024-03-01T12:00:31|1:0|0:0|1|2||||||00:01:00|00:00:00|00:00:00|00:00:00|spot
FAILED|22_0.extern|1||1||2024-03-01T12:00:01|2024-03-01T12:00:01|2024-03-01T12:00:01|00:00:30|00:00:00|2024-03-01T12:00:31|1:0||1|2|0|0|0|512K|9K|00:01:00|00:00:00|00:00:00|00:00:00|
CANCELLED by 5|22_1|1|0n|1|a|b|c|2024-03-01T12:00:02|2024-03-01T12:00:02|2024-03-01T12:00:02|\
2-00:00:00|00:00:00|2024-03-03T12:00:02|0:0|0:0|1|1||||||00:00:30|00:00:00|00:00:00|00:00:00|spot
COMPLETED|23|3|3T|1||2024-03-01T12:00:03|2024-03-01T12:00:03|2024-03-01T12:00:04|00:00:30|00:00:00|2024-03-01T12:00:34|0:0|0:0|2|3||||||00:00:30|00:00:00|00:00:00|00:00:00|big
SUSPENDED|24|1||1||2024-03-01T12:00:04|2024-03-01T12:00:04|2024-03-01T12:00:04|00:00:30|00:00:00|2024-03-01T12:00:34|0:0|0:0|1|1||||||00:00:30|00:00:00|00:00:00|00:00:00|big
"""
COST_SIMULATOR_EXPECTED = {
    "job_id": ["21", "22_0", "22_1", "23"],
    "submit_s": [NOON, NOON + 1, NOON + 2, NOON + 3],
    "run_s": [60.0, 30.0, 172_800.0, 30.0],
    "requested_s": [None] * 4,
    "tasks": [2, 1, 1, 3],
    "cores_per_task": [2.0, 2.0, 1.0, 1.0],
    "memory_mb_per_task": [1_024.0, 200.0, None, 1_048_576.0],
    "gpus_per_task": [0.0] * 4,
    "user": [None] * 4,
    "group": [None] * 4,
    "queue": [None] * 4,
    "partition": [None, "spot", "spot", "big"],
    "status": ["completed", "failed", "cancelled", "completed"],
    "priority": [None] * 4,
    "logged_wait_s": [5.0, 0.0, 0.0, 1.0],
    "used_memory_mb_per_task": [1_536.0, 0.5, None, None],
    "nodes": [2, 1, 1, 2],
    "features": ["c7", None, "a|b|c", None],
}


def read(folder: Path, text: str, *, strict: bool = False) -> Workload:
    path = folder / "jobs.log"
    path.write_text(text, encoding="utf-8")
    return read_workload(path, strict=strict)


def rules(workload: Workload) -> dict[str, int]:
    return {entry.rule: entry.count for entry in workload.ledger.entries}


def table(columns: str, *rows: str) -> str:
    return "".join(f"{line}\n" for line in (columns, *rows))


def test_five_jobs_with_a_header(tmp_path: Path) -> None:
    workload = read(tmp_path, FIVE_JOBS, strict=True)
    assert workload.format == "sacct"
    assert workload.jobs.to_dict(as_series=False) == EXPECTED
    assert not workload.ledger
    assert "scontrol show node" in (workload.cluster_note or "")


def test_five_jobs_in_the_layout_of_xdmod(tmp_path: Path) -> None:
    workload = read(tmp_path, XDMOD, strict=True)
    assert workload.jobs.to_dict(as_series=False) == XDMOD_EXPECTED
    assert not workload.ledger


def test_both_layouts_of_the_cost_simulator_with_steps(tmp_path: Path) -> None:
    workload = read(tmp_path, COST_SIMULATOR)
    assert workload.jobs.to_dict(as_series=False) == COST_SIMULATOR_EXPECTED
    assert rules(workload) == {STEP_RULE: 3, "still running: run time unknown, job dropped": 1}
    assert workload.ledger.entries[0].example.endswith("4: job_id 21.batch")


def test_steps_are_no_repair(tmp_path: Path) -> None:
    text = "".join(COST_SIMULATOR.splitlines(keepends=True)[:5])
    assert rules(read(tmp_path, text, strict=True)) == {STEP_RULE: 2}


def test_a_step_belongs_to_the_run_above_it(tmp_path: Path) -> None:
    """A job that was queued again has its id twice, and each run its own steps; a step may also have lost its job."""
    text = table(
        "JobID|Submit|Elapsed|NCPUS|MaxRSS",
        "1|100000000|00:01:00|1|",
        "1.0|100000000|00:01:00|1|100M",
        "2.0|100000000|00:01:00|1|900M",
        "1|100000000|00:02:00|1|7M",
        "1.batch|100000000|00:01:00|1|3M",
        "1.0|100000000|00:01:00|1|",
    )
    workload = read(tmp_path, text)
    assert workload.jobs["used_memory_mb_per_task"].to_list() == [100.0, 7.0]
    assert workload.jobs["job_id"].to_list() == ["1", "1#2"]


def test_steps_in_another_block_than_their_job(tmp_path: Path) -> None:
    row = "|" + "x" * 2_000 + "\n"
    count = BLOCK_BYTES // 2_000
    text = "JobID|Submit|Elapsed|NCPUS|MaxRSS|Comment\n" + f"1|100000000|00:01:00|4|{row}"
    text += "".join(f"1.{step}|100000000|00:01:00|4|{step}M{row}" for step in range(count + 10))
    workload = read(tmp_path, text)
    assert workload.jobs["used_memory_mb_per_task"].to_list() == [count + 9.0]


def test_files_of_one_log_may_differ_in_their_columns(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(XDMOD)
    (tmp_path / "b.log").write_text(table("jobid|SUBMIT|ElapsedRaw|alloccpus|MaxRSS", "99|1709294500|77|3|5M"))
    workload = read_workload([tmp_path / "a.log", tmp_path / "b.log"], strict=True)
    assert workload.jobs["job_id"].to_list() == ["7", "8_1", "8_2", "12", "13", "99"]
    assert workload.jobs["used_memory_mb_per_task"].to_list() == [None] * 5 + [5.0]
    assert workload.jobs["name"].to_list() == ["one", "two|bars||", "three", "four", "five", None]


@pytest.mark.parametrize(
    ("columns", "row", "expected"),
    [
        ("JobIDRaw|Submit|Start|End|NCPUS", "5|{0}|{1}|{2}|2", {"run_s": 60.0, "logged_wait_s": 10.0}),
        ("JobID|Submit|ElapsedRaw|TimelimitRaw|ReqCPUS", "5|{0}|60|90|2", {"requested_s": 5_400.0, "tasks": 2}),
        ("JobID|Submit|ElapsedRaw|TimelimitRaw|NCPUS", "5|{0}|60|UNLIMITED|2", {"requested_s": None}),
        ("JobID|Submit|Elapsed|AllocTRES|", "5|{0}|60:00|cpu=4,node=2,mem=1G|", {"tasks": 2, "cores_per_task": 2.0}),
        ("JobID|Submit|Elapsed|NCPUS|NodeList", "5|{0}|01:00|6|a[1-3]", {"tasks": 3, "nodes": 3}),
        ("JobID|Submit|Elapsed|NCPUS|AllocGRES", "5|{0}|01:00|6|gpu:tesla:2", {"gpus_per_task": 1.0, "tasks": 2}),
        ("JobID|Submit|Elapsed|NCPUS|ReqMem|AllocTRES", "5|{0}|01:00|2|0|mem=2T", {"memory_mb_per_task": 2.0**20}),
        ("JobID|Submit|Elapsed|NCPUS|NNodes|ReqMem", "5|{0}|01:00|4|1|2097156Gn", {"memory_mb_per_task": 16_384.0}),
    ],
)
def test_other_columns_tell_the_same(tmp_path: Path, columns: str, row: str, expected: dict[str, object]) -> None:
    times = ("2024-03-01T12:00:00", "2024-03-01T12:00:10", "2024-03-01T12:01:10")
    jobs = read(tmp_path, table(columns, row.format(*times)), strict=True).jobs
    assert jobs["submit_s"].to_list() == [NOON]
    assert {name: jobs[name][0] for name in expected} == expected


@pytest.mark.parametrize("submit", ["2024-03-01T13:00:00+0100", "2024-03-01T12:00:00Z", "1709294400"])
def test_times_with_a_zone_or_in_seconds(tmp_path: Path, submit: str) -> None:
    plain = "6|2024-03-01T12:00:00|2024-03-01T12:00:01|00:00:05|1"
    text = table("JobID|Submit|Start|Elapsed|NCPUS", f"5|{submit}|{submit}|00:00:05|1", plain)
    jobs = read(tmp_path, text, strict=True).jobs
    assert jobs["submit_s"].to_list() == [NOON, NOON]
    assert jobs["logged_wait_s"].to_list() == [0.0, 1.0]


def test_the_result_has_the_types_of_the_job_table(tmp_path: Path) -> None:
    jobs = read(tmp_path, FIVE_JOBS).jobs
    numbers = {"job_id": pl.String, "tasks": pl.Int64, "nodes": pl.Int64}
    texts = ("user", "group", "queue", "partition", "status", "name", "account", "qos", "gpu_type", "hosts")
    for name, dtype in jobs.schema.items():
        assert dtype == (pl.String if name in texts else numbers.get(name, pl.Float64)), name


def test_elements_of_an_array_that_are_written_as_one(tmp_path: Path) -> None:
    """An array that was cancelled while some of its elements ran, in the layout of XDMoD: one row for several."""
    rows = XDMOD.splitlines()[0].replace("7|7|", "{0}|7|", 1)
    workload = read(tmp_path, table(*(rows.format(job_id) for job_id in ("90_4", "90_[1-3]", "90_[5,7]"))), strict=True)
    assert workload.jobs["job_id"].to_list() == ["90_4", "90_[1-3]", "90_[5,7]"]
