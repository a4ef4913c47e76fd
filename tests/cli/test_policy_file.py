"""A policy of the user's own on the command line: found, run, recorded, and replayed only if unchanged."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Command

SHORTEST = """
from shunter import Policy

class Shortest(Policy):
    name = "mine"
    moves = False
    def score(self, queue):
        return queue.estimate_s
"""
WORKLOAD = "generate:lublin?seed=3&jobs=300&cores=64&load=1.1&requests=factor"


@pytest.fixture
def policy_file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(SHORTEST)
    return path


def test_a_policy_file_decides(shunter: Command, policy_file: Path) -> None:
    mine = shunter("simulate", "--workload", WORKLOAD, "--policy", policy_file, "--json").json()
    sjf = shunter("simulate", "--workload", WORKLOAD, "--policy", "sjf", "--json").json()
    fcfs = shunter("simulate", "--workload", WORKLOAD, "--policy", "fcfs", "--json").json()
    assert mine["policy"] == "mine"
    assert mine["metrics"] == sjf["metrics"] != fcfs["metrics"]


def test_a_class_can_be_named(shunter: Command, policy_file: Path) -> None:
    policy_file.write_text(SHORTEST + SHORTEST.replace("Shortest", "Other").replace("mine", "other"))
    named = shunter("simulate", "--workload", WORKLOAD, "--policy", f"{policy_file}:Other", "--json").json()
    assert named["policy"] == "other"
    refused = shunter("simulate", "--workload", WORKLOAD, "--policy", policy_file)
    assert "2 policies (Shortest, Other)" in refused.error()


def test_a_replay_wants_the_same_policy(shunter: Command, policy_file: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shunter("simulate", "--workload", WORKLOAD, "--policy", f"{policy_file}:Shortest", "--out", run, "--json").json()
    assert shunter("replay", run, "--trust", "--json").json()["same"]
    policy_file.write_text(SHORTEST.replace("queue.estimate_s", "queue.cores"))
    assert "mine.py: the policy has changed since the run" in shunter("replay", run).error()
    policy_file.unlink()
    assert "mine.py is gone" in shunter("replay", run).error()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("x = 1", "mine.py: defines 0 policies"),
        ("1 +", "mine.py:1: SyntaxError"),
        (SHORTEST.replace("queue.estimate_s", "queue.estimate_s[:1]"), "'mine' gave scores of shape (1,)"),
        (SHORTEST.replace("queue.estimate_s", "queue.estimate_s * float('nan')"), "'mine' gave nan as a score"),
        (SHORTEST + "    def __init__(self, x): pass", "mine.py: the policy cannot be made without arguments"),
    ],
)
def test_a_wrong_file_is_explained(shunter: Command, policy_file: Path, text: str, complaint: str) -> None:
    policy_file.write_text(text)
    assert complaint in shunter("simulate", "--workload", WORKLOAD, "--policy", policy_file).error()


def test_a_missing_file_or_class_is_explained(shunter: Command, policy_file: Path) -> None:
    missing = shunter("simulate", "--workload", WORKLOAD, "--policy", "nowhere.py")
    assert "'nowhere.py': there is no such file" in missing.error()
    unnamed = shunter("simulate", "--workload", WORKLOAD, "--policy", f"{policy_file}:Nobody")
    assert "has no policy 'Nobody'" in unnamed.error()
