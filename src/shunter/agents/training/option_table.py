"""The options of a training by name: each is a declared field of a section, or of several."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, get_type_hints

from shunter.agents.algorithms import ALGORITHMS
from shunter.agents.networks import NetworkOptions
from shunter.agents.training.config import DataOptions, ReportOptions, TrainingOptions
from shunter.checks import NOTHING, RANGE, Declaration, declarations, to_table
from shunter.envs.episodes import EpisodeOptions
from shunter.envs.kinds import ENVIRONMENTS
from shunter.envs.rewards import RewardOptions

_PART: Final = "The part of each log, as fractions of its jobs, "
EPISODES: Final = {
    ("episodes", "part"): ("train", _PART + "that is trained on."),
    ("validation", "part"): ("validation", _PART + "that the best policy is chosen on."),
    ("episodes", "windows"): ("windows", "How many windows of each log are trained on."),
    ("validation", "windows"): ("validation-windows", "How many windows of each log the best policy is chosen on."),
    ("episodes", "length"): ("length", "How many jobs of each window are measured, in training and validation."),
    ("validation", "length"): ("length", ""),
    ("episodes", "warmup"): (
        "warmup",
        "How many jobs before each window are simulated too, and not measured.",
    ),
    ("validation", "warmup"): ("warmup", ""),
}
"""Training and validation have the same keys; these are their options."""


@dataclass(frozen=True)
class Option:
    """An option of the command line, and the keys of a training file that it stands for."""

    name: str
    """Without the hyphens before it."""
    keys: tuple[tuple[str, str], ...]
    """The section and the key of each."""
    hint: Any
    """The type of their values."""
    said: Declaration


def training_options() -> dict[str, Option]:
    """Returns all options by name, in the order of the sections."""
    found: dict[str, Option] = {}
    for section, key, hint, said in _declared():
        earlier = found.get(said.option)
        if earlier is None:
            found[said.option] = Option(said.option, ((section, key),), hint, said)
        else:
            found[said.option] = replace(earlier, keys=(*earlier.keys, (section, key)))
    return found


def _declared() -> Iterator[tuple[str, str, Any, Declaration]]:
    """Yields section, key, type and declaration of each key that has an option."""
    sections: list[tuple[str, type[Any]]] = [
        ("data", DataOptions),
        *(("environment", kind) for kind in ENVIRONMENTS.values()),
        ("episodes", EpisodeOptions),
        ("validation", EpisodeOptions),
        ("report", ReportOptions),
        ("reward", RewardOptions),
        ("network", NetworkOptions),
        *((name, kind.options) for name, kind in ALGORITHMS.items()),
        ("training", TrainingOptions),
    ]
    for section, kind in sections:
        # Before the first kind of environment, so that the help shows what is chosen before its options.
        if (section, kind) == sections[1]:
            yield "environment", "kind", str, KIND
        hints = get_type_hints(kind)
        for key, said in declarations(kind).items():
            # Training and validation have one class; by its fields alone their options would have the same names.
            option, help = EPISODES.get((section, key), (said.option, said.help))
            if option:
                yield section, key, hints[key], replace(said, option=option, help=help)


KIND: Final = Declaration(
    help="What is decided: which job starts next, which job on which type of GPU, or on which host the first job of "
    "the queue runs.",
    choices=ENVIRONMENTS,
    option="env",
    metavar="NAME",
)
"""The key ``[environment] kind``, which chooses a class and is no field of one."""


def option_name(section: str, key: str) -> str | None:
    """Returns the name of the option that gives a key; None: it has none of its own."""
    return next((name for name, one in training_options().items() if (section, key) in one.keys), None)


def default_text(option: Option, sections: dict[str, dict[str, Any]]) -> str:
    """Returns what the help of an option shows as its default.

    Args:
        option: The option.
        sections: The configuration that one gets without any option.
    """
    # Of the algorithms only the one that is trained with has a section; others tell their own defaults.
    present = [(section, key) for section, key in option.keys if section in sections]
    if not present:
        section, key = option.keys[0]
        present, sections = [(section, key)], {section: to_table(ALGORITHMS[section].options())}
    told = {section: _default_text(option.said, sections[section].get(key, NOTHING)) for section, key in present}
    if set(told.values()) == {NOTHING} and option.said.shown_default:
        return option.said.shown_default
    if len(set(told.values())) == 1:
        return next(iter(told.values()))
    return ", ".join(f"{text} in [{section}]" for section, text in told.items())


def _default_text(said: Declaration, value: Any) -> str:  # noqa: ANN401 - whatever a key holds
    if isinstance(value, dict):
        return ",".join(f"{name}={each:g}" for name, each in value.items()) or NOTHING
    if isinstance(value, list):
        return (":" if said.metavar == RANGE else ",").join(f"{each:g}" for each in value) or NOTHING
    return str(value)
