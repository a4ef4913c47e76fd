"""The options of ``shunter train`` that stand for keys of a training file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shunter.agents.algorithms import ALGORITHMS
from shunter.agents.training.config import config_from, load_config
from shunter.agents.training.option_table import training_options
from shunter.cli.parsing import BadParameter, Context
from shunter.cli.train_options import (
    Sections,
    TrainCommand,
    add_settings,
    bound,
    given_changes,
    weights,
    whole_numbers,
    whole_range,
)
from shunter.envs.kinds import ENVIRONMENTS
from shunter.envs.pick_host import PickHostOptions
from shunter.errors import InputError
from tests.cli.conftest import Command


class Given:
    """A verb with the options of ``shunter train`` that keeps what it is given."""

    def __init__(self) -> None:
        self.changes: Sections = {}

        def verb(context: Context) -> None:
            self.changes = given_changes(context, [])

        self.command = TrainCommand("verb", verb)

    def __call__(self, *arguments: str) -> Sections:
        self.command.run(arguments, "verb")
        return self.changes


def test_only_what_is_given_is_handed_over() -> None:
    given = Given()
    assert given() == {}
    assert given("--steps", "5", "--lr", "0.1", "--max-wait", "60", "--patience", "none") == {
        "training": {"steps": 5, "patience": "none"},
        # All algorithms have a learning rate; the one that is trained with counts.
        **{algorithm: {"learning_rate": 0.1} for algorithm in ALGORITHMS},
        "environment": {"max_wait_s": 60.0},
    }


def test_every_option_shows_a_default_and_what_its_value_is(shunter: Command) -> None:
    text = " ".join(shunter("train", "--help").out.split())
    for name, option in training_options().items():
        # A switch has no value, but a way to switch it off.
        value = option.said.metavar or f"/ --no-{name}"
        assert f" --{name} {value} " in text
        assert option.said.help, name
    others = ("--set", "--preset", "--config", "--out", "--resume", "--force", "--seeds", "--on", "--print-config")
    assert text.count("[default: ") == len(training_options()) + len((*others, "--trust", "--json"))
    assert "[default: (1024 in [episodes], 512 in [validation])]" in text


def test_every_option_stands_for_keys_that_there_are() -> None:
    every = [
        config_from({"environment": {"kind": kind}, "training": {"algorithm": algorithm}}, "here").sections()
        for kind in ENVIRONMENTS
        for algorithm in ALGORITHMS
    ]
    for name, option in training_options().items():
        for section, key in option.keys:
            assert any(key in sections.get(section, {}) for sections in every), name


def test_what_is_drawn_for_hosts() -> None:
    drawn = ("--host-cores", "4", "--host-memory", "8:16", "--job-cores", "1:2", "--job-memory", "512:1024")
    counts = ("--num-hosts", "5", "--max-jobs-per-step", "3", "--episode-length", "20")
    changes = Given()("--env", "pick-host", *drawn, *counts)
    assert config_from(changes, "here").environment == PickHostOptions(
        num_hosts=5,
        max_jobs_per_step=3,
        episode_length=20,
        host_cores=(4, 4),
        host_memory_gb=(8, 16),
        job_cores=(1, 2),
        job_memory_mb=(512, 1024),
    )


@pytest.mark.parametrize("text", ["1:2:3", "x", "1:", ""])
def test_ranges_that_are_wrong(text: str) -> None:
    with pytest.raises(BadParameter):
        whole_range(text)


def test_the_length_is_that_of_training_and_of_validation() -> None:
    assert Given()("--length", "64") == {"episodes": {"length": 64}, "validation": {"length": 64}}


def test_bounds_together() -> None:
    changes = Given()("--bound", "mean-wait=1.1", "--bound", "utilization=0.9")
    assert changes == {"reward": {"bounds": {"wait": 1.1, "utilization": 0.9}}}


def test_logs_together() -> None:
    assert Given()("--workload", "a.swf", "--workload", "b.swf") == {"data": {"workload": ["a.swf", "b.swf"]}}


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
    with pytest.raises(BadParameter):
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
    changes: Sections = {}
    add_settings(changes, [text])
    section, key = text.partition("=")[0].split(".")
    assert changes == {section: {key: value}}


@pytest.mark.parametrize("text", ["clip=0.1", "ppo.clip", ".clip=1", "ppo.=1"])
def test_keys_that_are_wrong(text: str) -> None:
    with pytest.raises(InputError, match=r"expected section.key=value, as in ppo.clip=0.1"):
        add_settings({}, [text])


def test_the_printed_file_has_every_key_with_its_help_and_means_the_same(shunter: Command, tmp_path: Path) -> None:
    answer = shunter("train", "generate:lublin", "--lr", "1e-3", "--patience", "none", "--print-config")
    assert (answer.code, answer.err) == (0, "")
    file = tmp_path / "mine.toml"
    file.write_text(answer.out)
    config = load_config(file)
    expected: dict[str, dict[str, Any]] = {"data": {"workload": ["generate:lublin"]}, "ppo": {"learning_rate": 1e-3}}
    assert config == load_config(preset="pick-job", changes=expected)
    lines = answer.out.splitlines()
    for section, table in config.sections().items():
        begin = lines.index(f"[{section}]")
        for key in table:
            place = next(at for at, line in enumerate(lines) if at > begin and line.startswith(f"{key} = "))
            assert lines[place - 1].startswith("# "), f"{section}.{key}"
    assert lines[lines.index("learning_rate = 0.001") - 1] == "# The learning rate."
    # What is printed is a training file: nothing else is on standard output, and nothing is written.
    assert shunter("train", "--config", file, "--print-config").out == answer.out
    assert "did you mean 'clip'?" in shunter("train", "--set", "ppo.clp=1", "--print-config").error()
