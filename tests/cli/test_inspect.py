"""``shunter inspect``: what it prints."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agents.untrained import LUBLIN, edit_policy, opinionated, write_host_policy, write_policy
from tests.cli.conftest import Command

SMALL = ("--workload", LUBLIN, "--windows", 2, "--length", 50)


def test_json_is_one_object(shunter: Command, tmp_path: Path) -> None:
    run = tmp_path / "first"
    write_policy(run / "best", order="f2", estimate="posterior", training={"steps": 1000})
    result = shunter("inspect", run, *SMALL, "--json").json()
    assert result["checkpoint"] == str(run / "best")
    assert (result["kind"], result["options"]["order"], result["options"]["mode"]) == ("pick-job", "f2", "reserve")
    assert result["options"]["placement"] is None
    assert (result["actions"], result["observation_size"]) == (17, 16 + 16 + 16 * 21)
    assert result["network"]["kind"] == "kernel"
    assert result["parameters"] > 100
    assert result["training"] == {"steps": 1000}
    assert (result["watched"], result["windows"], result["length"]) == (LUBLIN, 2, 50)
    assert result["agreement"]["f2"] == 1.0
    assert len(result["importance"]) == 38
    assert result["importance"][0]["feature"] == "order_gap"
    assert result["choices"] > 10
    assert result["signs_of_collapse"] == ["it always chooses row 1: it is its order, f2"]
    again = shunter("inspect", run, *SMALL, "--json").json()
    assert again == result


@pytest.mark.parametrize("is_host", [False, True])
def test_pytorch_is_not_loaded(tmp_path: Path, is_host: bool) -> None:
    checkpoint = (write_host_policy if is_host else write_policy)(tmp_path / "best")
    words = ["inspect", checkpoint, "--windows", "1", *([] if is_host else ["--length", "100"]), "--json"]
    script = f"import sys; from shunter.cli import main; sys.argv[1:] = {words!r}; main()"
    loaded = "import atexit, sys; atexit.register(lambda: print('torch' in sys.modules, file=sys.stderr)); "
    done = subprocess.run([sys.executable, "-c", loaded + script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "False\n")
    assert json.loads(done.stdout)["dead_units"]


def test_tables_for_people(shunter: Command, tmp_path: Path) -> None:
    checkpoint = write_policy(tmp_path / "best", change=opinionated, training={"objective": "mean_wait_s"})
    answer = shunter("inspect", checkpoint, *SMALL)
    assert (answer.code, answer.err) == (0, "")
    for words in (
        "kernel, hidden",
        "training: objective",
        "choices between two actions or more",
        "mean entropy of its choices",
        "makes the same choice between jobs",
        "moves probabilities by",
        "(23 more in --json)",
        "no sign of collapse",
    ):
        assert words in answer.out
    assert "max_wait_s" not in answer.out


def test_a_generated_workload_where_none_is_given(shunter: Command, tmp_path: Path) -> None:
    answer = shunter("inspect", write_policy(tmp_path / "best"), "--windows", 1, "--length", 100)
    assert "watched in generate:lublin" in answer.out
    assert "sign of collapse: it always chooses row 1: it is its order, fcfs" in answer.out


def test_where_there_is_nothing_to_choose(shunter: Command, tmp_path: Path) -> None:
    checkpoint = write_policy(tmp_path / "best", mode="committed")
    log = tmp_path / "quiet.csv"
    log.write_text("submit_s,run_s,cores_per_task\n" + "".join(f"{1000 * job},10,1\n" for job in range(10)))
    options = ("--workload", log, "--cluster", 4, "--windows", 1, "--length", 10)
    assert "there was nothing to choose" in shunter("inspect", checkpoint, *options).out
    result = shunter("inspect", checkpoint, *options, "--json").json()
    assert (result["entropy"], result["importance"], result["signs_of_collapse"]) == (None, [], [])


def test_too_few_choices_are_no_sign(shunter: Command, tmp_path: Path) -> None:
    options = ("--workload", LUBLIN, "--windows", 1, "--length", 20)
    answer = shunter("inspect", write_policy(tmp_path / "best"), *options)
    assert "fewer than 50 choices tell nothing of collapse; give a busier log, or more windows" in answer.out
    assert "sign of collapse" not in answer.out


def test_a_policy_that_chooses_hosts(shunter: Command, tmp_path: Path) -> None:
    checkpoint = write_host_policy(tmp_path / "best", change=opinionated)
    result = shunter("inspect", checkpoint, "--windows", 2, "--json").json()
    assert (result["kind"], result["watched"], result["agreement"]) == ("pick-host", "2 drawn episodes", {})
    assert len(result["importance"]) == 6
    assert shunter("inspect", checkpoint, "--windows", 2).code == 0
    assert "leave --workload out" in shunter("inspect", checkpoint, *SMALL).error()


def test_errors(shunter: Command, tmp_path: Path) -> None:
    assert "no checkpoint here" in shunter("inspect", tmp_path).error()
    checkpoint = Path(write_policy(tmp_path / "best"))
    assert "a window has 900 jobs" in shunter("inspect", checkpoint, "--workload", LUBLIN, "--length", 900).error()
    assert "--part is 'x'" in shunter("inspect", checkpoint, *SMALL, "--part", "x").error()
    for windows in (0, -1):
        message = f"--windows is {windows}; expected 1"
        assert message in shunter("inspect", checkpoint, "--workload", LUBLIN, "--windows", windows).error()
    weights = checkpoint / "policy.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    assert str(weights) in shunter("inspect", checkpoint, *SMALL).error()


@pytest.mark.parametrize("windows", [0, 10**9])
def test_a_number_of_drawn_episodes_that_makes_no_sense(shunter: Command, tmp_path: Path, windows: int) -> None:
    checkpoint = write_host_policy(tmp_path / "best")
    assert "--windows is" in shunter("inspect", checkpoint, "--windows", windows).error()
    assert "--seed (seed) is -1" in shunter("inspect", checkpoint, "--seed", -1).error()


def test_a_checkpoint_of_another_build(shunter: Command, tmp_path: Path) -> None:
    """Whose observations this version does not make."""
    checkpoint = Path(write_policy(tmp_path / "best"))
    edit_policy(checkpoint, lambda about: about["layout"].update(window=99))
    assert "layout and options do not agree" in shunter("inspect", checkpoint, *SMALL).error()
