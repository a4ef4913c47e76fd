"""What an algorithm brings with it, and options that mean nothing to it."""

from __future__ import annotations

import pytest

from shunter.agents.algorithms import D3qnOptions, ReinforceOptions
from shunter.agents.training.config import load_config
from shunter.envs.pick_job import PickJobOptions
from shunter.errors import InputError


def test_reinforce_looks_at_the_first_seven_jobs() -> None:
    config = load_config(preset="pick-job", changes={"training": {"algorithm": "reinforce"}})
    assert isinstance(config.environment, PickJobOptions)
    assert isinstance(config.algorithm, ReinforceOptions)
    assert config.environment.window == 7
    wider = load_config(changes={"training": {"algorithm": "reinforce"}, "environment": {"window": 9}})
    assert isinstance(wider.environment, PickJobOptions)
    assert wider.environment.window == 9


def test_a_window_means_nothing_to_hosts() -> None:
    config = load_config(preset="pick-host", changes={"training": {"algorithm": "reinforce"}})
    assert config.kind == "pick-host"


def test_d3qn_begins_with_random_weights_unless_it_is_given_a_beginning() -> None:
    changes = {"training": {"algorithm": "d3qn"}}
    assert load_config(preset="pick-job", changes=changes).network.order_temperature is None
    given = load_config(preset="pick-job", changes=changes, beginning={"network": {"order_temperature": 4.0}})
    assert given.network.order_temperature == 4.0
    assert load_config(preset="pick-job").network.order_temperature is not None


def test_options_of_another_algorithm_are_refused() -> None:
    with pytest.raises(InputError, match=r"^\[d3qn\] dueling means nothing to ppo; take --algorithm d3qn, or"):
        load_config(changes={"d3qn": {"dueling": False}})
    # One that both have is written to the sections of both.
    config = load_config(
        changes={"training": {"algorithm": "d3qn"}, "ppo": {"gamma": 0.5}, "d3qn": {"gamma": 0.5, "dueling": False}}
    )
    assert config.algorithm == D3qnOptions(gamma=0.5, dueling=False)


def test_a_file_may_have_sections_of_several() -> None:
    config = load_config(beginning={"ppo": {"clip": 0.1}}, changes={"training": {"algorithm": "sac"}})
    assert "ppo" not in config.sections()
