"""Policies that stop jobs on the command line: what restarts cost, a warning where it is much, and runs of before."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import shunter as library
from shunter import Cluster, Workload
from shunter.cli.running import RunArguments
from shunter.metrics.table import compute_metrics
from shunter.model.cluster import Node
from tests.cli.conftest import Command

LOG = "job_id,submit_s,run_s,requested_s,tasks,cores_per_task,memory_mb_per_task\n" + "".join(
    f"{number},{10 * number},{50 + 40 * (number % 3)},,1,1,{1024 * (number % 4)}\n" for number in range(12)
)
WARNING = "warning: a restart costs"


@pytest.fixture
def log(tmp_path: Path) -> tuple[str, ...]:
    """Returns the options that name a log of twelve jobs, and a pool of two cores for them."""
    path = tmp_path / "jobs.csv"
    path.write_text(LOG)
    return ("--workload", str(path), "--cluster", "2")


def resolved(**words: str | float) -> str:
    """Returns the policy that a manifest's words mean."""
    return str(RunArguments.from_json({"workload": "log.csv", **words}).words["policy"])


def test_manifests_of_before_mean_what_they_meant() -> None:
    assert resolved(policy="las", size_by="auto") == "las?first_s=3600&second_s=36000"
    assert resolved(policy="srtf") == "srtf?outlived=ends"
    assert resolved(policy="las?first_s=60", size_by="auto") == "las?first_s=60"
    assert resolved(policy="f2", size_by="auto") == "f2"
    assert resolved(policy="f2") == "f2?origin=absolute"
    today: dict[str, str | float] = {"size_by": "auto", "preemption_overhead_per_gb_s": 0.0}
    assert [resolved(policy=name, **today) for name in ("las", "srtf", "f2")] == ["las", "srtf", "f2"]


@pytest.mark.parametrize("policy", ["las", "srtf"])
def test_a_run_of_before_is_replayed(shunter: Command, log: tuple[str, ...], tmp_path: Path, policy: str) -> None:
    """A folder as an earlier version wrote it: the name alone, under the rules of that time."""
    words = {"las": "las?first_s=3600&second_s=36000", "srtf": "srtf?outlived=ends"}[policy]
    out = tmp_path / "run"
    assert shunter("simulate", *log, "--policy", words, "--missing-request", "60", "--out", out).code == 0
    manifest = json.loads((out / "manifest.json").read_text())
    arguments = manifest["arguments"]["resolved"]
    arguments["policy"] = policy
    del arguments["preemption_overhead_per_gb_s"]
    (out / "manifest.json").write_text(json.dumps(manifest))
    assert shunter("replay", out).code == 0


@pytest.mark.parametrize("policy", ["gittins", "srsf", "las"])
def test_a_run_is_replayed(shunter: Command, log: tuple[str, ...], tmp_path: Path, policy: str) -> None:
    out = tmp_path / "run"
    options = ("--preemption-overhead", "2s", "--preemption-overhead-per-gb", "1s", "--min-run", "20s")
    assert shunter("simulate", *log, "--policy", policy, *options, "--out", out).code == 0
    assert shunter("replay", out).code == 0


def test_dear_restarts_are_warned_of_once(shunter: Command, log: tuple[str, ...]) -> None:
    dear = ("--preemption-overhead", "60", "--min-run", "200")
    text = shunter("simulate", *log, "--policy", "las", *dear).out
    assert text.count(WARNING) == 1
    assert "costs 60 s, which is not small against --min-run (200 s): las may stop jobs before" in text
    assert "give --min-run 240s or more" in text
    assert WARNING not in shunter("simulate", *log, "--policy", "las", *dear[:2], "--min-run", "240").out
    # Whom the policy does not stop, restarts do not cost anything.
    assert WARNING not in shunter("simulate", *log, "--policy", "fcfs", *dear).out
    by_memory = ("--preemption-overhead-per-gb", "20", "--min-run", "200")
    assert "costs up to 60 s" in shunter("simulate", *log, "--policy", "gittins", *by_memory).out
    assert shunter("what-if", *log, "--change", "policy=las,preemption-overhead=9").out.count(WARNING) == 1


def test_a_comparison_warns_of_what_was_asked_for(shunter: Command, log: tuple[str, ...]) -> None:
    options = ("--policy", "fcfs,las,gittins", "--windows", "2", "--length", "6")
    assert shunter("compare", *log, *options, "--preemption-overhead", "9").out.count(WARNING) == 1
    # The row that shows what 30 s would cost is Shunter's own.
    assert WARNING not in shunter("compare", *log, *options).out


def test_what_restarts_cost_by_memory_is_lost() -> None:
    """Job 0 has 3 GB in two tasks: it is stopped once, for job 1, and pays 1 s and 2 s for each GB."""
    columns = {
        "submit_s": [0.0, 3.0],
        "run_s": [10.0, 5.0],
        "tasks": [2, 1],
        "cores_per_task": [1.0, 2.0],
        "memory_mb_per_task": [1536.0, 10.0],
    }
    cluster = Cluster.from_nodes((Node("n", 2.0, 4096),), "small")
    schedule = library.simulate(
        Workload.from_frame(pl.DataFrame(columns), name="two"),
        cluster,
        policy="srtf",
        estimate="perfect",
        preemption_overhead_s=1,
        preemption_overhead_per_gb_s=2,
    )
    assert schedule.end_s.tolist() == [22.0, 8.0]
    assert schedule.lost_ms.tolist() == [7000.0, 0.0]
    assert compute_metrics(schedule)["preemptions"] == 1
