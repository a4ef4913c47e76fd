"""``shunter explain``: what it prints, and what it says of runs and jobs that are not there."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Command


@pytest.fixture
def run(shunter: Command, log: Path, out: Path) -> Path:
    """Returns the folder of a strict run: job 3 waits for all cores, and job 4 behind it."""
    assert shunter("simulate", "--workload", log, "--dispatch", "strict", "--out", out).code == 0
    return out


def test_the_answer_for_people(shunter: Command, run: Path) -> None:
    answer = shunter("explain", run, 3)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.splitlines()[0] == (
        "Job 3 waited 1 min 30 s because the cluster had at most 4 of the 8 cores that it needs free "
        "until job 1 ended at 100 s."
    )
    for text in ("what it waited for", "who kept it waiting", "left last", "0 jobs submitted later passed it by"):
        assert text in answer.out


def test_only_the_first_are_named(shunter: Command, run: Path) -> None:
    assert "(the first 1 of 2)" in shunter("explain", run, 3, "--top", 1).out
    assert shunter("explain", run, 3, "--top", 0).error() == "--top is 0; expected 1 or more"


def test_the_answer_for_programs(shunter: Command, run: Path) -> None:
    told = shunter("explain", run, 4, "--json").json()
    assert (told["job_id"], told["submit_s"], told["waited_s"], told["outcome"]) == (4, 20, 130, "completed")
    assert told["needs"] == {
        "tasks": 2, "gpus": 0, "cores": 2, "memory_mb": 0, "partition": None, "usable_nodes": 1,
    }  # fmt: skip
    assert told["ran"] == [{"start_s": 150, "end_s": 180, "nodes": {"pool": 2}, "ended": "completed"}]
    assert [(phase["reason"], phase["from_s"], phase["until_s"]) for phase in told["phases"]] == [
        ("cores", 20, 60),
        ("order", 60, 100),
        ("cores", 100, 150),
    ]
    assert told["in_front"] == {"count": 1, "largest": 3}
    named = {(blocker["job_id"], blocker["how"]) for blocker in told["blockers"]}
    assert named == {(1, "held"), (2, "held"), (3, "ahead"), (3, "held")}


def test_a_job_that_did_not_wait(shunter: Command, run: Path) -> None:
    answer = shunter("explain", run, 1)
    assert answer.out.startswith("Job 1 did not wait: it started when it was submitted, at 0 s, on pool.\n")
    assert "who kept it waiting" not in answer.out


def test_a_job_that_was_rejected(shunter: Command, log: Path, out: Path) -> None:
    shunter("simulate", "--workload", log, "--cluster", 7, "--out", out)
    answer = shunter("explain", out, 3)
    assert (
        answer.out == "Job 3 never ran: it was rejected, for it asks for 8 tasks of 1 core; the cluster has 7 cores.\n"
    )


def test_what_is_not_there(shunter: Command, run: Path, tmp_path: Path) -> None:
    assert "nearest ids: 2, 3, 4" in shunter("explain", run, 9).error()
    assert "no manifest.json here" in shunter("explain", tmp_path / "nothing", 1).error()
    pl.read_parquet(run / "schedule.parquet").drop("gpus").write_parquet(run / "schedule.parquet")
    assert "has no column gpus, for an earlier version wrote it; simulate again" in shunter("explain", run, 1).error()


def test_a_manifest_that_does_not_fit(shunter: Command, run: Path) -> None:
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["cluster"]["nodes"][0]["name"] = "another"
    (run / "manifest.json").write_text(json.dumps(manifest))
    assert "does not fit schedule.parquet" in shunter("explain", run, 1).error()


def test_a_job_of_a_local_queue(shunter: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both cores are taken by job 1 while job 2 waits, and job 3 is passed over for it."""
    monkeypatch.chdir(tmp_path)
    jobs = [("sleep 1", 2, "1m"), ("sleep 0.1", 2, "2m"), ("true", 1, "3m")]
    lines = [json.dumps({"command": command, "cores": cores, "time": time}) for command, cores, time in jobs]
    (tmp_path / "jobs.jsonl").write_text("\n".join(lines))
    assert shunter("run", "jobs.jsonl", "--policy", "sjf", "--capacity", 2, "--queue", "./kept").code == 0
    told = shunter("explain", "--queue", "./kept", 2, "--json").json()
    assert told["conclusion"].startswith("Job 2 waited ")
    assert "because the cluster had at most 0 of the 2 cores that it needs free" in told["conclusion"]
    assert told["blockers"][0]["job_id"] == 1
    assert told["waited_s"] > 0.9
    assert (told["policy"], told["chosen_by"]["policy"]) == ("sjf", "sjf")
    assert "3" in told["chosen_by"]["reasons"] or 3 in told["chosen_by"]["starts"]
    [place] = [one for one in told["places_in_line"] if one["place"] == 1][-1:]
    assert place["reason"] == "it does not fit beside those that run and those that start now"
    answer = shunter("explain", "--queue", "./kept", 2)
    assert "number 1 in line: it does not fit beside those that run" in answer.out
    assert "who kept it waiting" in answer.out
    assert "job 9: there is no such job in queue ./kept" in shunter("explain", "--queue", "./kept", 9).error()
    assert "expected one id of a job" in shunter("explain", "--queue", "./kept", "first").error()
    assert "there is none at" in shunter("explain", "--queue", "./none", 1).error()


def test_a_run_without_a_job(shunter: Command, run: Path) -> None:
    assert "no job is given; name a run and a job" in shunter("explain", run).error()
