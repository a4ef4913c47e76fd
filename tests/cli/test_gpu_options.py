"""The options of GPU clusters, and what ``--strict`` says of jobs that can never run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command, swf_line, write_log

OPTIONS = (
    *("--preemption-overhead", "--preempted-progress", "--min-run", "--failures", "--mtbf", "--mttr"),
    "--failed-progress",
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Returns a table out of order whose second job, in line 5, is too large for 4 cores."""
    path = tmp_path / "jobs.csv"
    path.write_text("job_id,submit_s,run_s,tasks\n# by hand\n1,50,100,1\n3,40,10,2\n7,20,10,64\n8,60,10,128\n")
    return path


def test_strict_names_the_line_of_a_job_that_can_never_run(shunter: Command, table: Path) -> None:
    message = shunter("simulate", "--workload", table, "--cluster", 4, "--strict").error()
    assert message.startswith(f"{table}:4: submit time 40 after 50"), "a table out of order is refused before"
    table.write_text("".join(table.read_text().splitlines(keepends=True)[:2]) + "3,40,10,2\n7,50,10,64\n8,60,10,128\n")
    message = shunter("simulate", "--workload", table, "--cluster", 4, "--strict").error()
    assert message == (
        f"{table}:4: job 7 asks for 64 tasks of 1 core; the cluster has 4 cores; give a larger cluster, or leave "
        "--strict out to have such jobs rejected and counted (2 of 3 jobs)"
    )


def test_rejected_jobs_are_listed_with_their_lines(
    shunter: Command, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    answer = shunter("simulate", "--workload", table, "--cluster", 4)
    assert answer.code == 0
    assert f"{table}:5: job 7 asks for 64 tasks of 1 core; the cluster has 4 cores" in answer.out
    window = shunter("simulate", "--workload", table, "--cluster", 4, "--start", 3, "--length", 1).error()
    assert "jobs.csv[3:4]: the only job can never fit: job 8 asks for 128 tasks" in window


def test_which_verbs_have_the_options(shunter: Command) -> None:
    for verb, has in (("simulate", True), ("what-if", True), ("compare", True), ("tune", False)):
        text = shunter(verb, "--help").out
        assert {option in text for option in OPTIONS} == {has}, verb


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--preemption-overhead", "-5"),
            "--preemption-overhead (preemption_overhead_s) is -5.0; expected a number",
        ),
        (("--min-run", "x"), "'x' is not a time"),
        (("--preempted-progress", "some"), "unknown --preempted-progress (preempted_progress) 'some'"),
        (("--mtbf", "5"), "--mtbf (mtbf_s) is 5, but --mttr (mttr_s) is not given; give both"),
        (("--failures", "gone.csv"), "gone.csv: no such failures file; check the path"),
        (("--policy", "las", "--dispatch", "easy"), "policy 'las' starts whatever fits, and stops others for it, but"),
        (("--placement", "tierd-lex"), "did you mean 'tiered-lex'?"),
    ],
)
def test_mistakes(shunter: Command, log: Path, options: tuple[str, ...], message: str) -> None:
    assert message in shunter("simulate", "--workload", log, *options).error()


def test_a_manifest_has_the_failures_file_and_a_replay_wants_it_unchanged(
    shunter: Command, tmp_path: Path, out: Path
) -> None:
    log = write_log(tmp_path / "log.swf", [swf_line(1, 0, 100, 4), swf_line(2, 5, 60, 4)])
    failures = tmp_path / "failures.csv"
    failures.write_text("time_s,node,event\n5000,pool,down\n6000,pool,up\n")
    assert shunter("simulate", "--workload", log, "--failures", failures, "--out", out).code == 0
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["failures"]["path"] == str(failures)
    assert manifest["placement"] is None
    assert manifest["arguments"]["resolved"]["estimate"] == "requested"
    assert shunter("replay", out).code == 0
    failures.write_text("time_s,node,event\n5,pool,down\n")
    assert "the failures file has changed since the run; put the original back" in shunter("replay", out).error()
    failures.unlink()
    assert f"its failures file {failures} is gone" in shunter("replay", out).error()
