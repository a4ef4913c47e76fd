"""``shunter operate`` as operators use it, beside programs that answer as Slurm's do."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Command

CONFIG = "SelectTypeParameters    = CR_CORE\nPriorityType            = priority/multifactor\n"


class Pretended:
    """Programs that print what files hold, and write down what they are told to change."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.told = folder / "told"
        # Setting a site factor is what sprio tells from then on.
        scripts = {
            "squeue": f"cat {folder}/jobs",
            "sinfo": f"cat {folder}/nodes",
            "sprio": f"cat {folder}/factors",
            "scontrol": f'[ "$1" = show ] && {{ printf "{CONFIG}"; exit; }}; echo "$*" >> {self.told}',
        }
        for name, text in scripts.items():
            (folder / name).write_text(f"#!/bin/sh\n{text}\n")
            (folder / name).chmod(0o755)
        nodes = [{"name": "n1", "cpus": 2, "real_memory": 1, "state": "idle", "partitions": ["main"]}]
        (folder / "nodes").write_text(json.dumps({"nodes": nodes}))
        self.write({})

    def write(self, factors: dict[int, int]) -> None:
        """Writes what the programs tell: one job that runs, three that wait."""
        now = int(time.time())
        told = {"user_name": "ann", "partition": "main", "submit_time": now - 90, "eligible_time": now - 90, "cpus": 2}
        jobs = [{"job_id": 1, "job_state": "RUNNING", "nodes": "n1", "start_time": now - 60, "time_limit": 60, **told}]
        for id, minutes in ((2, 9), (3, 1), (4, 5)):
            waits = {"job_state": "PENDING", "state_reason": "Priority", "priority": 100 + factors.get(id, 0)}
            mark = "shunter" if factors.get(id) else ""
            jobs.append({"job_id": id, "time_limit": minutes, "admin_comment": mark, **waits, **told})
        (self.folder / "jobs").write_text(json.dumps({"jobs": jobs}))
        (self.folder / "factors").write_text("".join(f"{id} {factors.get(id, 0)}\n" for id in (2, 3, 4)))

    def commands(self) -> list[str]:
        """Returns what was changed."""
        return self.told.read_text().splitlines() if self.told.exists() else []


@pytest.fixture
def slurm(tmp_path: Path) -> Pretended:
    """Programs that answer as Slurm's do."""
    return Pretended(tmp_path / "programs")


@pytest.fixture
def operate(tmp_path: Path, slurm: Pretended, shunter: Command) -> Command:
    """The command line of an operation beside them."""
    config = tmp_path / "operate.toml"
    # Where other tests keep the machine busy, a decision may take longer than usual.
    config.write_text(f'programs = "{slurm.folder}"\ndeadline_s = 30.0\n')

    def run(verb: str, *words: object) -> object:
        more = ("--config", config) if verb == "slurm" else ()
        return shunter("operate", verb, "--state", tmp_path / "state", *more, *words)

    return run  # type: ignore[return-value]


def test_observing_nudging_and_undoing(operate: Command, slurm: Pretended, tmp_path: Path, shunter: Command) -> None:
    seen = operate("slurm", "--policy", "sjf", "--once")
    assert "slurm has 2, 3, 4; sjf has 3, 4, 2 (67% of pairs the other way round)" in seen.out
    assert "sjf would start now: nobody" in seen.out
    assert slurm.commands() == []
    dry = operate("slurm", "--policy", "sjf", "--once", "--mode", "nudge", "--dry-run")
    shown = [line.partition("scontrol ")[2] for line in dry.out.splitlines() if "scontrol" in line]
    assert shown == ["update JobId=2 SiteFactor=-50 AdminComment=shunter"], "the other two stand in order already"
    assert slurm.commands() == []
    assert operate("slurm", "--policy", "sjf", "--once", "--mode", "nudge").code == 0
    assert slurm.commands() == shown
    factors = {int(line.split()[1][6:]): int(line.split()[2].partition("=")[2]) for line in slurm.commands()}
    slurm.write(factors)
    status = operate("status")
    assert "Mode      nudge" in status.out
    assert "Process   none works here; undo what is changed with: shunter operate undo" in status.out
    assert "Reading   " in status.out
    assert f"Changed   {len(factors)} now" in status.out
    assert operate("status", "--json").json()["decisions"] == 1
    metrics = tmp_path / "state" / "metrics.prom"
    assert f"shunter_operate_held {len(factors)}\n" in metrics.read_text()
    assert operate("undo").out == f"Undone: {len(factors)} change{'' if len(factors) == 1 else 's'}\n"
    told = metrics.read_text().splitlines()
    of_nobody = {"shunter_operate_held 0", "shunter_operate_up 0", "shunter_operate_mode 0"}
    assert of_nobody | {f"shunter_operate_undone_total {len(factors)}"} <= set(told)
    undone = [line for line in slurm.commands() if line.endswith("SiteFactor=0 AdminComment=")]
    assert len(undone) == len(factors)
    assert "Changed   0 now" in operate("status").out
    slurm.write({})
    again = shunter("operate", "replay", tmp_path / "state" / "audit.jsonl", "--policy", "sjf")
    assert again.code == 0
    assert "3 decided again, 0 failed" in again.out
    assert "first job 100%, pairs of jobs 100%, starts 100%" in again.out
    worse = shunter("operate", "replay", tmp_path / "state" / "audit.jsonl", "--policy", "ljf", "--json")
    assert worse.code == 1
    found = json.loads(worse.out)
    assert not found["is_better"]
    assert found["simulated"]["policy"]["mean_wait_s"] > found["simulated"]["against"]["mean_wait_s"]
    assert 'shunter_operate_decision_seconds_bucket{le="+Inf"} 1' in told
    assert "ann" not in metrics.read_text()
    assert all(os.stat(path).st_mode & 0o777 == 0o640 for path in (tmp_path / "state").glob("*.*"))


def test_status_tells_what_was_found_out_and_eta_asks_an_operation(
    operate: Command, tmp_path: Path, shunter: Command
) -> None:
    state = tmp_path / "state"
    assert "has an operation begun here?" in shunter("eta", "--operate", state).error()
    operate("slurm", "--policy", "sjf", "--once")
    assert "Starts    0 predictions open, 0 scored, 0 left the queue" in operate("status").out
    told = operate("status", "--json").json()
    assert (told["site_words"], told["counterfactual"]) == ({"policy": "fcfs"}, None)
    told["counterfactual"] = {"lines": ["4 jobs in 1.00 h, 3 of them ended", "sjf would have changed nothing"]}
    (state / "status.json").write_text(json.dumps(told))
    out = operate("status").out
    assert "What if   4 jobs in 1.00 h, 3 of them ended\n          sjf would have changed nothing\n" in out
    found = shunter("eta", "--operate", state, "--futures", "9", "--json").json()
    assert ([job["job_id"] for job in found["jobs"]], found["policy"], found["left_out"]) == ([2, 3, 4], "fcfs", 0)
    shorter = shunter("eta", "--operate", state, "--futures", "9", "--policy", "sjf", "--json").json()
    assert shorter["policy"] == "sjf", "what is asked for goes over what the operation says"
    asked = shunter("eta", "--operate", state, "--futures", "9", "--cores", "2", "--time", "1h")
    assert "a job of 2 cores for 1.00 h, submitted now: starts" in asked.out
    assert "are given; give one of" in shunter("eta", "--operate", state, "--queue", "default").error()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("slurm", "--mode", "advise"), "unknown mode 'advise'; the known ones are off, observe, nudge, enforce"),
        (("slurm", "--mode", "enforce"), "add --i-understand"),
        (("slurm", "--mode", "enforce", "--i-understand"), "mode enforce needs an allow-list"),
        (("slurm", "--policy", "sfj"), "did you mean 'sjf'?"),
        (("slurm", "--policy", "srtf"), "stops running jobs"),
        (("slurm", "--history", "no-such.log"), "no-such.log"),
        (("undo",), "there is no such folder"),
        (("slurm", "--once", "--config", ""), "Invalid value for '--config': it is empty"),
        (("status",), "there is no such folder"),
    ],
)
def test_mistakes_are_told_in_one_line(operate: Command, words: tuple[str, ...], said: str) -> None:
    answer = operate(words[0], *words[1:])
    assert said in answer.err
    assert (answer.code, len(answer.err.splitlines())) == (2, 1)


@pytest.mark.parametrize("key", ["policy", "dispatch", "fallback", "site_policy", "site_dispatch", "history"])
def test_a_mistake_in_the_file_names_the_file_and_the_key(operate: Command, tmp_path: Path, key: str) -> None:
    config = tmp_path / "operate.toml"
    config.write_text(f'{config.read_text()}{key} = "no-such"\n')
    assert f"{config}: {key}: " in operate("slurm", "--once").error()


def test_partitions_that_there_are_not_are_told_once_and_in_the_status(operate: Command, tmp_path: Path) -> None:
    config = tmp_path / "operate.toml"
    config.write_text(f'{config.read_text()}partitions = ["main", "nope"]\n')
    said = "partitions names 'nope', which the site does not have; it has main"
    assert operate("slurm", "--once").out.count(said) == 1
    assert f"Trouble   {said}" in operate("status").out


@pytest.mark.parametrize("text", ["{}", "[]", "7", "{"])
def test_a_status_that_is_none_is_told(operate: Command, tmp_path: Path, text: str) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "status.json").write_text(text)
    assert "status.json: cannot be read" in operate("status").error()


def test_python_that_a_file_names_is_run_only_if_it_is_trusted(
    operate: Command, slurm: Pretended, tmp_path: Path
) -> None:
    own = tmp_path / "own.py"
    score = "    def score(self, queue):\n        return -queue.requested_s\n"
    own.write_text(f"import shunter\n\n\nclass Own(shunter.Policy):\n{score}")
    config = tmp_path / "operate.toml"
    config.write_text(f'{config.read_text()}policy = "{own}"\n')
    assert "which is Python that would be run" in operate("slurm", "--once").err
    assert operate("slurm", "--once", "--trust").code == 0
    assert json.loads((tmp_path / "state" / "audit.jsonl").read_text())["order"] == [2, 4, 3]
    config.chmod(0o666)
    assert "everybody may write it" in operate("slurm", "--once", "--trust").err


def test_an_audit_that_is_none_is_told(shunter: Command, tmp_path: Path) -> None:
    audit = tmp_path / "audit.jsonl"
    assert "there is no such file" in shunter("operate", "replay", audit, "--policy", "sjf").error()
    audit.write_text('{"hello": 1}\n')
    assert "is no line of an audit" in shunter("operate", "replay", audit, "--policy", "sjf").error()
    audit.write_text('{"schema": 1, "input_sha256": "00", "order": [], "chosen": {}, "policy": "sjf"}\n')
    assert "nothing of it can be decided again" in shunter("operate", "replay", audit, "--policy", "sjf").error()
    audit.write_text('{"schema": 1, "time_s": 1.0, "candidates": []}\n')
    assert "in none of its cycles" in shunter("operate", "replay", audit, "--policy", "sjf").error()
