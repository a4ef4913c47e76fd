"""``shunter calibrate``: what it prints, writes and refuses."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Command, write_log


def line(job: int, submit: int, wait: int, run: int, processors: int) -> str:
    """Returns one line of a SWF log with a logged wait and an exact request."""
    return f"{job} {submit} {wait} {run} {processors} -1 -1 {processors} {run} -1 1 3 1 -1 1 -1 -1 -1\n"


@pytest.fixture
def waits(tmp_path: Path) -> Path:
    """Returns a log for 8 cores: job 3 needs all of them and waits for 90 s, job 4 has no logged wait."""
    lines = [line(1, 0, 0, 100, 4), line(2, 0, 10, 60, 4), line(3, 10, 90, 50, 8), line(4, 20, -1, 30, 2)]
    return write_log(tmp_path / "waits.swf", lines)


def test_json(shunter: Command, waits: Path) -> None:
    result = shunter("calibrate", "--workload", waits, "--json").json()
    assert list(result)[:4] == ["verdict", "because", "checks", "hints"]
    # Ranks 1, 2, 3 against 1.5, 1.5, 3: 1.5 over the root of 2 times 1.5.
    assert result["agreement"]["rank_correlation"] == pytest.approx(0.75**0.5)
    assert result["verdict"] == "explains the log roughly"
    assert (result["compared"], result["without_logged_wait"], result["jobs"]) == (3, 1, 4)
    # Under easy job 4 does not delay job 3, so that its wait stays 90 s; job 2 started at 0 and not at 10.
    assert result["simulated"]["mean_wait_s"] == 30
    assert result["logged"]["mean_wait_s"] == pytest.approx(100 / 3)
    assert result["agreement"]["bias_s"] == pytest.approx(-10 / 3)
    assert (result["policy"], result["dispatch"], result["cluster"]) == ("fcfs", "easy", "8")
    assert result["arguments"]["workload"] == str(waits)
    assert "metrics" not in result
    assert "seconds" not in result
    assert all(len(result[f"{what}_sha256"]) == 64 for what in ("workload", "cluster", "schedule"))


def test_tables(shunter: Command, waits: Path) -> None:
    answer = shunter("calibrate", "--workload", waits)
    assert (answer.code, answer.err) == (0, "")
    text = " ".join(answer.out.replace("│", " ").split())
    assert "waits.swf on 8 cores, as the workload says fcfs · easy" in text
    assert "compared: 3 jobs; left out: 1 without a logged wait" in text
    assert "explains the log roughly: the jobs with long waits are mostly the same (rank correlation 0.87)." in text
    assert "Only 3 jobs were compared: too few to lean on." in text
    assert "bias: mean of simulated − logged −3.33 s" in text
    assert "by the job's cores" in text
    assert "by the hour of the submit (counted from the log's time 0)" in text


def test_another_policy_is_simulated(shunter: Command, waits: Path) -> None:
    result = shunter("calibrate", "--workload", waits, "--dispatch", "greedy", "--cluster", 6, "--json").json()
    assert (result["dispatch"], result["cluster"], result["cluster_from"]) == ("greedy", "6", "--cluster")
    # Job 3 can never fit on 6 cores; jobs 1 and 2 no longer run side by side.
    assert (result["compared"], result["never_started"], result["rejected"]) == (2, 1, 1)
    assert result["simulated"]["max_wait_s"] == 100
    assert result["logged_load"]["most_cores"] == 8
    assert any("can never fit" in hint for hint in result["hints"])


def test_the_folder(shunter: Command, waits: Path, tmp_path: Path) -> None:
    out = tmp_path / "calibration"
    result = shunter("calibrate", "--workload", waits, "--out", out, "--json").json()
    assert sorted(path.name for path in out.iterdir()) == [
        "calibration.json", "manifest.json", "waits.csv", "waits.parquet",
    ]  # fmt: skip
    assert json.loads((out / "calibration.json").read_text()) == result
    rows = pl.read_parquet(out / "waits.parquet")
    assert rows.rows() == [(1, 0.0, 4.0, 0.0, 0.0), (2, 0.0, 4.0, 10.0, 0.0), (3, 10.0, 8.0, 90.0, 90.0)]
    with (out / "waits.csv").open() as file:
        assert next(csv.reader(file)) == rows.columns
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["schedule_sha256"] == result["schedule_sha256"]
    assert "the folder is not empty" in shunter("calibrate", "--workload", waits, "--out", out).error()
    assert shunter("calibrate", "--workload", waits, "--out", out, "--force").code == 0


def test_plot(shunter: Command, waits: Path, tmp_path: Path) -> None:
    path = tmp_path / "figure.png"
    assert f"written: {path}" in shunter("calibrate", "--workload", waits, "--plot", path).out
    assert path.read_bytes().startswith(b"\x89PNG")


def test_a_log_without_start_times(shunter: Command, log: Path) -> None:
    error = shunter("calibrate", "--workload", log).error()
    assert error == (
        "log.swf: the log does not say when jobs started (no logged wait on any of its 4 jobs); "
        "calibrate on a log that has waits (field 3 of SWF, column logged_wait_s)"
    )


def test_a_window_without_start_times(shunter: Command, waits: Path) -> None:
    error = shunter("calibrate", "--workload", waits, "--start", 3).error()
    assert "waits.swf[3:4]: the log does not say when jobs started" in error


def test_outputs_are_checked_first(shunter: Command, waits: Path, tmp_path: Path) -> None:
    assert "unknown suffix" in shunter("calibrate", "--workload", waits, "--plot", tmp_path / "f.gif").error()
    assert "--force is given without --out" in shunter("calibrate", "--workload", waits, "--force").error()
    assert "unknown policy" in shunter("calibrate", "--workload", waits, "--policy", "nobody").error().lower()
