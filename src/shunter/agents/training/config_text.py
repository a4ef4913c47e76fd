"""A whole training file for people: every key with its value, and above it what it means."""

from __future__ import annotations

from dataclasses import fields
from textwrap import wrap
from typing import TYPE_CHECKING, Final

from shunter.agents.training.config import ALGORITHM
from shunter.agents.training.option_table import EPISODES, KIND
from shunter.checks import declarations
from shunter.files import toml_value

if TYPE_CHECKING:
    from shunter.agents.training.config import TrainConfig
    from shunter.checks import Declaration

WIDTH: Final = 100


def commented_toml(config: TrainConfig) -> str:
    """Returns the file of a training; `load_config` reads the same training from it."""
    tables = config.sections()
    parts = []
    for one in fields(config):
        name = config.training.algorithm if one.name == ALGORITHM else one.name
        said = {"kind": KIND} if name == "environment" else {}
        said |= declarations(type(getattr(config, one.name)))
        lines = [f"[{name}]\n"]
        for key, value in tables[name].items():
            _, episode_help = EPISODES.get((name, key), ("", ""))
            lines += [f"# {line}\n" for line in wrap(_words(said[key], episode_help), WIDTH)]
            lines.append(f"{key} = {toml_value(value)}\n")
        parts.append("".join(lines))
    return "\n".join(parts)


def _words(said: Declaration, help: str) -> str:
    """Returns what a key means, what it may be, and by which option it is given."""
    choices = f" One of {', '.join(said.choices)}." if said.choices else ""
    return (help or said.help) + choices
