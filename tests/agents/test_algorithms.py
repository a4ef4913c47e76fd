"""An algorithm of the user's own: its section, its options on the command line, and a training with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import shunter
from shunter.agents.algorithms import ALGORITHMS, AlgorithmKind, PpoOptions, register_algorithm
from shunter.agents.ppo import Ppo
from shunter.agents.training.config import load_config
from shunter.agents.training.option_table import training_options
from shunter.checks import declared
from tests.agents.small_training import LUBLIN


@dataclass(frozen=True)
class MineOptions(PpoOptions):
    """Those of PPO, and one more."""

    courage: float = declared(0.5, "How bold it is.", low=0.0, high=1.0, option="courage", metavar="X")


class Mine(Ppo):
    """PPO that says how bold it is."""

    def update(self) -> dict[str, float]:
        """Plays and learns once."""
        assert isinstance(self._options, MineOptions)
        return super().update() | {"courage": self._options.courage}


@pytest.fixture(autouse=True)
def mine() -> Iterator[None]:
    """Registers the algorithm for a test."""
    register_algorithm("mine", AlgorithmKind(Mine, MineOptions))
    yield
    del ALGORITHMS["mine"]


def test_its_section_has_its_name() -> None:
    config = load_config(changes={"training": {"algorithm": "mine"}, "mine": {"courage": 1.0}, "ppo": {"clip": 0.1}})
    assert config.algorithm == MineOptions(courage=1.0)
    assert config.sections()["mine"]["courage"] == 1.0
    assert "ppo" not in config.sections()
    with pytest.raises(shunter.InputError, match=r"courage is 2.0; expected a number from 0 to 1"):
        load_config(changes={"mine": {"courage": 2.0}})


def test_its_options_are_those_of_the_command_line() -> None:
    options = training_options()
    assert options["courage"].keys == (("mine", "courage"),)
    assert {("ppo", "learning_rate"), ("mine", "learning_rate")} <= set(options["lr"].keys)


@pytest.mark.usefixtures("few_classics")
def test_it_trains(tmp_path: Path) -> None:
    run = shunter.train(
        LUBLIN,
        out=tmp_path / "run",
        steps=64,
        config={
            "training": {"algorithm": "mine"},
            "mine": {"num_envs": 4, "rollout_steps": 16, "minibatch": 32, "epochs": 1},
            "episodes": {"windows": 4, "length": 24},
            "validation": {"windows": 2, "length": 24},
            "report": {"windows": 2},
            "environment": {"window": 8},
        },
    )
    assert run.outcome.steps == 64
    assert ",courage" in (tmp_path / "run" / "progress.csv").read_text().splitlines()[0]
    assert shunter.load_policy(run.folder).kind == "pick-job"
