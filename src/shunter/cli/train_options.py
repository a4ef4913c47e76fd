"""The options of ``shunter train``: one for each declared key of a training file that has one.

`TrainCommand` makes them when they are first asked for, because the declarations load NumPy and Gymnasium, which
``shunter --help`` does not need.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from inspect import Parameter
from typing import TYPE_CHECKING, Annotated, Any, Final, get_args

import click

from shunter.checks import NOTHING, TIME
from shunter.cli.commands import GroupedCommand
from shunter.cli.options import duration, given_text
from shunter.cli.parsing import BadParameter, Context, number, parameter, whole_number
from shunter.cli.parsing import Option as CommandOption
from shunter.cli.parsing import Parameter as CommandParameter
from shunter.errors import InputError

if TYPE_CHECKING:
    from shunter.agents.training.option_table import Option

BOUNDED: Final = {"mean-wait": "wait", "wait": "wait", "utilization": "utilization"}
"""What can be bounded, and what rewards call it."""
CHANGES: Final = "shunter.changes"
"""Under this name the context of the verb has what the options say."""


Sections = dict[str, dict[str, Any]]
"""What the command line says of a training, by section and key."""


def whole_numbers(text: str) -> list[int]:
    """Returns the whole numbers that an option was given, with commas between them."""
    return [whole_number(part.strip()) for part in text.split(",")]


def whole_range(text: str) -> list[int]:
    """Returns the range of whole numbers that an option was given: ``1:8``, or ``4`` for 4 alone."""
    ends = [whole_number(part.strip()) for part in text.split(":")]
    if len(ends) > 2:
        raise BadParameter(f"{text!r} is no range; expected two whole numbers, as in 1:8, or one")
    return [ends[0], ends[-1]]


def weights(text: str) -> dict[str, float]:
    """Returns the rewards that an option was given: ``wait``, or ``bounded_slowdown=1,wait=0.2``."""
    given = {}
    for part in text.split(","):
        name, equals, weight = part.partition("=")
        given[name.strip()] = number(weight) if equals else 1.0
    return given


def bound(text: str) -> tuple[str, float]:
    """Returns the bound that an option was given: ``mean-wait=1.1``."""
    name, equals, factor = text.partition("=")
    if not equals or name not in BOUNDED:
        raise BadParameter(f"{text!r} is no bound; expected mean-wait=X or utilization=X, as in mean-wait=1.1")
    return BOUNDED[name], number(factor)


SECTIONS: Final = {
    "data": "The log and the cluster",
    "environment": "What is decided, and what the policy sees",
    "episodes": "What it is trained on",
    "validation": "What the best policy is chosen on",
    "report": "What the result is judged on",
    "reward": "What is rewarded",
    "network": "The network",
    "ppo": "The algorithm",
    "d3qn": "Deep Q-learning (--algorithm d3qn), and what it shares with sac",
    "sac": "Soft actor-critic (--algorithm sac)",
    "reinforce": "REINFORCE (--algorithm reinforce)",
    "training": "The training",
}
"""The groups of the help, by the sections of a training file."""
PARSERS: Final[dict[str, Callable[[str], Any]]] = {"hidden": whole_numbers, "reward": weights, "bound": bound}
"""The options that are written in a way of their own."""
SEVERAL: Final = ("workload", "cluster", "bound")
"""The options that may be given several times."""

SetOption = Annotated[
    list[str] | None,
    CommandOption(
        "--set",
        parser=given_text,
        metavar="KEY=VALUE",
        show_default="none",
        help="Any other key of a training file, as in ppo.clip=0.1 or environment.lookahead_size=32.",
    ),
]


class TrainCommand(GroupedCommand):
    """A command with one option for each declared key of a training file, besides those of its function."""

    def declared_parameters(self) -> list[CommandParameter]:
        """Returns the options: those of a training first."""
        return [*_training_parameters(), *super().declared_parameters()]

    def group_of(self, parameter: str) -> str:
        """Returns the section of the training file that an option stands for, in words."""
        from shunter.agents.training.option_table import training_options

        option = training_options().get(parameter.replace("_", "-"))
        return SECTIONS[option.keys[0][0]] if option is not None else super().group_of(parameter)

    def invoke(self, ctx: click.Context) -> None:
        """Puts what the options of a training say, by section and key, into the context, for `given_changes`."""
        from shunter.agents.training.option_table import training_options

        changes: Sections = {}
        for name, option in training_options().items():
            value = ctx.params.pop(_parameter_name(name), None)
            # Only what was given: everything else comes from preset, file and beginning.
            if value not in (None, (), []):
                value = dict(value) if name == "bound" else list(value) if name in SEVERAL else value
                for section, key in option.keys:
                    changes.setdefault(section, {})[key] = value
        ctx.meta[CHANGES] = changes
        super().invoke(ctx)


def given_changes(context: Context, texts: Iterable[str]) -> Sections:
    """Returns what the options of a training say, and ``--set``.

    Raises:
        InputError: A key of ``--set`` has no section, or there is no value.
    """
    changes: Sections = context.meta[CHANGES]
    add_settings(changes, texts)
    return changes


def _training_parameters() -> list[CommandParameter]:
    """Returns the options of a training."""
    from shunter.agents.training.config import load_config
    from shunter.agents.training.option_table import default_text, training_options

    sections = load_config(preset="pick-job").sections()
    made = (_parameter(option, default_text(option, sections)) for option in training_options().values())
    return [parameter(one) for one in made]


def _parameter_name(option: str) -> str:
    return option.replace("-", "_")


def _parameter(option: Option, default: str) -> Parameter:
    name = _parameter_name(option.name)
    if _is_switch(option):
        switch = CommandOption(
            f"--{option.name}/--no-{option.name}",
            help=option.said.help,
            show_default=option.said.shown_default or ("on" if default == "True" else "off"),
        )
        return Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[bool | None, switch])
    choices = ", ".join(option.said.choices)
    shown = CommandOption(
        f"--{option.name}",
        parser=_parser(option),
        metavar=option.said.metavar,
        help=option.said.help + (f" One of {choices}." if choices else ""),
        show_default=default,
    )
    kind: object = list[str] | None if option.name in SEVERAL else str | None
    return Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind, shown])


def _is_switch(option: Option) -> bool:
    return bool in (get_args(option.hint) or (option.hint,))


def _parser(option: Option) -> Callable[[str], Any]:
    """Returns what reads the text of an option, by the type of its keys."""
    if option.name in PARSERS:
        return PARSERS[option.name]
    # The type that a key has in a training file is the type of its option.
    kinds = get_args(option.hint) or (option.hint,)
    parse: Callable[[str], Any] = given_text
    if kinds == (int, int):
        parse = whole_range
    elif int in kinds:
        parse = whole_number
    elif float in kinds and str not in kinds:
        parse = duration if option.said.metavar == TIME else number
    if type(None) not in kinds or parse is given_text:
        return parse
    return lambda text: NOTHING if text == NOTHING else parse(text)


def add_settings(changes: Sections, texts: Iterable[str]) -> None:
    """Adds what ``--set`` gave.

    Raises:
        InputError: A key has no section, or there is no value.
    """
    for text in texts:
        name, equals, value = text.partition("=")
        section, dot, key = name.strip().partition(".")
        if not (equals and dot and section and key):
            raise InputError(f"--set is {text!r}; expected section.key=value, as in ppo.clip=0.1")
        changes.setdefault(section, {})[key] = _value(value.strip())


def _value(text: str) -> object:
    """Returns the number, the list, ``true`` or ``false`` that a text is; any other is itself."""
    try:
        # JSON has numbers, lists and true as TOML has them; a bare word is text.
        return json.loads(text)
    except ValueError:
        return text
