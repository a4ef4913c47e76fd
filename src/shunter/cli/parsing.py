"""Command lines: the parameters of a function as options and arguments, and what words mean to them.

A verb is a function, and the annotations of its parameters say how each is written on the command line::

    def verb(file: Annotated[str, Argument(metavar="FILE")], cores: Annotated[int, Option("--cores", "-c")] = 1): ...

A client of a queue is a process that lives for a few milliseconds: this module imports little, and what the help says
is worked out in `shunter.cli.help_text`, when somebody asks for it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from inspect import Parameter as Declared
from inspect import getdoc, signature
from pathlib import Path
from typing import Annotated, Any, Final, get_args, get_origin

from shunter.checks import check_name

HELP: Final = ("-h", "--help")
Entry = tuple[str, str]
"""What stands to the left and to the right in a list of the help."""
Written = dict[str, list[str | bool]]
"""What a command line says, by the names of parameters: texts, and which way switches are turned."""


class UsageError(Exception):
    """A command line that means nothing: the message says why, and `path` names the command whose help does."""

    def __init__(self, message: str, path: str) -> None:
        super().__init__(message)
        self.path = path


class BadParameter(Exception):
    """A text that is no value of an option; whoever reads texts for options raises it, and need not name the option."""


class Exit(Exception):
    """The end of a command, with its exit code."""

    def __init__(self, code: int = 0) -> None:
        super().__init__(code)
        self.code = code


def echo(text: str = "", err: bool = False, nl: bool = True) -> None:
    """Prints a text at once, to standard output or standard error; where the shell has closed it, nowhere."""
    stream = sys.stderr if err else sys.stdout
    if stream is not None:
        stream.write(f"{text}\n" if nl else text)
        stream.flush()


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


_PARSERS: Final[dict[object, Callable[[str], Any]]] = {
    str: str, int: whole_number, float: number, Path: Path, bool: bool,
}  # fmt: skip
"""What reads the text of an option that brings no parser of its own, by its type."""


class Argument:
    """Declares an argument, which is known by its place."""

    names: tuple[str, ...] = ()

    def __init__(
        self,
        *,
        metavar: str | None = None,
        help: str = "",
        show_default: bool | str = True,
        parser: Callable[[str], Any] | None = None,
        callback: Callable[[Any], Any] | None = None,
        hidden: bool = False,
    ) -> None:
        """Declares one.

        Args:
            metavar: What the help and errors call its value.
            help: What the help says of it.
            show_default: What the help says of its default, if it does not speak for itself; False: nothing.
            parser: Returns the value of a text, or raises `BadParameter`; None: its type tells.
            callback: Called with its value.
            hidden: Whether the help leaves it out.
        """
        self.metavar = metavar
        self.help = help
        self.show_default = show_default
        self.parser = parser
        self.callback = callback
        self.hidden = hidden


class Option(Argument):
    """Declares an option, which is known by its names; ``--x/--no-x`` names a switch that can be turned off, too."""

    def __init__(self, *names: str, **said: Any) -> None:  # noqa: ANN401 - the words of `Argument`
        """Declares one; without names, it is called as its parameter is. The other words are those of an argument."""
        super().__init__(**said)
        self.names = names


class Parameter:
    """A parameter of a verb: an option or an argument."""

    def __init__(self, declared: Declared) -> None:
        """Takes a parameter of a function; one whose annotation says nothing of the command line is an option."""
        kind = declared.annotation
        said: Argument = Option()
        if get_origin(kind) is Annotated:
            kind, *notes = get_args(kind)
            said = next((note for note in notes if isinstance(note, Argument)), said)
        self.name = declared.name
        self.said = said
        self.is_option = isinstance(said, Option)
        self.is_required = declared.default is Declared.empty
        self.default = None if self.is_required else declared.default
        self.help = said.help
        kinds = [one for one in get_args(kind) if one is not type(None)] if _may_be_none(kind) else [kind]
        self.is_many = get_origin(kinds[0]) is list
        """Whether it may be given several times, or takes all words that are left."""
        self.is_switch = kinds[0] is bool
        self.names, self.off_names = _names(said.names or (f"--{self.name.replace('_', '-')}",))
        self._parse = said.parser or _PARSERS[get_args(kinds[0])[0] if self.is_many else kinds[0]]

    @property
    def metavar(self) -> str:
        """What its value is called."""
        return self.said.metavar or self.name.upper()

    @property
    def hint(self) -> str:
        """What errors call it."""
        names = (*self.names, *self.off_names) if self.is_option else (self.metavar,)
        return " / ".join(f"'{name}'" for name in names)

    def value(self, given: Sequence[str | bool] | None, path: str) -> Any:  # noqa: ANN401 - of its type
        """Returns its value; `given` is what was written, None if nothing was.

        Raises:
            UsageError: A text is no value, or there is none where there must be one.
        """
        if given is None:
            if self.is_required:
                raise UsageError(f"Missing {'option' if self.is_option else 'argument'} {self.hint}", path)
            return self.default
        try:
            values = [one if isinstance(one, bool) else self._parse(one) for one in given]
        except BadParameter as error:
            raise UsageError(f"Invalid value for {self.hint}: {error}", path) from None
        return values if self.is_many else values[-1]


def _may_be_none(kind: object) -> bool:
    return type(None) in get_args(kind)


def _names(written: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the names that turn an option on, and those that turn it off."""
    pairs = [name.partition("/") for name in written]
    return tuple(on for on, _, _ in pairs), tuple(off for _, _, off in pairs if off)


class Context:
    """One command line: what it says to a command."""

    def __init__(self, path: str) -> None:
        """Takes the words that led to the command: ``shunter queue list``."""
        self.path = path
        self.params: dict[str, Any] = {}
        """The values of all parameters, by their names."""
        self.given: set[str] = set()
        """The names of those that were given, and not left at their defaults."""
        self.meta: dict[str, Any] = {}
        """What a command wants to tell its function."""


class Command:
    """A verb."""

    stops_at_words = False
    """Whether options end where the first other word stands."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name = name
        self.function = function
        # Annotations are text in our modules.
        self._signature = signature(function, eval_str=True)
        self._own: list[Parameter] | None = None

    @property
    def text(self) -> str:
        """What the help says of it: the text of its function."""
        return getdoc(self.function) or ""

    def own_parameters(self) -> list[Parameter]:
        """Returns the options and arguments that the function declares."""
        declared = self._signature.parameters.values()
        return [Parameter(one) for one in declared if one.annotation is not Context]

    @property
    def parameters(self) -> list[Parameter]:
        """All options and arguments, in the order of the help."""
        if self._own is None:
            self._own = self.own_parameters()
        return self._own

    def group_of(self, parameter: str) -> str:
        """Returns under which heading the help shows an option, by the name of its parameter."""
        return "Options"

    def run(self, words: Sequence[str], path: str) -> None:
        """Does what words mean.

        Raises:
            UsageError: They mean nothing.
            Exit: The command has ended with an exit code.
        """
        context = Context(path)
        self.invoke(context, self.parse(context, words))

    def parse(self, context: Context, words: Sequence[str]) -> list[str]:
        """Fills the context; returns the words that are left, of which there are none for a verb."""
        written, rest = self._split(context, words)
        if rest:
            raise UsageError(f"Got unexpected extra argument(s) ({' '.join(rest)})", context.path)
        self._fill(context, written)
        return rest

    def invoke(self, context: Context, rest: list[str]) -> None:
        """Calls the function with what the context has."""
        own = self._signature.parameters.values()
        called = {one.name: context for one in own if one.annotation is Context}
        self.function(**context.params, **called)

    def _fill(self, context: Context, written: Written) -> None:
        context.given = set(written)
        for one in self.parameters:
            value = one.value(written.get(one.name), context.path)
            context.params[one.name] = one.said.callback(value) if one.said.callback else value

    def _split(self, context: Context, words: Sequence[str]) -> tuple[Written, list[str]]:
        """Returns what is written for each parameter, and the words that are left."""
        options = {name: one for one in self.parameters if one.is_option for name in (*one.names, *one.off_names)}
        written: Written = {}
        # Taken from its end, the first word first.
        left = list(reversed(words))
        rest: list[str] = []
        while left:
            word = left.pop()
            if _is_option(word) and word != "--":
                self._take_option(context, options, word, left, written)
                continue
            rest += [word] if word != "--" else []
            if self.stops_at_words or word == "--":
                rest += reversed(left)
                break
        return written, self._take_places(written, rest)

    def _take_option(
        self, context: Context, options: Mapping[str, Parameter], word: str, left: list[str], written: Written
    ) -> None:
        """Takes an option, and its value, which may be the next word."""
        name, equals, value = _parted(word)
        if name in HELP:
            self.show_help(context)
            raise Exit
        option = options.get(name)
        if option is None:
            raise UsageError(f"No such option: {name}{_alike(name, options)}", context.path)
        taken = written.setdefault(option.name, [])
        if option.is_switch:
            if equals:
                raise UsageError(f"Option '{name}' does not take a value", context.path)
            taken.append(name in option.names)
            if value:  # More of them stand behind one dash.
                left.append(f"-{value}")
        elif equals or value:
            taken.append(value)
        elif left:
            taken.append(left.pop())
        else:
            raise UsageError(f"Option '{name}' requires an argument", context.path)

    def show_help(self, context: Context) -> None:
        """Prints the help."""
        from shunter.cli.help_text import help_text

        echo(help_text(self, context.path))

    def _take_places(self, written: Written, words: list[str]) -> list[str]:
        """Gives words to the arguments, in their order; returns those that are left."""
        places = [one for one in self.parameters if not one.is_option]
        for number, place in enumerate(places, 1):
            # A list takes all that those behind it leave.
            count = max(0, len(words) - (len(places) - number)) if place.is_many else 1
            taken, words = words[:count], words[count:]
            if taken:
                written[place.name] = list(taken)
        return words


def _is_option(word: str) -> bool:
    return word.startswith("-") and word != "-"


def _parted(word: str) -> tuple[str, str, str]:
    """Returns the name of an option, the sign behind it, and what follows: ``--x=1``, ``-n5``."""
    return word.partition("=") if word.startswith("--") else (word[:2], "", word[2:])


def _alike(name: str, options: Mapping[str, Parameter]) -> str:
    from difflib import get_close_matches

    found = get_close_matches(name, [*options, *HELP])
    return f" (Possible options: {', '.join(sorted(found))})" if found else ""


class Group(Command):
    """A command with verbs of its own, each of which is imported when it is asked for."""

    stops_at_words = True

    def __init__(self, name: str, function: Callable[..., Any], verbs: Mapping[str, str]) -> None:
        """Declares one.

        Args:
            name: Of the group.
            function: Its parameters are the options of the group, and its text is in the help.
            verbs: Where each is: ``module:name`` of a function, or of a group.
        """
        super().__init__(name, function)
        self.verbs = verbs

    def find(self, word: str) -> Command:
        """Returns the command that a word means.

        Raises:
            InputError: It means none.
        """
        return self.load(check_name(f"verb of {self.name}", word, self.verbs))

    def load(self, name: str) -> Command:
        """Imports a verb."""
        home, _, attribute = self.verbs[name].partition(":")
        module = import_module(home)
        entry = getattr(module, attribute)
        return entry if isinstance(entry, Command) else self.command(name, entry, module)

    def command(self, name: str, function: Callable[..., Any], module: object) -> Command:
        """Returns the command that a function of a module is."""
        return Command(name, function)

    def headings(self) -> dict[str, list[Entry]]:
        """Returns the verbs with the first sentence of what each does, by the headings of the help."""
        sentences = ((name, " ".join(self.load(name).text.partition("\n\n")[0].split())) for name in self.verbs)
        return {"Commands": [(name, text.partition(". ")[0].removesuffix(".") + ".") for name, text in sentences]}

    def parse(self, context: Context, words: Sequence[str]) -> list[str]:
        """Fills the context; returns the verb and its words."""
        written, rest = self._split(context, words)
        self._fill(context, written)
        return rest

    def invoke(self, context: Context, rest: list[str]) -> None:
        """Runs the verb that is named; shows the help if none is."""
        if rest:
            self.find(rest[0]).run(rest[1:], f"{context.path} {rest[0]}")
        else:
            self.show_help(context)
