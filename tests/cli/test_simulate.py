"""``shunter simulate``: what it prints and writes."""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path

import polars as pl
import pytest

from shunter.metrics.table import METRICS
from tests.cli.conftest import Command, swf_line, write_log

FIRST_KEYS = ["policy", "dispatch", "placement", "estimate", "jobs", "rejected", "ledger", "metrics"]


def test_json_is_one_object_with_the_promised_keys(shunter: Command, log: Path) -> None:
    result = shunter(
        "simulate", "--workload", log, "--cluster", 8, "--policy", "sjf", "--dispatch", "strict", "--json"
    ).json()
    assert list(result)[:8] == FIRST_KEYS
    assert (result["policy"], result["dispatch"], result["placement"]) == ("sjf", "strict", "first-fit")
    assert (result["estimate"], result["jobs"], result["rejected"]) == ("requested", 4, 0)
    assert result["estimated_from"] == {"request": 3, "stand-in": 1}
    assert list(result["metrics"]) == list(METRICS)


def test_the_schedule_is_the_one_drawn_here(shunter: Command, log: Path) -> None:
    """Eight cores, one column is 10 s, fcfs with strict dispatch.

    ```
    1 1 1 1 1 1 1 1 1 1 3 3 3 3 3 4 4 4      jobs 1 and 2 start at 0, job 3 needs all cores and waits for 100,
    2 2 2 2 2 2 . . . . 3 3 3 3 3 . . .      job 4 waits behind it until 150 and ends at 180
    ```
    """
    metrics = shunter("simulate", "--workload", log, "--dispatch", "strict", "--json").json()["metrics"]
    assert metrics["makespan_s"] == 180
    assert metrics["mean_wait_s"] == (0 + 0 + 90 + 130) / 4
    assert metrics["max_wait_s"] == 130
    assert metrics["core_utilization"] == pytest.approx((400 + 240 + 400 + 60) / (8 * 180))
    assert metrics["mean_bounded_slowdown"] == pytest.approx((1 + 1 + 140 / 50 + 160 / 30) / 4)
    assert metrics["jain_fairness_users"] == 1.0


def test_the_header_tells_the_cluster(shunter: Command, log: Path) -> None:
    result = shunter("simulate", "--workload", log, "--json").json()
    assert (result["cluster"], result["cluster_from"]) == ("8", "the workload")
    assert "on 8 cores, as the workload says" in shunter("simulate", "--workload", log).out


def test_tables_for_people(shunter: Command, log: Path) -> None:
    answer = shunter("simulate", "--workload", log, "--cluster", 7)
    assert (answer.code, answer.err) == (0, "")
    assert "fcfs · easy · first-fit · estimate requested (2 request, 1 stand-in)\n4 jobs, 1 rejected" in answer.out
    assert "log.swf on 7 cores\n" in answer.out
    shown = {line.split("│")[1].strip() for line in answer.out.splitlines() if line.startswith("│")} & set(METRICS)
    # One pool of cores, one user, and nothing that could be stopped.
    untold = {
        "memory_utilization", "gpu_utilization", "flops_weighted_utilization", "mean_fragmentation", "nodes_per_job",
        "mean_partly_used_nodes", "load_imbalance", "preemptions", "failures", "migrations", "lost_gpu_hours",
        "milp_fallbacks", "mean_first_wait_s", "cancelled_jobs",
    }  # fmt: skip
    assert shown == set(METRICS) - untold
    assert "–" not in answer.out.split("ledger")[0]
    assert set(shunter("simulate", "--workload", log, "--cluster", 7, "--json").json()["metrics"]) == set(METRICS)
    assert "s (1 min" in answer.out
    assert "ledger" in answer.out
    unfolded = " ".join(answer.out.replace("│", " ").split())
    assert "not enough cores" in unfolded
    assert "job 3 asks for 8 tasks of 1 core" in unfolded


def test_windows_keep_submit_times(shunter: Command, log: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    result = shunter("simulate", "--workload", log, "--start", 1, "--length", 2, "--json", "--out", out).json()
    assert result["jobs"] == 2
    rows = pl.read_parquet(out / "schedule.parquet")
    assert rows["job_id"].to_list() == [2, 3]
    assert rows["start_s"].to_list() == [0.0, 60.0]


def test_what_stood_in_is_in_the_ledger(shunter: Command, log: Path) -> None:
    ledger = shunter("simulate", "--workload", log, "--json").json()["ledger"]
    assert {"rule": "no requested time: the run time stands in", "count": 1, "example": "job 2"} in ledger


def test_kill_at_request(shunter: Command, tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.swf", [swf_line(1, 0, 100, 4, 40), swf_line(2, 0, 10, 4, 40)])
    result = shunter("simulate", "--workload", log, "--kill-at-request", "--json", "--out", tmp_path / "run").json()
    assert result["metrics"]["completion_rate"] == 0.5
    rows = pl.read_parquet(tmp_path / "run" / "schedule.parquet")
    assert rows["outcome"].to_list() == ["killed", "completed"]
    assert rows["duration_s"].to_list() == [40.0, 10.0]
    assert rows["reason"].to_list() == ["killed at its requested time", None]


def test_first_available_means_first_fit(shunter: Command, log: Path) -> None:
    arguments = ("simulate", "--workload", log, "--policy", "first-available")
    assert shunter(*arguments, "--json").json()["placement"] == "first-fit"
    assert shunter(*arguments, "--placement", "first-fit", "--json").code == 0
    assert (
        "policy 'first-available' places first-fit, but placement is 'pack'"
        in shunter(*arguments, "--placement", "pack").error()
    )


def test_the_run_folder(shunter: Command, log: Path, tmp_path: Path) -> None:
    out = tmp_path / "runs" / "one"
    cluster = tmp_path / "nodes.toml"
    cluster.write_text('[[nodes]]\nname = "n"\ncount = 2\ncores = 4\n')
    result = shunter("simulate", "--workload", log, "--cluster", cluster, "--seed", 5, "--out", out, "--json").json()
    names = ["manifest.json", "metrics.json", "schedule.csv", "schedule.jsonl", "schedule.parquet"]
    assert sorted(path.name for path in out.iterdir()) == names
    assert json.loads((out / "metrics.json").read_text()) == result
    rows = pl.read_parquet(out / "schedule.parquet")
    assert rows["nodes"].to_list()[2] == [{"node": "n0", "tasks": 4}, {"node": "n1", "tasks": 4}]
    with (out / "schedule.csv").open() as file:
        table = list(csv.DictReader(file))
    assert [row["nodes"] for row in table] == ["n0:4", "n1:4", "n0:4;n1:4", "n1:2"]
    assert [row["success"] for row in table] == ["true"] * 4
    lines = [json.loads(line) for line in (out / "schedule.jsonl").read_text().splitlines()]
    assert lines == rows.to_dicts()


def test_the_manifest(shunter: Command, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert (
        shunter("simulate", "--workload", "log.swf", "--seed", 5, "--max-wait", 100, "--out", "run", "--json").code == 0
    )
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["arguments"]["given"] == {
        "workload": "log.swf", "seed": 5, "max_wait": 100.0, "out": "run", "json": True,
    }  # fmt: skip
    resolved = manifest["arguments"]["resolved"]
    assert (resolved["workload"], resolved["cluster"], resolved["placement"]) == ("log.swf", "8", "first-fit")
    assert manifest["workload"]["path"] == str(log)
    assert manifest["workload"]["sha256"] == hashlib.sha256(log.read_bytes()).hexdigest()
    assert manifest["cluster"]["nodes"][0]["cores"] == 8
    assert manifest["seed"] == 5
    assert {"shunter", "created", "schedule_sha256", "python", "platform"} <= set(manifest)


def test_one_node_needs_no_counts_in_the_csv(shunter: Command, log: Path, tmp_path: Path) -> None:
    shunter("simulate", "--workload", log, "--cluster", 7, "--out", tmp_path / "run")
    with (tmp_path / "run" / "schedule.csv").open() as file:
        assert [row["nodes"] for row in csv.DictReader(file)] == ["pool", "pool", "", "pool"]


@pytest.mark.parametrize(("suffix", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("PDF", b"%PDF")])
def test_plot(shunter: Command, log: Path, tmp_path: Path, suffix: str, magic: bytes) -> None:
    path = tmp_path / f"figure.{suffix}"
    assert f"written: {path}" in shunter("simulate", "--workload", log, "--plot", path).out
    assert path.read_bytes().startswith(magic)


def test_the_same_seed_gives_the_same_schedule(shunter: Command, tmp_path: Path) -> None:
    hashes = []
    for run, seed in enumerate([1, 1, 2]):
        out = tmp_path / str(run)
        shunter(
            "simulate",
            "--workload",
            "generate:lublin?jobs=300&cores=64",
            "--policy",
            "random",
            "--seed",
            seed,
            "--out",
            out,
        )
        hashes.append(json.loads((out / "manifest.json").read_text())["schedule_sha256"])
    assert hashes[0] == hashes[1] != hashes[2]


def test_an_interrupt_is_one_line(shunter: Command, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("shunter.metrics.run.simulate", interrupted)
    answer = shunter("simulate", "--workload", log, "--out", log.parent / "run")
    assert (answer.code, answer.out, answer.err) == (130, "", "error: interrupted\n")
    assert not (log.parent / "run").exists()


def test_stops_are_told_where_something_can_be_stopped(shunter: Command, log: Path) -> None:
    answer = shunter("simulate", "--workload", log, "--policy", "srtf", "--estimate", "perfect")
    for name in ("preemptions", "failures", "migrations"):
        assert f"│ {name} " in answer.out
