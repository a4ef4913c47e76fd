"""The options of ``shunter train`` that stand for keys of a training file."""

from __future__ import annotations

from inspect import signature
from typing import Any

import pytest
import typer

from shunter.agents.config import config_from
from shunter.cli.train import train
from shunter.cli.train_options import FLAGS, Changes, add_settings, bound, takes_changes, weights, whole_numbers
from shunter.errors import InputError


def test_every_flag_stands_for_a_key_that_there_is() -> None:
    sections = config_from({}, "here").sections()
    for flag in FLAGS:
        for name in flag.keys:
            section, key = name.split(".")
            assert key in sections[section], flag.name


def test_flags_are_options_of_the_verb() -> None:
    shown = signature(train).parameters
    for flag in FLAGS:
        assert shown[flag.name].default is None
    assert "changes" not in shown


def given(**values: object) -> Changes:
    """Returns what a verb is handed when Typer calls it with these values."""
    handed: list[Changes] = []

    def verb(*, changes: Changes) -> None:
        handed.append(changes)

    takes_changes(verb)(**{flag.name: values.get(flag.name) for flag in FLAGS})
    return handed[0]


def test_only_what_is_given_is_handed_over() -> None:
    assert given() == {}
    assert given(steps=5, lr=0.1, max_wait=60.0) == {
        "training": {"steps": 5},
        "ppo": {"learning_rate": 0.1},
        "environment": {"max_wait_s": 60.0},
    }


def test_the_length_is_that_of_training_and_of_validation() -> None:
    assert given(length=64) == {"episodes": {"length": 64}, "validation": {"length": 64}}


def test_bounds_together() -> None:
    changes = given(bound=[bound("mean-wait=1.1"), bound("utilization=0.9")])
    assert changes == {"reward": {"bounds": {"wait": 1.1, "utilization": 0.9}}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [("wait", {"wait": 1.0}), ("bounded_slowdown=1, wait=0.2", {"bounded_slowdown": 1.0, "wait": 0.2})],
)
def test_rewards(text: str, expected: dict[str, float]) -> None:
    assert weights(text) == expected


def test_sizes() -> None:
    assert whole_numbers("32, 16") == [32, 16]


@pytest.mark.parametrize("text", ["p95-wait=2", "wait", "wait=x", "=1"])
def test_bounds_that_are_wrong(text: str) -> None:
    with pytest.raises(typer.BadParameter):
        bound(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("ppo.clip=0.1", 0.1),
        ("environment.num_hosts=40", 40),
        ("reward.log=true", True),
        ("environment.host_cores=[2, 4]", [2, 4]),
        ("environment.estimate=noisy?sigma=2", "noisy?sigma=2"),
        ("network.order_temperature=none", "none"),
    ],
)
def test_any_other_key(text: str, value: Any) -> None:  # noqa: ANN401 - whatever the key holds
    changes = Changes()
    add_settings(changes, [text])
    section, key = text.partition("=")[0].split(".")
    assert changes == {section: {key: value}}


@pytest.mark.parametrize("text", ["clip=0.1", "ppo.clip", ".clip=1", "ppo.=1"])
def test_keys_that_are_wrong(text: str) -> None:
    with pytest.raises(InputError, match=r"expected section.key=value, as in ppo.clip=0.1"):
        add_settings(Changes(), [text])
