"""The tables of ``docs/environments.md`` say what the code has."""

from __future__ import annotations

import re

from shunter.checks import declarations
from shunter.envs.episodes import PARTS
from shunter.envs.layout import (
    CLUSTER_FEATURES,
    HISTORY_FEATURES,
    JOB_FEATURES,
    PAIR_FEATURES,
    RUNNING_FEATURES,
    TYPE_FEATURES,
)
from shunter.envs.pick_host import PickHostOptions
from shunter.envs.pick_job import PickJobOptions
from shunter.envs.pick_job_and_type import PickJobAndTypeOptions
from shunter.envs.queue_options import LOOKAHEADS
from shunter.envs.rewards import HIGHER_IS_BETTER, OBJECTIVES
from shunter.policies.catalog import PICK_JOB_MODES
from tests.support import PROJECT

TEXT = (PROJECT / "docs" / "environments.md").read_text(encoding="utf-8")


def rows(header: str) -> list[list[str]]:
    """Returns the cells of the table whose first header cell this is."""
    lines = TEXT.splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith(f"| {header} |"))
    found = []
    for line in lines[begin + 2 :]:
        if not line.startswith("|"):
            break
        found.append([cell.strip() for cell in line.strip("|").split("|")])
    return found


def names(header: str) -> list[str]:
    """Returns what stands in backticks in the first cells."""
    return [name for row in rows(header) for name in re.findall(r"`([^`]+)`", row[0])]


def test_features() -> None:
    assert tuple(names("cluster feature")) == CLUSTER_FEATURES
    assert tuple(names("job feature")) == JOB_FEATURES
    assert tuple(names("history feature")) == HISTORY_FEATURES
    assert tuple(names("running feature")) == RUNNING_FEATURES
    assert tuple(names("type feature")) == TYPE_FEATURES
    assert tuple(names("pair feature")) == PAIR_FEATURES
    assert f"`window` (default {PickJobAndTypeOptions().window})" in TEXT
    assert f"`placement` (default `{PickJobAndTypeOptions().placement}`" in TEXT


def test_rewards_and_which_way_is_better() -> None:
    table = {re.findall(r"`(\w+)`", name)[0]: better for name, _, better in rows("name")}
    assert tuple(table) == OBJECTIVES
    assert {name for name, better in table.items() if better == "higher"} == HIGHER_IS_BETTER
    assert set(table.values()) == {"higher", "lower"}


def test_modes_and_lookaheads() -> None:
    assert names("mode") == list(PICK_JOB_MODES)
    assert names("`lookahead`") == list(LOOKAHEADS)
    assert "`reserve` (default)" in TEXT
    assert PickJobOptions().mode == "reserve"
    assert "`cdf` (default)" in TEXT
    assert PickJobOptions().lookahead == "cdf"
    assert f"`lookahead_size` (default {PickJobOptions().lookahead_size})" in TEXT


def test_options_of_hosts_and_their_defaults() -> None:
    defaults = PickHostOptions()
    described: dict[str, object] = {}
    options: list[str] = []
    for cell, option, default in rows("what is drawn"):
        options += re.findall(r"`--([\w-]+)`", option)
        for name, text in zip(re.findall(r"`(\w+)`", cell), default.split(","), strict=True):
            numbers = tuple(int(number) for number in re.findall(r"\d+", text))
            described[name] = numbers if len(numbers) == 2 else numbers[0]
    assert described == {name: getattr(defaults, name) for name in PickHostOptions.drawn()}
    said = declarations(PickHostOptions)
    assert sorted(options) == sorted(said[name].option for name in PickHostOptions.drawn() if said[name].option)


def test_parts() -> None:
    for name, (low, high) in PARTS.items():
        assert f"`{name}` {low:g} – {high:g}" in TEXT
