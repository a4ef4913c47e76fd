"""Kinds and locality from a user's files to the numbers: a table of throughputs, slowdowns, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command

CLUSTER = """
speeds = "speeds.csv"
reference_gpu = "V100"

[locality]
nodes = 2.0

[[nodes]]
name = "v"
count = 2
cores = 16
gpus = 2
gpu_type = "V100"

[[nodes]]
name = "k"
cores = 16
gpus = 4
gpu_type = "K80"
"""
SPEEDS = "kind,gpus,speed_V100,speed_K80\nbert,1,40,10\nresnet,1,300,0\n"
JOBS = """job_id,submit_s,run_s,requested_s,tasks,gpus_per_task,cores_per_task,model
1,0,100,100,1,1,0,resnet
2,0,100,100,2,1,0,bert
3,0,100,100,2,1,0,bert
4,0,100,100,2,1,0,resnet
"""


@pytest.fixture
def inputs(tmp_path: Path) -> list[str]:
    (tmp_path / "lab.toml").write_text(CLUSTER)
    (tmp_path / "speeds.csv").write_text(SPEEDS)
    (tmp_path / "jobs.csv").write_text(JOBS)
    return [str(tmp_path / "jobs.csv"), "--map", "kind=model", "--cluster", str(tmp_path / "lab.toml")]


def ends(out: Path) -> list[float]:
    return [json.loads(line)["end_s"] for line in (out / "schedule.jsonl").read_text().splitlines()]


def test_a_table_of_throughputs(shunter: Command, inputs: list[str], out: Path) -> None:
    """On K80 the third runs four times as long; the fourth does not run there, and waits for one V100 node."""
    options = ("--placement", "fastest", "--wait-for-locality", "always", "--out", out)
    shunter("simulate", *inputs, *options, "--json").json()
    assert ends(out) == [100.0, 100.0, 400.0, 200.0]
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["cluster"]["kinds"]["types"] == ["V100", "K80"]
    assert manifest["arguments"]["resolved"]["wait_for_locality"] == "always"
    explained = shunter("explain", out, "4").out
    assert "GPUs that it needs" in explained
    assert "may use 2 nodes" in explained
    assert shunter("replay", out).code == 0


def test_a_changed_table_is_another_cluster(shunter: Command, inputs: list[str], out: Path, tmp_path: Path) -> None:
    shunter("simulate", *inputs, "--out", out)
    (tmp_path / "speeds.csv").write_text(SPEEDS.replace("10", "20"))
    assert shunter("replay", out).code != 0


def test_a_converted_log_keeps_its_kinds(shunter: Command, inputs: list[str], tmp_path: Path) -> None:
    for name in ("again.csv", "again.parquet"):
        shunter("trace", "convert", *inputs[:3], "-o", tmp_path / name)
        result = shunter("simulate", tmp_path / name, *inputs[3:], "--json").json()
        assert result["metrics"]["makespan_s"] == shunter("simulate", *inputs, "--json").json()["metrics"]["makespan_s"]
    shunter("trace", "anonymize", *inputs[:3], "--seed", "1", "-o", tmp_path / "public.csv")
    assert "resnet" in (tmp_path / "public.csv").read_text()
    shunter("trace", "anonymize", *inputs[:3], "--seed", "1", "--places", "-o", tmp_path / "secret.csv")
    assert "resnet" not in (tmp_path / "secret.csv").read_text()


@pytest.mark.parametrize(
    ("speeds", "jobs", "message"),
    [
        (
            SPEEDS.replace("bert,1,40", "bert,1,-40"),
            JOBS,
            "speeds.csv:2: speed_V100 is '-40'; expected a speed above 0",
        ),
        (SPEEDS, JOBS.replace("resnet", "resent"), 'speeds.csv: has no kind "resent", of which job 1 is; did you mean'),
        (SPEEDS.replace("300,0", "0,0"), JOBS, 'speeds.csv:3: kind "resnet" runs on no type'),
    ],
)
def test_mistakes_are_told_in_one_line(
    shunter: Command, inputs: list[str], tmp_path: Path, speeds: str, jobs: str, message: str
) -> None:
    (tmp_path / "speeds.csv").write_text(speeds)
    (tmp_path / "jobs.csv").write_text(jobs)
    failed = shunter("simulate", *inputs)
    assert failed.code == 2
    assert message in failed.err
    assert failed.err.count("\n") == 1
