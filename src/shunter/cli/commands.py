"""How verbs are shown and loaded: verbs and options in groups, and each verb imported when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar, Final

import typer
from typer.core import TyperCommand
from typer.main import get_command

from shunter.checks import check_name
from shunter.cli.errors import OneLineErrorGroup

OTHER: Final = "Options"
"""The group of options that belong to no other."""
ARGUMENTS: Final = "Arguments"
GROUPS: Final = {
    "The log and the cluster": ("workload", "cluster", "load", "format", "map", "columns", "only", "strict"),
    "How to schedule": (
        "policy", "dispatch", "placement", "estimate", "missing_request", "reserve_by", "kill_at_request", "max_wait",
        "scan_depth", "seed",
    ),
    "Preemption and failures": (
        "preemption_overhead", "preempted_progress", "min_run", "failures", "mtbf", "mttr", "failed_progress",
    ),
    "Windows of the log": (
        "start", "length", "windows", "blocks", "warmup", "part", "train", "report", "report_windows",
    ),
    "What comes out": ("metric", "top", "out", "force", "plot", "save", "json", "threads"),
}  # fmt: skip
"""The groups in which the help shows options, by the names of their parameters."""
_GROUP_OF: Final = {name: group for group, names in GROUPS.items() for name in names}


@dataclass(frozen=True)
class Verb:
    """What the help of all verbs says of one."""

    group: str
    summary: str


class GroupedCommand(TyperCommand):
    """A verb whose help shows its options in groups, each with its default."""

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - Click's types, which Typer hides
        """Writes the options, group by group; those of the verb alone come last."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                group, shown = self.group_of(parameter.name), record[0]
                if parameter.param_type_name == "argument":
                    # Click would show the type of a list behind the name.
                    group, shown = ARGUMENTS, str(parameter.metavar)
                groups.setdefault(group, []).append((shown, _with_default(parameter, record[1])))
        order = [ARGUMENTS, *(group for group in groups if group not in (ARGUMENTS, OTHER)), OTHER]
        for name in (group for group in order if group in groups):
            with formatter.section(name):
                formatter.write_dl(groups[name])

    def group_of(self, parameter: str) -> str:
        """Returns the group of an option, by the name of its parameter."""
        return _GROUP_OF.get(parameter, OTHER)


def _with_default(parameter: Any, text: str) -> str:  # noqa: ANN401 - Click's parameters, which Typer hides
    """Returns the help of an option with its default, where Click leaves out that there is none."""
    is_said = any(mark in text for mark in ("[default", "[required", "; required]", "; default"))
    if is_said or parameter.param_type_name != "option" or parameter.name == "help":
        return text
    return f"{text}  [default: {'off' if parameter.is_flag else 'none'}]"


def load_verb(name: str) -> Any:  # noqa: ANN401 - Click's commands, which Typer hides
    """Returns a verb's command, from the module and the function that are called like it."""
    python_name = name.replace("-", "_")
    module = import_module(f"shunter.cli.{python_name}")
    entry = getattr(module, python_name)
    if not isinstance(entry, typer.Typer):
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(name, cls=getattr(module, "COMMAND", GroupedCommand))(entry)
        entry = app
    command = get_command(entry)
    command.name = name
    return command


class VerbGroup(OneLineErrorGroup):
    """All verbs, of which only the one that is asked for is imported."""

    verbs: ClassVar[Mapping[str, Verb]] = {}

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 - Click's context
        """Returns the names of all verbs."""
        return list(self.verbs)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401 - Click's context and commands
        """Returns a verb.

        Raises:
            InputError: There is none of this name.
        """
        return load_verb(check_name("verb", cmd_name, self.verbs))

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - Click's types
        """Writes the verbs, group by group, with a whole line each."""
        for group in dict.fromkeys(verb.group for verb in self.verbs.values()):
            with formatter.section(group):
                formatter.write_dl([(name, verb.summary) for name, verb in self.verbs.items() if verb.group == group])
