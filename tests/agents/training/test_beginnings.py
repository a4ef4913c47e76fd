"""Where a training begins."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch

from shunter.agents.learned_policy import load_policy
from shunter.agents.networks import NetworkOptions, build
from shunter.agents.training.beginnings import (
    ORDER_TEMPERATURE,
    Copies,
    beginning_changes,
    beginning_notes,
    load_beginning,
)
from shunter.agents.training.config import TrainConfig, TrainingOptions, load_config
from shunter.envs.pick_job import PickJobOptions
from shunter.errors import InputError
from tests.agents.untrained import opinionated, write_policy

TUNED = """
[policy]
kind = "linear"
estimate = 1.0
cores = 0.5

[estimate]
kind = "last-two"
"""


@pytest.fixture
def tuned(tmp_path: Path) -> str:
    path = tmp_path / "found.toml"
    path.write_text(TUNED)
    return str(path)


def test_a_tuned_policy_brings_its_order_and_its_estimate(tuned: str) -> None:
    assert beginning_changes(tuned) == {"environment": {"order": tuned, "estimate": tuned}}


def test_a_file_without_an_estimate_brings_its_order(tmp_path: Path) -> None:
    path = tmp_path / "order.toml"
    path.write_text('[policy]\nkind = "linear"\n')
    assert beginning_changes(str(path)) == {"environment": {"order": str(path)}}


def test_a_tuned_policy_brings_its_guard_and_another_rule_is_told(tuned: str) -> None:
    with Path(tuned).open("a") as file:
        file.write('\n[settings]\ndispatch = "conservative"\nmax_wait_s = 7200.0\n')
    brought = beginning_changes(tuned)
    assert brought == {"environment": {"order": tuned, "estimate": tuned, "max_wait_s": 7200.0}}
    config = load_config(changes={"training": {"init": tuned}}, beginning=brought)
    notes = beginning_notes(config, brought)
    assert notes == [f"--init {tuned} goes with conservative; what is learned decides as easy does"]


def test_a_checkpoint_brings_its_environment_and_its_network(tmp_path: Path) -> None:
    folder = write_policy(tmp_path / "policy", order="sjf", window=9)
    config = load_config(changes=beginning_changes(folder))
    policy = load_policy(folder)
    assert isinstance(config.environment, PickJobOptions)
    assert (config.environment.order, config.environment.window) == ("sjf", 9)
    assert config.environment == policy.options
    assert config.network.order_temperature == 1.0


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ("nowhere", "--init nowhere: there is no such folder; give FILE.toml, or the folder of a checkpoint"),
        ("nowhere.toml", "nowhere.toml: no such file"),
    ],
)
def test_what_is_not_there(init: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        beginning_changes(init)


def test_a_log_is_no_beginning(tmp_path: Path) -> None:
    log = tmp_path / "log.swf"
    log.write_text("")
    with pytest.raises(InputError, match=r"log.swf: is a file, but no .toml; give FILE.toml"):
        beginning_changes(str(log))


def test_a_file_of_something_else(tmp_path: Path) -> None:
    path = tmp_path / "prior.toml"
    path.write_text('[estimate]\nkind = "last-two"\n')
    with pytest.raises(InputError, match=r"has no section \[policy\]; give a file that 'shunter tune' has written"):
        beginning_changes(str(path))


def settled(config: TrainConfig, folder: Path) -> TrainConfig:
    return Copies.of(config).settle(config, folder)


def test_the_run_keeps_its_own_copy(tuned: str, tmp_path: Path) -> None:
    config = load_config(changes={"training": {"init": tuned}}, beginning=beginning_changes(tuned))
    own = settled(config, tmp_path / "run")
    copy = tmp_path / "run" / "files" / Path(tuned).name
    assert copy.read_text() == TUNED
    assert isinstance(own.environment, PickJobOptions)
    assert own.environment.order == own.environment.estimate == own.training.init == str(copy)
    assert own.network.order_temperature == ORDER_TEMPERATURE


def test_files_that_are_no_beginning_are_copied_too(tuned: str, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text('[policy]\nkind = "linear"\n')
    config = load_config(changes={"environment": {"order": str(other), "estimate": tuned}})
    own = settled(config, tmp_path / "run")
    assert isinstance(own.environment, PickJobOptions)
    names = [own.environment.order, own.environment.estimate]
    assert names == [str(tmp_path / "run" / "files" / name) for name in ("other.toml", Path(tuned).name)]
    assert [Path(name).read_text() for name in names] == [other.read_text(), TUNED]
    assert own.network.order_temperature is None


def test_files_of_one_name_have_two_copies(tuned: str, tmp_path: Path) -> None:
    other = tmp_path / "other" / Path(tuned).name.upper().replace("TOML", "toml")
    other.parent.mkdir()
    other.write_text('[policy]\nkind = "linear"\n')
    config = load_config(changes={"environment": {"order": str(other), "estimate": tuned}})
    own = settled(config, tmp_path / "run")
    assert isinstance(own.environment, PickJobOptions)
    names = [Path(name) for name in (own.environment.order, own.environment.estimate)]
    assert [name.name for name in names] == [other.name, f"{Path(tuned).stem}-2.toml"]
    assert [name.read_text() for name in names] == [other.read_text(), TUNED]


def test_a_copy_may_come_from_the_folder_itself(tuned: str, tmp_path: Path) -> None:
    own = settled(load_config(changes={"training": {"init": tuned}}), tmp_path / "run")
    copies = Copies.of(own)
    (copy,) = (tmp_path / "run" / "files").iterdir()
    copy.unlink()
    assert copies.settle(own, tmp_path / "run") == own
    assert copy.read_text() == TUNED


def test_what_the_user_says_stays(tuned: str, tmp_path: Path) -> None:
    changes: dict[str, dict[str, Any]] = {
        "environment": {"order": tuned, "estimate": "requested"},
        "network": {"order_temperature": 2.0},
    }
    own = settled(load_config(changes={**changes, "training": {"init": tuned}}), tmp_path / "run")
    assert isinstance(own.environment, PickJobOptions)
    assert (own.environment.estimate, own.network.order_temperature) == ("requested", 2.0)


def test_what_stands_against_a_beginning_is_told(tuned: str) -> None:
    brought = beginning_changes(tuned)
    changes = {"environment": {"estimate": "requested"}, "training": {"init": tuned}}
    assert beginning_notes(load_config(changes=changes, beginning=brought), brought) == [
        f"--init {tuned} brings [environment] estimate {tuned!r}; asked for was 'requested', which stands"
    ]
    assert beginning_notes(load_config(beginning=brought), brought) == []


def test_other_beginnings_change_nothing(tmp_path: Path) -> None:
    config = load_config(changes={"training": {"init": str(tmp_path)}})
    assert settled(config, tmp_path / "run") == config
    assert list((tmp_path / "run").iterdir()) == []


def test_hosts_have_no_order_to_begin_as(tuned: str) -> None:
    with pytest.raises(InputError, match="pick-host has no order to begin as; give a checkpoint"):
        beginning_changes(tuned, "pick-host")


def test_the_weights_of_a_checkpoint_are_loaded(tmp_path: Path) -> None:
    folder = write_policy(tmp_path / "policy", change=opinionated)
    policy = load_policy(folder)
    network = build(policy.record.network, policy.layout, seed=7)
    load_beginning(network, policy.layout, TrainingOptions(init=folder))
    for name, weights in policy.network.state_dict().items():
        assert torch.equal(network.state_dict()[name], weights), name


@pytest.mark.parametrize("init", [None, "some.toml"])
def test_without_a_checkpoint_weights_stay_fresh(init: str | None) -> None:
    options, kind = PickJobOptions(window=4), NetworkOptions()
    network = build(kind, options.layout, seed=7)
    load_beginning(network, options.layout, TrainingOptions(init=init))
    for name, weights in build(kind, options.layout, seed=7).state_dict().items():
        assert torch.equal(network.state_dict()[name], weights), name


def test_a_checkpoint_for_other_observations(tmp_path: Path) -> None:
    folder = write_policy(tmp_path / "policy", window=9)
    options, kind = PickJobOptions(window=10), NetworkOptions()
    network = build(kind, options.layout)
    with pytest.raises(InputError, match="was made for other observations: window 9 instead of 10"):
        load_beginning(network, options.layout, TrainingOptions(init=folder))


@pytest.mark.parametrize(
    ("earlier", "now", "expected"),
    [
        (
            "ppo",
            "d3qn",
            "was learned by ppo, whose network tells which actions are preferred; that of d3qn tells what actions are "
            "worth; take --algorithm ppo or sac or reinforce, or a checkpoint of d3qn",
        ),
        ("d3qn", "sac", "was learned by d3qn, whose network tells what actions are worth; that of sac tells which"),
    ],
)
def test_a_checkpoint_of_an_agent_whose_scores_mean_something_else(
    tmp_path: Path, earlier: str, now: str, expected: str
) -> None:
    folder = write_policy(tmp_path / "policy", training={"algorithm": earlier})
    policy = load_policy(folder)
    network = build(policy.record.network, policy.layout)
    with pytest.raises(InputError, match=re.escape(expected)):
        load_beginning(network, policy.layout, TrainingOptions(init=folder, algorithm=now))


@pytest.mark.parametrize(("earlier", "now"), [("ppo", "sac"), ("d3qn", "d3qn"), ("mine", "d3qn")])
def test_a_checkpoint_of_an_agent_whose_scores_mean_the_same_or_are_unknown(
    tmp_path: Path, earlier: str, now: str
) -> None:
    folder = write_policy(tmp_path / "policy", training={"algorithm": earlier}, change=opinionated)
    policy = load_policy(folder)
    network = build(policy.record.network, policy.layout, seed=7)
    load_beginning(network, policy.layout, TrainingOptions(init=folder, algorithm=now))
    for name, weights in policy.network.state_dict().items():
        assert torch.equal(network.state_dict()[name], weights), name
