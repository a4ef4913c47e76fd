"""``shunter eta``: tables, JSON, figures, files, and words for what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command

LOG = "generate:lublin?seed=7&jobs=900&cores=64&load=1.2"
FEW = ("--futures", "9")


def test_the_table_and_the_object_say_the_same(shunter: Command) -> None:
    told = shunter("eta", LOG, "--job", "701", *FEW, "--json").json()
    assert told["futures"] == 9
    assert {job["job_id"] for job in told["jobs"]} >= {701}
    shown = shunter("eta", LOG, "--job", "701", *FEW, "--top", "1").out
    assert f"{len(told['jobs'])} jobs waiting" in shown
    assert "80 % interval" in shown
    assert f"{len(told['jobs']) - 1:,} more" in shown


def test_a_saved_state_has_the_same_futures(shunter: Command, tmp_path: Path) -> None:
    file, figure = tmp_path / "state.json", tmp_path / "eta.svg"
    told = shunter("eta", LOG, "--job", "701", *FEW, "--save", file, "--plot", figure, "--json").json()
    assert shunter("eta", "--snapshot", file, *FEW, "--json").json() == told
    assert "median" in figure.read_text()
    # Another policy than the file's, because it is asked for.
    other = shunter("eta", "--snapshot", file, "--policy", "sjf", *FEW, "--json").json()
    assert (told["policy"], other["policy"]) == ("fcfs", "sjf")


def test_a_job_that_is_not_submitted(shunter: Command) -> None:
    out = shunter("eta", LOG, "--job", "701", *FEW, "--cores", "32", "--time", "4h", "--user", "7").out
    assert "a job of 32 cores for 4.00 h, submitted now: starts in" in out
    assert out.count("if you ask for") == 4
    assert "if you ask for 2.00 h instead:" in out
    assert "if you ask for 8 cores instead:" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "nothing is given to look at; give one of: a log, --snapshot FILE, --queue NAME"),
        ((LOG, "--queue", "q"), "a log and --queue are given; give one"),
        (("--queue", "q", "--at", "5"), "--at, --job and --save go with a log, not with --queue"),
        ((LOG, "--job", "7", "--at", "5"), "both a time and a job are given; give one"),
        ((LOG, "--job", "none"), "there is no job none; check its id"),
        ((LOG, "--at", "-5"), "outside the log"),
        ((LOG, "--cores", "4"), "a new job needs --time and --cores"),
        ((LOG, "--cores", "4000", "--time", "1h"), "can never run on"),
        ((LOG, "--cores", "-4", "--time", "1h"), "cores is -4"),
        ((LOG, "--cores", "0", "--time", "1h"), "a new job needs one of them"),
        ((LOG, "--futures", "0"), "futures is 0; expected 1 to 100,000"),
        ((LOG, "--horizon", "0"), "horizon is 0 days"),
        ((LOG, "--top", "0"), "--top is 0"),
        ((LOG, "--dispatch", "committed"), "'committed' goes from event to event"),
        ((LOG, "--plot", "a.txt"), "unknown suffix '.txt'"),
        (("--snapshot", "nowhere.json"), "nowhere.json: no such file"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(shunter: Command, words: tuple[str, ...], message: str) -> None:
    assert message in shunter("eta", *words).error()


def test_a_snapshot_that_cannot_be(shunter: Command, tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    job = {"submit_s": 0, "state": "running", "start_s": 0, "requested_s": 9, "tasks": 9, "placed": [[0, 9]]}
    file.write_text(json.dumps({"schema": "shunter.state/1", "now_s": 5, "cluster": "8", "jobs": [job]}))
    message = f"{file}: job 1 runs on nodes that do not have room for it; check placed of all that run there"
    assert shunter("eta", "--snapshot", file).error().startswith(message)


def test_a_cluster_without_jobs(shunter: Command, tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    file.write_text(json.dumps({"schema": "shunter.state/1", "now_s": 5, "cluster": "8", "jobs": []}))
    assert shunter("eta", "--snapshot", file, *FEW, "--json").json()["jobs"] == []
    assert "0 jobs waiting" in shunter("eta", "--snapshot", file, *FEW).out
    out = shunter("eta", "--snapshot", file, *FEW, "--cores", "4", "--time", "1h").out
    assert "a job of 4 cores for 1.00 h, submitted now: starts" in out


def test_a_partition_that_there_is_not(shunter: Command, tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    cluster = '[[nodes]]\ncores = 8\npartitions = ["main", "long"]\n'
    file.write_text(json.dumps({"schema": "shunter.state/1", "now_s": 5, "cluster": cluster, "jobs": []}))
    words = ("eta", "--snapshot", file, *FEW, "--cores", "4", "--time", "1h", "--partition")
    assert shunter(*words, "nope").error() == "unknown partition 'nope'; the known ones are long, main"
    assert shunter(*words, "main,long").code == 0
