"""``shunter study``: its table, what a kill leaves, and what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from shunter.studies.study import run_study
from shunter.studies.study_file import read_study
from tests.cli.conftest import Command
from tests.studies.small import STUDY, VARIANTS, InlineEngine, write_study

BAD = "[variants.bad]\nvalidation.length = 5000\n"


def results(out: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in out.rglob("result.json")}


def weights(out: Path) -> dict[str, bytes]:
    found = {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("policy.safetensors")}
    assert found
    return found


@pytest.mark.slow
def test_a_study_that_is_killed_goes_on_and_does_nothing_twice(shunter: Command, tmp_path: Path) -> None:
    file, out = write_study(tmp_path), tmp_path / "out"
    command = [sys.executable, "-m", "shunter", "study", str(file), "--out", str(out)]
    with subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"}) as process:
        while len(results(out)) < 2 and process.poll() is None:
            time.sleep(0.05)
        process.kill()
    before = results(out)
    assert 2 <= len(before) < 4
    report = shunter("study", file, "--out", out, "--report", "--json").json()
    assert [run["status"] for run in report["runs"]].count("missing") == 4 - len(before)
    assert results(out) == before
    report = shunter("study", file, "--out", out, "--threads", 2, "--json").json()
    assert [run["status"] for run in report["runs"]] == ["done"] * 4
    after = results(out)
    assert len(after) == 4
    assert before.items() <= after.items()
    assert shunter("study", file, "--out", out, "--json").json() == report
    assert results(out) == after
    # What was cut short and went on is the same to the bit as what was left alone.
    alone = run_study(read_study(file, tmp_path / "alone"), on=InlineEngine()).to_json()
    assert (alone["rows"], alone["aggregates"]) == (report["rows"], report["aggregates"])
    assert weights(tmp_path / "alone") == weights(out)


@pytest.mark.slow
def test_tables_failures_and_a_figure(shunter: Command, tmp_path: Path) -> None:
    text = STUDY.replace("seeds = 2", "seeds = 1") + VARIANTS.split("[variants.fast]")[0] + BAD
    file, out = write_study(tmp_path, text), tmp_path / "out"
    answer = shunter("study", file, "--out", out, "--threads", 2, "--plot", tmp_path / "curves.svg")
    assert answer.code == 1
    (line,) = answer.err.splitlines()
    assert line.startswith("bad on busy, seed 0 failed: ")
    assert "1 run of 2 done, 1 failed." in answer.out
    assert "all logs and seeds together: interquartile mean" in answer.out
    assert "<svg" in (tmp_path / "curves.svg").read_text()
    again = shunter("study", file, "--out", out, "--report")
    assert (again.code, again.out, again.err) == (0, answer.out, "")


def test_mistakes_are_one_line_and_leave_nothing(shunter: Command, tmp_path: Path) -> None:
    file, out = write_study(tmp_path, STUDY + VARIANTS.replace("ppo.learning_rate", "ppo.learning_rat", 1)), tmp_path
    message = shunter("study", file, "--out", out / "out").error()
    assert message.startswith(f"{file}: [variants.slow] ppo: unknown key 'learning_rat'; did you mean 'learning_rate'?")
    file = write_study(tmp_path)
    assert "--threads is 0; expected 1 or more" in shunter("study", file, "--threads", 0).error()
    assert "no such file; check the path" in shunter("study", tmp_path / "nowhere.toml").error()
    assert (
        "no run of the study has ended"
        in shunter("study", file, "--out", out / "out", "--report", "--plot", tmp_path / "x.png").error()
    )
    assert "unknown suffix" in shunter("study", file, "--out", out / "out", "--plot", tmp_path / "x.gif").error()
    assert not (out / "out").exists()
