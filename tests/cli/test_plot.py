"""``shunter plot``: where the figure goes, and what is refused."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Command


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "progress.csv").write_text("steps,validation/objective,return\n0,0.1,\n64,-0.1,2.0\n")
    return folder


def test_the_figure_lies_with_the_run(shunter: Command, run: Path) -> None:
    answer = shunter("plot", run)
    assert (answer.code, answer.out) == (0, f"written: {run / 'learning.png'}\n")
    assert (run / "learning.png").read_bytes().startswith(b"\x89PNG")


def test_several_runs_in_a_file_of_the_users_choice(shunter: Command, run: Path, tmp_path: Path) -> None:
    other = run.rename(tmp_path / "other")
    run.mkdir()
    (run / "progress.csv").write_text((other / "progress.csv").read_text())
    assert shunter("plot", run, other, "--out", tmp_path / "both.svg").code == 0
    assert "<svg" in (tmp_path / "both.svg").read_text()


def test_seeds_that_the_shell_names_one_by_one_are_a_band(shunter: Command, run: Path, tmp_path: Path) -> None:
    folders = [tmp_path / "two" / f"seed-{seed}" for seed in (0, 1)]
    for seed, folder in enumerate(folders):
        folder.mkdir(parents=True)
        (folder / "progress.csv").write_text((run / "progress.csv").read_text())
        (folder / "config.toml").write_text(f"[training]\nseed = {seed}\n")
    assert shunter("plot", *folders, "--band", "--out", tmp_path / "band.svg").code == 0
    assert "Training of two, 2 seeds" in (tmp_path / "band.svg").read_text()
    assert "--band: needs runs that differ only in their seeds" in shunter("plot", run, "--band").error()


def test_a_run_that_learned_nothing_says_what_draws_it(
    shunter: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    log = "generate:lublin?seed=3&jobs=200&cores=64&load=1.1&requests=factor"
    shunter("simulate", log, "--policy", "sjf", "--max-wait", "1d", "--kill-at-request", "--out", "runs/easy")
    message = shunter("plot", "runs/easy").error()
    start = "runs/easy: a run of 'shunter simulate', which has no learning curves; to draw its schedule: "
    assert message.startswith(start)
    assert shunter(*shlex.split(message.removeprefix(start))[1:]).code == 0
    assert Path("runs/easy/schedule.png").read_bytes().startswith(b"\x89PNG")
    shunter("compare", log, "--policy", "fcfs,sjf", "--windows", 2, "--length", 50, "--out", "runs/both")
    assert "runs/both: a comparison, which has no learning curves; to draw it" in shunter("plot", "runs/both").error()


def test_mistakes_are_one_line(shunter: Command, run: Path, tmp_path: Path) -> None:
    assert "nowhere/progress.csv: cannot be read" in shunter("plot", tmp_path / "nowhere").error()
    assert "unknown suffix '.gif'" in shunter("plot", run, "--out", tmp_path / "x.gif").error()
    assert "cannot write" in shunter("plot", run, "--out", tmp_path / "nowhere" / "x.png").error()
    assert "Missing argument" in shunter("plot").error()
