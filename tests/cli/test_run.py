"""``shunter run``: jobs of a file or made up, their metrics, an interruption, and a policy that learns on them."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from shunter.execution.deciding import queue_scheduler
from shunter.execution.local.folder import QueueFolder
from shunter.execution.local.history import read_history
from shunter.execution.local.synthetic import Synthetic, Uniform
from tests.cli.conftest import Command

PATIENCE_S = 120.0


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Metrics go to the folder that one is in, and queues that are removed at the end to another."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    monkeypatch.chdir(tmp_path)


def rows_in(folder: Path) -> list[dict[str, Any]]:
    """Returns the rows of the metrics in a folder, having seen that both files tell the same."""
    [lines] = folder.glob("metrics_*.jsonl")
    [table] = folder.glob("metrics_*.csv")
    rows = [json.loads(line) for line in lines.read_text().splitlines()]
    with table.open(newline="") as file:
        cells = list(csv.DictReader(file))
    assert [int(row["job_id"]) for row in cells] == [row["job_id"] for row in rows]
    return rows


def test_made_up_jobs_run_under_a_policy_and_are_measured(shunter: Command, tmp_path: Path) -> None:
    words = ("--generate", 8, "--cores", "1:3", "--seconds", "0.05:0.3", "--seed", 4, "--simulate", "--capacity", 3)
    told = shunter("run", *words, "--policy", "sjf", "--json").json()
    assert (told["jobs"], told["succeeded"], told["started"], told["interrupted"]) == (8, 8, 8, False)
    rows = rows_in(tmp_path)
    for row in rows:
        asked_s = float(row["command"].split()[1])
        assert row["success"]
        assert row["exit_code"] == 0
        assert row["submit_s"] <= row["start_s"] <= row["end_s"]
        # Times are told to the millisecond.
        assert row["queue_wait_s"] == pytest.approx(row["start_s"] - row["submit_s"], abs=2e-3)
        assert row["duration_s"] >= asked_s - 2e-3
    assert told["mean_queue_wait_s"] == pytest.approx(sum(row["queue_wait_s"] for row in rows) / 8)
    for row in rows:
        together = [one for one in rows if one["start_s"] <= row["start_s"] < one["end_s"]]
        assert sum(one["cores"] for one in together) <= 3
    assert not list((tmp_path / "temporary").iterdir()), "the queue is removed at the end"


def test_the_same_seed_makes_the_same_jobs() -> None:
    drawn = Synthetic(50, Uniform(1, 4), Uniform(5, 20), True, "/")
    assert drawn.jobs(1) == drawn.jobs(1) != drawn.jobs(2)
    assert {job.cores for job in drawn.jobs(1)} == {1, 2, 3, 4}
    for job in drawn.jobs(1):
        assert job.command[:4] == ("stress-ng", "--quiet", "--cpu", str(job.cores))
        assert 5 <= int(job.command[5].removesuffix("s")) <= 20


def test_without_stress_ng_jobs_sleep(shunter: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(Synthetic, "can_work", staticmethod(lambda: False))
    answer = shunter("run", "--generate", 1, "--cores", 1, "--seconds", 0.01)
    assert answer.code == 0
    assert answer.err == "stress-ng is not installed (Debian: apt install stress-ng): jobs sleep, as with --simulate\n"
    assert rows_in(tmp_path)[0]["command"] == "sleep 0.01"


def test_a_file_of_jobs_in_a_queue_that_stays(shunter: Command, tmp_path: Path) -> None:
    (tmp_path / "jobs.toml").write_text(
        '[[job]]\ncommand = "echo right > right.txt"\nname = "good"\n\n[[job]]\ncommand = "echo oh no; exit 3"\n'
    )
    answer = shunter("run", "jobs.toml", "--queue", "./kept", "--out", "metrics")
    assert answer.code == 1
    assert "1 of 2 jobs succeeded" in answer.out
    assert "job 2 printed last: oh no" in answer.out
    good, bad = rows_in(tmp_path / "metrics")
    assert (good["success"], good["state"], bad["success"], bad["exit_code"]) == (True, "done", False, 3)
    assert (tmp_path / "right.txt").read_text() == "right\n"
    assert read_history(QueueFolder(tmp_path / "kept", "kept")).height == 2


def interrupted(tmp_path: Path, *words: str) -> str:
    """Runs a short job and three long ones, interrupts the first of these, and returns what is printed."""
    (tmp_path / "jobs.txt").write_text("sleep 0.01\n" + "echo $$ >> ran.txt; exec sleep 300\n" * 3)
    command = [sys.executable, "-m", "shunter", "run", "jobs.txt", "--capacity", "1", *words]
    environment = {**os.environ, "TMPDIR": str(tmp_path / "temporary")}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        deadline = time.monotonic() + PATIENCE_S
        while not (tmp_path / "ran.txt").exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        # Also if it has not come so far: it must not be left running.
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    for process_number in (tmp_path / "ran.txt").read_text().split():
        assert not Path(f"/proc/{process_number}").exists()
    assert not list((tmp_path / "temporary").glob("shunter-run-*"))
    return out


def test_an_interruption_ends_all_jobs_and_writes_what_ran(tmp_path: Path) -> None:
    assert "Interrupted: the jobs that were left were ended." in interrupted(tmp_path)
    first, second, *others = rows_in(tmp_path)
    assert first["success"]
    assert (second["state"], second["success"]) == ("cancelled", False)
    assert second["duration_s"] is not None
    assert [(row["state"], row["start_s"]) for row in others] == [("cancelled", None)] * 2


@pytest.mark.slow
def test_an_interrupted_training_ends_its_jobs_and_keeps_its_model(tmp_path: Path) -> None:
    interrupted(tmp_path, "--train", "3", "--out", "model")
    rows = rows_in(tmp_path / "model")
    assert [row["episode"] for row in rows] == [1] * 4
    assert sum(row["start_s"] is not None for row in rows) >= 1
    assert {row["state"] for row in rows} <= {"done", "cancelled"}
    # Nothing was learned of an episode that was cut short.
    assert (tmp_path / "model" / "progress.csv").read_text().splitlines()[1:] == ["0"]
    assert queue_scheduler({"policy": str(tmp_path / "model")}).settings.policy == str(tmp_path / "model")


@pytest.mark.slow
def test_a_policy_learns_on_executed_jobs_and_decides_in_the_queue(shunter: Command, tmp_path: Path) -> None:
    made = ("--generate", 5, "--cores", "1:2", "--seconds", "0.02:0.1", "--simulate", "--capacity", 2)
    learned = shunter("run", *made, "--train", 2, "--window", 4, "--gamma", 0.9, "--lr", 0.005, "--out", "model")
    assert learned.code == 0
    assert [line.split(":")[0] for line in learned.err.splitlines()] == ["episode 1 of 2", "episode 2 of 2"]
    assert [row["episode"] for row in rows_in(tmp_path / "model")] == [1] * 5 + [2] * 5
    assert list((tmp_path / "model" / "tensorboard").iterdir())
    with (tmp_path / "model" / "progress.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["learning_rate"]) for row in rows[1:]] == [0.005, 0.005]
    assert all(float(row["return"]) == pytest.approx(-float(row["episode/wait"])) for row in rows[1:])
    # It goes on where it was, with other jobs.
    again = shunter("run", *made, "--train", 1, "--window", 4, "--out", "model")
    assert again.code == 0
    with (tmp_path / "model" / "progress.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == len(rows) + 1
    assert "model" in str(queue_scheduler({"policy": str(tmp_path / "model")}).policy)
    used = shunter("run", *made, "--policy", "./model", "--queue", "./kept", "--out", "used")
    assert used.code == 0
    assert all(row["success"] for row in rows_in(tmp_path / "used"))
    told = shunter("run", *made, "--train", 1, "--window", 5, "--out", "model")
    assert "was made for other observations: window 4 instead of 5" in told.error()


def test_a_policy_that_fails_is_stood_in_for_and_told(shunter: Command, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(
        "import shunter\n\n\nclass Bad(shunter.Policy):\n    def score(self, view):\n        raise ValueError('no')\n"
    )
    made = ("--generate", 2, "--cores", 1, "--seconds", 0.01, "--simulate")
    answer = shunter("run", *made, "--policy", "./bad.py", "--json")
    assert answer.code == 0
    assert "and fcfs decided instead; last: " in answer.err
    told = json.loads(answer.out)
    assert told["succeeded"] == 2
    assert told["policy_failures"] >= 1


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ((), "give a file of jobs, or --generate N"),
        (("jobs.txt", "--generate", 3), "give a file of jobs, or --generate N"),
        (("jobs.txt", "--simulate"), "--cores, --seconds and --simulate go with --generate"),
        (("jobs.txt",), "jobs.txt: no such file of jobs; check the path"),
        (("--generate", 0), "--generate is 0; expected 1 to 100,000 jobs"),
        (("--generate", 3, "--cores", "4:1"), "--cores is '4:1'; expected a range within 1:1024"),
        (("--generate", 3, "--seconds", "soon"), "--seconds is 'soon'; write a range, as in 1:4, or one number"),
        (("--generate", 3, "--window", 3), "--window, --gamma and --lr go with --train"),
        (("--generate", 3, "--train", 0), "--train is 0; expected 1 to 1,000,000 episodes"),
        (("--generate", 3, "--train", 2, "--policy", "sjf"), "--train learns a policy; leave --policy out"),
        (("--generate", 3, "--policy", "runs/none"), "policy 'runs/none': there is no model here; learn one first"),
        (("--generate", 3, "--policy", "srtf"), "policy 'srtf' stops running jobs"),
        (("--generate", 3, "--cores", 2, "--capacity", 1), "can never run: it asks for 2 cores, and this queue has 1"),
    ],
)
def test_mistakes(shunter: Command, words: tuple[object, ...], part: str) -> None:
    assert part in shunter("run", *words).error()
