"""``shunter advise``: what it prints, what it refuses, and several files as one log."""

from __future__ import annotations

import html
import shlex
from pathlib import Path

import pytest

from shunter.advice.request import AdviseRequest
from shunter.comparison import combinations
from shunter.errors import InputError
from shunter.workloads import read_workload
from shunter.workloads.write import write_table
from tests.advice.small import CROWDED, FEW, QUIET
from tests.cli.conftest import Command


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(combinations, "CLASSICS", FEW)
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
def test_it_ends_with_what_to_do_and_the_page(shunter: Command) -> None:
    answer = shunter("advise", CROWDED, "--quick")
    assert (answer.code, answer.err) == (0, "")
    # It names this very command, to repeat it.
    asked = f"advise {shlex.quote(CROWDED)} --out advice --quick"
    assert asked in html.unescape(Path("advice/report.html").read_text())
    assert "times; allowed: 1.5)" in " ".join(answer.out.split())
    lines = answer.out.splitlines()
    assert lines[0].startswith(("Run ", "Keep "))
    assert lines[-1] == "The whole of it: advice/report.html"
    assert any(line.startswith("  shunter simulate ") for line in lines)
    again = shunter("advise", CROWDED, "--quick").out
    assert "Taken from an earlier run: log, cluster" in again
    assert again.splitlines()[0] == lines[0]
    assert "Taken from an earlier run" not in shunter("advise", CROWDED, "--quick", "--fresh").out


def test_json_is_one_object_with_every_stage(shunter: Command) -> None:
    result = shunter("advise", QUIET, "--quick", "--json", "--out", "quiet").json()
    assert result["kind"] == "quiet"
    assert result["folder"] == "quiet"
    assert result["page"] == "quiet/report.html"
    assert set(result["stages"]) == {"log", "cluster", "calibration", "estimates", "comparison", "advice"}


def test_several_files_are_parts_of_one_log(shunter: Command) -> None:
    workload = read_workload(QUIET)
    for number, start in enumerate((0, 450)):
        part = workload.derived(f"part {number}", jobs=workload.jobs.slice(start, 450))
        write_table(part, f"part-{number}.csv")
    words = ("--quick", "--json", "--cluster", "4096")
    result = shunter("advise", "part-0.csv", "part-1.csv", *words).json()
    assert result["stages"]["log"]["jobs"] == 900
    assert result["stages"]["log"]["words"] == ["part-0.csv", "part-1.csv"]
    by_pattern = shunter("advise", "part-*.csv", *words, "--out", "other").json()
    assert by_pattern["stages"]["log"]["workload_sha256"] == result["stages"]["log"]["workload_sha256"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "Missing argument"),
        (("no.swf",), "no.swf: no such file"),
        ((CROWDED, "--budget", "soon"), "is not a time"),
        ((CROWDED, "--budget", "1h", "--quick"), "both say how much time"),
        ((CROWDED, "--budget", "1s"), "expected a time of 10 s or more"),
        ((CROWDED, "--max-wait", "often"), "is not a time"),
        ((CROWDED, "--objective", "joy"), "unknown objective 'joy'"),
        ((CROWDED, "--bound", "mean-wait"), "expected a metric and a positive factor"),
        ((CROWDED, "--site", "fcfs/xx"), "unknown dispatch 'xx'"),
        ((CROWDED, QUIET), "a generator is a whole log"),
        ((CROWDED, "--cluster", "64", "--nodes", "nodes.txt"), "both describe the machine"),
    ],
)
def test_mistakes_are_one_line(shunter: Command, words: tuple[str, ...], message: str) -> None:
    error = shunter("advise", *words).error()
    assert message.lower() in error.lower()
    assert not Path("advice").exists()


def test_a_folder_of_something_else_is_refused(shunter: Command) -> None:
    Path("mine").mkdir()
    Path("mine/thesis.tex").write_text("years of work")
    assert "holds thesis.tex" in shunter("advise", CROWDED, "--out", "mine").error()
    assert Path("mine/thesis.tex").read_text() == "years of work"


@pytest.mark.parametrize(
    "words",
    [
        (CROWDED,),
        ("a.swf", "b.swf", "--quick", "--nodes", "slurm.conf", "--nodes", "qos.txt", "--out", "some where"),
        ("a.csv", "--map", "submit_s=when,run_s=took", "--cluster", "64", "--load", "110%", "--only", "completed"),
        (
            "a.swf",
            "--objective",
            "mean-wait",
            "--bound",
            "p95-wait=1.25",
            "--bound",
            "max-wait=2",
            "--site",
            "sjf/easy",
        ),
        ("a.swf", "--max-wait", "off,3d", "--placement", "pack,best-fit", "--budget", "90s", "--seed", "7", "--anyway"),
        ("a.swf", "--allow-preemption", "--strict", "--format", "swf", "--on", "ray"),
    ],
)
def test_what_was_asked_can_be_asked_again(
    shunter: Command, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[AdviseRequest] = []

    def ask(request: AdviseRequest, _: object) -> None:
        asked.append(request)
        raise InputError("that is all")

    monkeypatch.setattr("shunter.advice.advise.run_advice", ask)
    shunter("advise", *words).error()
    shunter("advise", *asked[0].words()).error()
    assert asked[0] == asked[1]
