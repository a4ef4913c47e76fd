"""Training by a function: the same run as the command's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shunter
from shunter.errors import InputError
from shunter.files import read_toml
from tests.agents.small_training import HOSTS, LUBLIN, SMALL

SECTIONS = {name: table for name, table in SMALL.items() if name != "data"}


pytestmark = pytest.mark.usefixtures("few_classics")


def test_a_run_by_its_arguments_and_sections(tmp_path: Path) -> None:
    out = tmp_path / "run"
    run = shunter.train(LUBLIN, out=out, steps=128, seed=3, config=SECTIONS)
    assert run.folder == out
    assert (run.outcome.reason, run.outcome.steps) == ("steps", 128)
    assert run.result()["run"] == str(out)
    assert len(run.result()["parts"]) == len(run.parts) == 2
    written = read_toml(out / "config.toml")
    assert written["data"]["workload"] == [LUBLIN]
    assert (written["training"]["steps"], written["training"]["seed"]) == (128, 3)
    assert written["environment"]["window"] == SMALL["environment"]["window"]
    assert "seed" not in SECTIONS["training"]
    layout = shunter.load_policy(run.folder).layout
    observation, mask = np.zeros(layout.observation_size, np.float32), np.ones(layout.actions, np.bool_)
    assert 0 <= shunter.load_policy(run.folder).action(observation, mask) < layout.actions


def test_a_file_and_going_on(tmp_path: Path) -> None:
    first = shunter.train([LUBLIN], out=tmp_path / "first", config=SECTIONS, steps=64)
    again = shunter.train(out=tmp_path / "again", config=first.folder / "config.toml")
    for name in ("best", "last"):
        files = [run.folder / name / "policy.safetensors" for run in (first, again)]
        assert files[0].read_bytes() == files[1].read_bytes()
    on = shunter.train(out=str(first.folder), resume=True, steps=128)
    assert (on.is_resumed, on.outcome.steps) == (True, 128)


def test_hosts_draw_their_own_jobs(tmp_path: Path) -> None:
    run = shunter.train(env="pick-host", out=tmp_path / "run", steps=64, config=HOSTS)
    assert shunter.load_policy(run.folder).kind == "pick-host"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "no log to learn from"),
        ({"workload": 3}, "workload is int; expected a file, what generates one, or a list of these"),
        ({"workload": [LUBLIN, None]}, "workload is list; expected a file"),
        ({"workload": LUBLIN, "steps": 1.5}, "steps"),
        ({"workload": LUBLIN, "preset": "slow"}, "unknown preset 'slow'"),
        ({"workload": LUBLIN, "config": {"ppo": 3}}, "config['ppo'] is 3; expected a section, as in {'ppo'"),
        ({"workload": LUBLIN, "config": {"ppo": {"clip": -1}}}, "clip"),
        ({"workload": LUBLIN, "config": "no.toml"}, "no.toml"),
        ({"workload": LUBLIN, "resume": True, "force": True}, "--force overwrites it; give one of them"),
    ],
)
def test_mistakes(tmp_path: Path, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        shunter.train(out=tmp_path / "run", **arguments)
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "run").exists()
