"""Command lines: the parameters of a function as options and arguments of Click, and the help that shows them.

A verb is a function, and the annotations of its parameters say how each is written on the command line::

    def verb(file: Annotated[str, Argument(metavar="FILE")], cores: Annotated[int, Option("--cores", "-c")] = 1): ...

A client of a queue is a process that lives for a few milliseconds: a verb is imported when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from inspect import Parameter as Declared
from inspect import getdoc, signature
from types import NoneType
from typing import Annotated, Any, Final, get_args, get_origin

import click
from click import BadParameter as BadParameter
from click import NoSuchOption, UsageError
from click import echo as echo
from click.core import ParameterSource, augment_usage_errors
from click.exceptions import Exit as Exit

from shunter.checks import check_name

HELP: Final = ("-h", "--help")
Entry = tuple[str, str]
"""What stands to the left and to the right in a list of the help."""
ARGUMENTS, OPTIONS = "Arguments", "Options"
"""The first heading of a help, and the last one."""


def whole_number(text: str) -> int:
    """Returns the whole number that an option was given."""
    try:
        return int(text)
    except ValueError:
        raise BadParameter(f"{text!r} is not a whole number") from None


def number(text: str) -> float:
    """Returns the number that an option was given."""
    try:
        return float(text)
    except ValueError:
        raise BadParameter(f"{text!r} is not a number") from None


_PARSERS: Final[dict[object, Callable[[str], Any]]] = {int: whole_number, float: number}
"""What reads the text of an option that brings no parser of its own, by its type; other types do it themselves."""


class Argument:
    """Declares an argument, which is known by its place."""

    def __init__(
        self,
        *names: str,
        parser: Callable[[str], Any] | None = None,
        show_default: bool | str = True,
        help: str = "",
        **about: Any,  # noqa: ANN401 - passed on to Click
    ) -> None:
        """Declares one.

        Args:
            names: Those of an option, which is otherwise called as its parameter is.
            parser: Returns the value of a text, or raises `BadParameter`; None: its type tells.
            show_default: What the help says of its default, if it does not speak for itself; False: nothing.
            help: What the help says of it.
            about: What else Click may be told: its `metavar`, a `callback`, whether it is `hidden`.
        """
        self.names = names
        self.parser = parser
        self.show_default = show_default
        self.help = help
        self.about = about


class Option(Argument):
    """Declares an option, which is known by its names; ``--x/--no-x`` names a switch that can be turned off, too."""


class _Text(click.ParamType):  # type: ignore[type-arg]  # Older versions of Click have none.
    """The text of an option or an argument; unlike in a function that Click is given, an `InputError` stays one."""

    name = "text"

    def __init__(self, parse: Callable[[str], Any]) -> None:
        self.parse = parse

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401
        return self.parse(value)


class _ShownOption(click.Option):
    """An option whose help says its default, also if that is nothing."""

    usual: Any = None
    shown: bool | str = True

    def get_help_record(self, ctx: click.Context) -> Entry | None:
        record = super().get_help_record(ctx)
        return record and (record[0], _with_default(self, record[1]))


class _ShownArgument(click.Argument):
    """An argument whose help is shown with those of the options."""

    usual: Any = None
    shown: bool | str = True

    def get_help_record(self, ctx: click.Context) -> Entry:
        help = self.help or ""
        if self.required and not isinstance(self.shown, str):
            help = f"{help}  [required]".lstrip()
        return self.human_readable_name, _with_default(self, help)

    def get_usage_pieces(self, ctx: click.Context) -> list[str]:
        called = self.human_readable_name.removesuffix("...")
        return [(called if self.required else f"[{called}]") + ("..." if self.nargs < 0 else "")]


Parameter = _ShownOption | _ShownArgument
"""An option or an argument, as Click knows it."""


def _with_default(one: Parameter, help: str) -> str:
    if isinstance(one.shown, str):
        default = f"({one.shown})"
    elif one.shown is False or one.required or isinstance(one, click.Argument):
        return help
    elif one.is_flag:
        default = "on" if one.usual else "off"
    else:
        default = "none" if one.usual in (None, "") else str(one.usual)
    return f"{help}  [default: {default}]".lstrip()


def is_many(one: Parameter) -> bool:
    """Returns whether a parameter may be given several times, or takes all words that are left."""
    return one.multiple or one.nargs < 0


def parameter(declared: Declared) -> Parameter:
    """Returns what a parameter of a function declares; without a word of the command line, it is an option."""
    kind, said = _told(declared.annotation)
    if NoneType in get_args(kind):
        kind = next(one for one in get_args(kind) if one is not NoneType)
    is_list = get_origin(kind) is list
    kind = get_args(kind)[0] if is_list else kind
    about = said.about | {"required": declared.default is Declared.empty}
    about["metavar"] = about.get("metavar") or declared.name.upper()
    if kind is not bool:
        about["type"] = _Text(said.parser or _PARSERS.get(kind, kind))
    made: Parameter
    if isinstance(said, Option):
        names = said.names or (f"--{declared.name.replace('_', '-')}",)
        made = _ShownOption([declared.name, *names], is_flag=kind is bool or None, multiple=is_list, **about)
    else:
        made = _ShownArgument([declared.name], nargs=-1 if is_list else 1, **about)
    made.help, made.shown = said.help, said.show_default
    made.usual = None if made.required else declared.default
    return made


def _told(annotation: Any) -> tuple[Any, Argument]:  # noqa: ANN401 - a type
    """Returns the type of a parameter, and how it is written on the command line."""
    kind, *notes = get_args(annotation) if get_origin(annotation) is Annotated else [annotation]
    return kind, next((note for note in notes if isinstance(note, Argument)), Option())


class _Formatter(click.HelpFormatter):
    """Breaks lines between words only: names of options are full of hyphens, and examples are copied from the help."""

    def write_text(self, text: str) -> None:
        parts = []
        for part in text.split("\n\n"):
            indent = " " * (self.current_indent + len(part) - len(part.lstrip()))
            parts.append(self._filled(" ".join(part.split()), indent, indent))
        self.write("\n".join(parts))

    def write_dl(self, rows: Iterable[Entry], col_max: int = 30, col_spacing: int = 2) -> None:
        rows = list(rows)
        width = min(max(len(left) for left, _ in rows), col_max)
        before, indent = " " * self.current_indent, " " * (self.current_indent + width + col_spacing)
        for left, right in rows:
            begin = f"{before}{left}".ljust(len(indent))
            if len(left) > width:
                self.write(f"{begin.rstrip()}\n")
                begin = indent
            self.write(self._filled(right, begin, indent) if right else f"{begin.rstrip()}\n")

    def _filled(self, text: str, begin: str, indent: str) -> str:
        import textwrap

        options: Any = {"break_long_words": False, "break_on_hyphens": False}
        return textwrap.fill(text, self.width, initial_indent=begin, subsequent_indent=indent, **options) + "\n"


class Context(click.Context):
    """One command line: what it says to a command."""

    formatter_class = _Formatter

    @property
    def given(self) -> set[str]:
        """The names of the parameters that were given, and not left at their defaults."""
        return {name for name in self.params if self.get_parameter_source(name) is ParameterSource.COMMANDLINE}


class Command(click.Command):
    """A verb."""

    context_class = Context

    def __init__(self, name: str, function: Callable[..., Any], **said: Any) -> None:  # noqa: ANN401 - for Click
        # Annotations are text in our modules.
        self._declared = signature(function, eval_str=True).parameters.values()
        context = [one.name for one in self._declared if one.annotation is Context]

        def called(**given: object) -> None:
            function(**given, **dict.fromkeys(context, click.get_current_context()))

        settings = {"help_option_names": HELP}
        usual = {"callback": called, "help": getdoc(function), "context_settings": settings}
        super().__init__(name, **{**usual, **said})
        self.own = self.own_parameters()
        self.params = list(self.own)

    def own_parameters(self) -> list[Parameter]:
        """Returns the options and arguments that the function declares."""
        return [parameter(one) for one in self._declared if one.annotation is not Context]

    def group_of(self, parameter: str) -> str:
        """Returns under which heading the help shows an option, by the name of its parameter."""
        return OPTIONS

    def run(self, words: Sequence[str], path: str) -> None:
        """Does what words mean; `path` is what led to the command.

        Raises:
            UsageError: They mean nothing.
            Exit: The command has ended with an exit code.
        """
        with self.make_context(path, list(words)) as context:
            self.invoke(context)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Reads the command line; what is not given has its default, as the function has it."""
        # Not all errors of Click know which command they are about.
        with augment_usage_errors(ctx):
            rest = super().parse_args(ctx, args)
        for one in self.own:
            value = ctx.params[one.name]
            if ctx.get_parameter_source(one.name) is not ParameterSource.COMMANDLINE or value == ():
                ctx.params[one.name] = one.usual
            elif is_many(one):
                ctx.params[one.name] = list(value)
        return rest

    def format_arguments(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes nothing: arguments are written with the options."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes arguments and options, heading by heading; those under none come last."""
        found: dict[str, list[Entry]] = {ARGUMENTS: []}
        for one in self.get_params(ctx):
            record = one.get_help_record(ctx)
            if record is not None:
                heading = ARGUMENTS if isinstance(one, click.Argument) else self.group_of(one.name or "")
                found.setdefault(heading, []).append(record)
        found[OPTIONS] = found.pop(OPTIONS)
        write_lists(formatter, found)


def write_lists(formatter: click.HelpFormatter, lists: Mapping[str, Sequence[Entry]]) -> None:
    """Writes lists in two columns, each under its heading."""
    for heading, rows in lists.items():
        if rows:
            with formatter.section(heading):
                formatter.write_dl(rows)


class Group(Command, click.Group):
    """A command with verbs of its own, each of which is imported when it is asked for."""

    def __init__(self, name: str, function: Callable[..., Any], verbs: Mapping[str, str]) -> None:
        """Declares one.

        Args:
            name: Of the group.
            function: Its parameters are the options of the group, and its text is in the help.
            verbs: Where each is: ``module:name`` of a function, or of a group.
        """
        said = {"invoke_without_command": True, "subcommand_metavar": "COMMAND [ARGS]..."}
        super().__init__(name, function, callback=_show_help_of_group, **said)
        self.verbs = verbs

    def find(self, word: str) -> click.Command:
        """Returns the command that a word means.

        Raises:
            InputError: It means none.
        """
        return self.load(check_name(f"verb of {self.name}", word, self.verbs))

    def load(self, name: str) -> click.Command:
        """Imports a verb."""
        home, _, attribute = self.verbs[name].partition(":")
        module = import_module(home)
        entry = getattr(module, attribute)
        return entry if isinstance(entry, click.Command) else self.made(name, entry, module)

    def made(self, name: str, function: Callable[..., Any], module: object) -> Command:
        """Returns the command that a function of a module is."""
        return Command(name, function)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        """Returns the command that a word means."""
        return self.find(cmd_name)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the options, and the verbs with what each does."""
        super().format_options(ctx, formatter)
        write_lists(formatter, self.headings())

    def headings(self) -> dict[str, list[Entry]]:
        """Returns the verbs with the first sentence of what each does, by their headings."""
        return {"Commands": [(name, self.load(name).get_short_help_str(1000)) for name in self.verbs]}


def _show_help_of_group(**given: object) -> None:
    context = click.get_current_context()
    if context.invoked_subcommand is None:
        echo(context.get_help())


def error_text(error: UsageError) -> str:
    """Returns what is wrong with a command line, in one line, and where the help is."""
    text = error.format_message().removesuffix(".")
    if isinstance(error, NoSuchOption):
        # Click words it in other ways from version to version.
        alike = f" (Possible options: {', '.join(sorted(error.possibilities))})" if error.possibilities else ""
        text = f"No such option: {error.option_name}{alike}"
    return f"{text}; see '{'shunter' if error.ctx is None else error.ctx.command_path} --help'"
