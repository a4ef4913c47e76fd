"""A checkpoint wherever a policy's name may stand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.agents.untrained import LUBLIN, opinionated, write_policy
from tests.cli.conftest import Command

SHORT = ("--workload", LUBLIN, "--length", 60)


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    """A run whose best policy is f2 with perfect estimates."""
    write_policy(tmp_path / "runs" / "first" / "best", order="f2", estimate="perfect", mode="feasible")
    return str(tmp_path / "runs" / "first")


def test_simulate(shunter: Command, checkpoint: str) -> None:
    learned = shunter("simulate", *SHORT, "--policy", checkpoint, "--json").json()
    options = ("--policy", "f2", "--estimate", "perfect", "--dispatch", "greedy")
    classic = shunter("simulate", *SHORT, *options, "--json").json()
    assert learned["metrics"] == classic["metrics"]
    assert (learned["policy"], learned["dispatch"], learned["estimate"]) == (checkpoint, "greedy", "perfect")
    assert learned["estimated_from"] == {"run-time": 60}
    guarded = shunter("simulate", *SHORT, "--policy", checkpoint, "--max-wait", 60, "--json").json()
    assert guarded["metrics"] == shunter("simulate", *SHORT, *options, "--max-wait", 60, "--json").json()["metrics"]


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (("--estimate", "requested"), "was trained with estimate perfect, but estimate is requested; leave --estimate"),
        (("--scan-depth", 1000), "was trained with scan-depth 7, but scan-depth is 1000; leave --scan-depth"),
    ],
)
def test_a_default_that_is_asked_for_is_not_overruled(
    shunter: Command, tmp_path: Path, option: tuple[str, object], words: str
) -> None:
    checkpoint = write_policy(tmp_path / "best", estimate="perfect", scan_depth=7)
    assert words in shunter("simulate", *SHORT, "--policy", checkpoint, *option).error()
    assert shunter("simulate", *SHORT, "--policy", checkpoint, "--estimate", "perfect").code == 0


def test_the_ledger_is_that_of_the_order(shunter: Command, tmp_path: Path) -> None:
    checkpoint = write_policy(tmp_path / "best", order="priority")
    ledgers = [
        shunter("simulate", *SHORT, "--policy", one, "--json").json()["ledger"] for one in (checkpoint, "priority")
    ]
    assert ledgers[0] == ledgers[1]
    assert "no priority: 0 stands in" in [entry["rule"] for entry in ledgers[0]]


def test_replay(shunter: Command, checkpoint: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert shunter("simulate", *SHORT, "--policy", checkpoint, "--out", out).code == 0
    recorded = json.loads((out / "manifest.json").read_text())["policy"]["path"]
    assert recorded == str(Path(checkpoint).resolve() / "best" / "policy.json")
    assert shunter("replay", out, "--json").json()["same"] is True
    write_policy(Path(checkpoint) / "best", order="fcfs")
    assert "the policy has changed since the run" in shunter("replay", out).error()
    (Path(checkpoint) / "best").rename(tmp_path / "gone")
    assert "its policy" in shunter("replay", out).error()


def test_what_if(shunter: Command, checkpoint: str) -> None:
    changes = ("--change", "cores=+50%", "--change", "policy=sjf")
    result = shunter("what-if", *SHORT, "--policy", checkpoint, *changes, "--json").json()
    assert [result["base"]["policy"], *(case["policy"] for case in result["cases"])] == [checkpoint, checkpoint, "sjf"]
    assert [case["dispatch"] for case in result["cases"]] == ["greedy", "easy"]
    error = shunter("what-if", *SHORT, "--policy", checkpoint, "--change", "dispatch=easy").error()
    assert "was trained with dispatch greedy, but dispatch is easy; leave --dispatch (dispatch) out" in error


def test_compare(shunter: Command, checkpoint: str, tmp_path: Path) -> None:
    options = ("--policy", f"fcfs,f2,{checkpoint}", "--dispatch", "greedy,easy", "--estimate", "requested,perfect")
    small = ("--workload", LUBLIN, "--windows", 3, "--length", 40)
    plot = tmp_path / "figure.png"
    result = shunter("compare", *small, *options, "--baseline", "first", "--plot", plot, "--json").json()
    rows = {row["label"]: row for row in result["combinations"]}
    assert result["baseline"] == "first/greedy/perfect"
    assert rows["first/greedy/perfect"]["geometric_mean"] == rows["f2/greedy/perfect"]["geometric_mean"]
    assert rows["f2/greedy/perfect"]["ratio"] == 1.0
    assert len(rows) == 2 * 2 * 2 + 1
    assert "was trained with dispatch greedy, but dispatch is easy" in result["skipped"][0]
    assert plot.stat().st_size > 10_000


def test_outputs_spare_the_checkpoint(shunter: Command, checkpoint: str) -> None:
    plot = Path(checkpoint) / "best" / "policy.png"
    plot.symlink_to(Path(checkpoint) / "best" / "policy.json")
    answer = shunter("simulate", *SHORT, "--policy", checkpoint, "--plot", plot)
    assert "--plot would overwrite the policy" in answer.error()


def test_errors(shunter: Command, tmp_path: Path, checkpoint: str) -> None:
    assert "no checkpoint here" in shunter("simulate", *SHORT, "--policy", tmp_path).error()
    assert "there is no such folder or file" in shunter("simulate", *SHORT, "--policy", "runs/nobody").error()
    weights = Path(checkpoint) / "best" / "policy.safetensors"
    weights.write_bytes(b"")
    assert str(weights) in shunter("simulate", *SHORT, "--policy", checkpoint).error()


def test_damaged_weights(shunter: Command, tmp_path: Path, checkpoint: str) -> None:
    weights = tmp_path / "runs" / "first" / "best" / "policy.safetensors"
    whole = weights.read_bytes()
    other = Path(write_policy(tmp_path / "other", order="f2", change=opinionated))
    for content in (b"", whole[:40], whole[:-1], (other / "policy.safetensors").read_bytes()):
        weights.write_bytes(content)
        for verb in ("simulate", "compare", "what-if"):
            options = (*SHORT, "--change", "cores=80") if verb == "what-if" else SHORT
            message = shunter(verb, *options, "--policy", checkpoint).error()
            assert message.startswith(f"{weights}: is not the file that policy.json was written with")
