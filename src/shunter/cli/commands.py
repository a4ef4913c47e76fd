"""The command line: which verbs there are, how they are shown and loaded, and how their errors are told.

Only the verb that is asked for is imported, and what takes long to import is imported inside the verb. An error that
the user can mend is one line on standard error, never a traceback.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextvars import copy_context
from dataclasses import dataclass
from importlib import import_module
from inspect import Parameter, Signature
from io import TextIOWrapper
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from shunter.checks import check_name
from shunter.errors import InputError, ShunterError, visible

EXIT_DIFFERENT: Final = 1
EXIT_BAD_INPUT: Final = 2
EXIT_INTERRUPTED: Final = 130


@dataclass(frozen=True)
class Verb:
    """What ``shunter --help`` says of one verb."""

    group: str
    summary: str


LOOK, COMPARE, LEARN, EXPLAIN = "Look at a log", "Simulate and compare", "Tune and learn", "Explain and repeat"
RUN = "Run jobs"

VERBS: Final = {
    "trace": Verb(LOOK, "Describe, check, convert, split and generate logs; find their cluster and estimates."),
    "calibrate": Verb(LOOK, "Say whether a simulation of the site's own policy explains the waits of its log."),
    "policies": Verb(LOOK, "List every policy, dispatch rule, placement and estimate by name."),
    "simulate": Verb(COMPARE, "Replay a job log on a cluster under one policy, and measure the schedule."),
    "compare": Verb(COMPARE, "Compare policies, dispatch rules, placements and estimates on the same windows."),
    "what-if": Verb(COMPARE, "Simulate a log with more nodes, more load, another limit or another policy."),
    "tune": Verb(LEARN, "Search the weights of a policy on the first days of a log, and judge it on later days."),
    "train": Verb(LEARN, "Train a policy by reinforcement learning, and judge it on later days."),
    "study": Verb(LEARN, "Train variants on logs with several seeds, search settings, and say which is better."),
    "evaluate": Verb(LEARN, "Judge learned policies on later days, against the best classic in hindsight."),
    "plot": Verb(LEARN, "Draw the learning curves of trainings."),
    "inspect": Verb(LEARN, "Show what a learned policy looks at, and whether it has collapsed."),
    "envs": Verb(LEARN, "Write the test episodes of the Gymnasium environments to files."),
    "explain": Verb(EXPLAIN, "Say why a job of a run started when and where it did."),
    "replay": Verb(EXPLAIN, "Run a simulation again from its folder, and say whether it is the same."),
    "run": Verb(RUN, "Run jobs here and now under a policy and measure them, or learn a policy on them."),
    "queue": Verb(RUN, "Run commands on this machine in the best order, and never lose one."),
}
"""Every verb, in the order of the help. A verb is the function of the same name in the module of the same name."""

OPTION_GROUPS: Final = {
    "The log and the cluster": ("workload", "cluster", "load", "format", "map", "columns", "only", "strict"),
    "How to schedule": (
        "policy", "dispatch", "placement", "estimate", "missing_request", "reserve_by", "kill_at_request", "max_wait",
        "size_by", "scan_depth", "seed", "wait_for_locality", "pairs",
    ),
    "Preemption and failures": (
        "preemption_overhead", "preemption_overhead_per_gb", "preempted_progress", "min_run", "failures", "mtbf",
        "mttr", "failed_progress",
    ),
    "Windows of the log": (
        "start", "length", "windows", "blocks", "warmup", "part", "train", "report", "report_windows",
    ),
    "What comes out": ("metric", "top", "out", "force", "plot", "save", "json", "threads", "on"),
}  # fmt: skip
"""The groups in which the help of a verb shows its options, by the names of their parameters."""
OTHER_OPTIONS: Final = "Options"
ARGUMENTS: Final = "Arguments"
WORKLOAD: Final = "workload"
"""The option for a job log; wherever a verb has it, the log may be given by its place instead."""
BY_PLACE: Final = "file"
"""The argument that stands for it."""
_GROUP_OF: Final = {name: group for group, names in OPTION_GROUPS.items() for name in names}


class GroupedCommand(TyperCommand):
    """A verb whose help shows its options in groups, each with its default; ``FILE`` stands for ``--workload FILE``."""

    _log: Any = None
    """The option ``--workload``, if the verb has one and it has been looked at."""
    _by_place: Sequence[Any] = ()
    """The argument that stands for it."""
    _needs_log = False

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 - Click's context, which Typer hides
        """Returns the options and arguments of the verb, and the argument that stands for ``--workload``."""
        own = self.own_params(ctx)
        # Click asks several times for one command line, and must see the same objects.
        if self._log is None:
            self._log = next((one for one in own if one.name == WORKLOAD and not one.hidden), None)
            if self._log is not None:
                self._let_come_by_place(own)
        return [*own, *self._by_place]

    def own_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 - Click's context
        """Returns the options and arguments that the verb declares."""
        return list(super().get_params(ctx))

    def _let_come_by_place(self, own: list[Any]) -> None:
        # Behind a list of other things, a verb has to tell a log from them itself.
        if all(one.param_type_name == "option" or one.nargs > 0 for one in own):
            self._by_place = [_argument_for(self._log)]
            self._log.help = f"The same as {self._log.metavar}, written as an option."
        # The log may come either way: `parse_args` sees whether it has come.
        self._needs_log, self._log.required = self._log.required, False

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - Click's context
        """Reads the command line; a log that is given by its place becomes the value of ``--workload``."""
        rest = list(super().parse_args(ctx, args))
        words = self.logs_by_place(ctx)
        if words:
            if ctx.params[WORKLOAD]:
                raise InputError(f"the log is given twice, as {words[0]} and with --workload; give it once")
            if len(words) > 1 and not self._log.multiple:
                raise InputError(f"several logs are given: {', '.join(words)}; name one")
            ctx.params[WORKLOAD] = words if self._log.multiple else words[0]
            ctx.set_parameter_source(WORKLOAD, type(ctx.get_parameter_source(WORKLOAD)).COMMANDLINE)
        elif self._needs_log and not ctx.params[WORKLOAD] and not ctx.resilient_parsing:
            help = f"'{ctx.command_path} --help'"
            raise InputError(f"no job log is given (see {help}); name one, as in: {self.example(ctx)}")
        return rest

    def example(self, ctx: Any) -> str:  # noqa: ANN401 - Click's context
        """Returns a command that names a log, for whoever has named none."""
        return f"{ctx.command_path} log.swf.gz"

    def logs_by_place(self, ctx: Any) -> list[str]:  # noqa: ANN401 - Click's context
        """Returns the logs that are given by their place, having taken them out of the context."""
        given = ctx.params.pop(BY_PLACE, None) or []
        return [given] if isinstance(given, str) else list(given)

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
        order = [ARGUMENTS, *(group for group in groups if group not in (ARGUMENTS, OTHER_OPTIONS)), OTHER_OPTIONS]
        for name in (group for group in order if group in groups):
            with formatter.section(name):
                formatter.write_dl(groups[name])

    def group_of(self, parameter: str) -> str:
        """Returns the group of an option, by the name of its parameter."""
        return _GROUP_OF.get(parameter, OTHER_OPTIONS)


def _argument_for(option: Any) -> Any:  # noqa: ANN401 - Click's parameters, which Typer hides
    """Returns an argument that takes what an option takes."""
    from shunter.cli.options import given_text

    kind = list[str] | None if option.multiple else str | None
    shown = typer.Argument(parser=given_text, metavar=option.metavar, help=option.help, show_default=False)
    place = Parameter(BY_PLACE, Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind, shown])
    (argument,) = typer_params([place])
    return argument


def typer_params(parameters: Sequence[Parameter]) -> list[Any]:
    """Returns options and arguments as Click knows them, made by Typer of a function that has them as parameters."""

    def declared() -> None: ...

    declared.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    app = typer.Typer(add_completion=False)
    app.command()(declared)
    return list(get_command(app).params)


def _with_default(parameter: Any, text: str) -> str:  # noqa: ANN401 - Click's parameters, which Typer hides
    """Returns the help of an option with its default; Click says nothing where the default is None or a flag is off."""
    is_said = any(mark in text for mark in ("[default", "[required", "; required]", "; default"))
    if is_said or parameter.param_type_name != "option" or parameter.name == "help":
        return text
    return f"{text}  [default: {'off' if parameter.is_flag else 'none'}]"


def load_verb(name: str) -> Any:  # noqa: ANN401 - Click's commands, which Typer hides
    """Imports a verb and returns its command."""
    python_name = name.replace("-", "_")
    module = import_module(f"shunter.cli.{python_name}")
    entry = getattr(module, python_name)
    # Verbs with verbs of their own (trace, envs) are Typer's apps already.
    if not isinstance(entry, typer.Typer):
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(name, cls=getattr(module, "COMMAND", GroupedCommand))(entry)
        entry = app
    command = get_command(entry)
    command.name = name
    return command


class Shunter(TyperGroup):
    """The command ``shunter``: all verbs, with one line for each error."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,  # noqa: ANN401 - passed on as it came
    ) -> Any:  # noqa: ANN401 - the type of the method that this one overrides
        """Runs the command line and exits with its code."""

        def run() -> object:
            # Alone, Click would print its own errors in several lines, and exit.
            return super(Shunter, self).main(
                args, prog_name, complete_var, standalone_mode=False, windows_expand_args=windows_expand_args, **extra
            )

        # What one command line trusts, another in the same process need not.
        sys.exit(copy_context().run(run_with_one_line_errors, run))

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 - Click's context
        """Returns the names of all verbs."""
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401 - Click's context and commands
        """Returns a verb.

        Raises:
            InputError: There is none of this name.
        """
        return load_verb(check_name("verb", cmd_name, VERBS))

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - Click's types
        """Writes the verbs, group by group, with a whole line each."""
        for group in dict.fromkeys(verb.group for verb in VERBS.values()):
            with formatter.section(group):
                formatter.write_dl([(name, verb.summary) for name, verb in VERBS.items() if verb.group == group])


def run_with_one_line_errors(run: Callable[[], object]) -> int:
    """Runs a function and returns the exit code; for an error that the user can mend it prints ``error: ...``."""
    try:
        code = run()
        if code == EXIT_INTERRUPTED:  # Newer versions of Typer catch the interrupt themselves.
            raise KeyboardInterrupt
        if sys.stdout is not None:  # It is None where the shell has closed it.
            sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except BrokenPipeError:
        _forget_standard_output()
        return EXIT_DIFFERENT
    except (KeyboardInterrupt, typer.Abort):
        print_error("interrupted")
        return EXIT_INTERRUPTED
    except Exception as error:
        message = _message_of(error)
        if message is None:
            raise
        print_error(message)
        return EXIT_BAD_INPUT


def print_error(message: str) -> None:
    """Prints one line to standard error, whatever the width of the terminal, and whatever names it holds."""
    line = visible(" ".join(message.split("\n")))
    if sys.stderr is not None:
        sys.stderr.write(f"error: {line}\n")


def _message_of(error: Exception) -> str | None:
    """Returns the line for an error that the user can mend; None for one that is a fault of the program."""
    if isinstance(error, ShunterError):
        return str(error)
    if isinstance(error, MemoryError):
        return f"there is not enough memory ({error}); take fewer jobs or windows"
    if isinstance(error, OSError):
        reason = error.strerror or str(error)
        # Whoever opens a file names it in the error. An error without a name comes from the stream of results.
        where = "standard output" if error.filename is None else error.filename
        return f"{where}: {reason}"
    # Typer's own errors (a missing option, a word for a number) have no public base class.
    format_message = getattr(error, "format_message", None)
    if format_message is None:
        return None
    message, context = format_message().rstrip("."), getattr(error, "ctx", None)
    help = f"'{'shunter' if context is None else context.command_path} --help'"
    return f"{message} See {help}" if message.endswith("?") else f"{message}; see {help}"


def _forget_standard_output() -> None:
    """Points standard output nowhere, so that the interpreter's last flush does not complain of the closed pipe."""
    if sys.stdout is None:
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


app = typer.Typer(
    cls=Shunter,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from shunter import __version__

        typer.echo(f"shunter {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Replay a job log on a cluster under any scheduling policy, and measure what comes out.

    For instance:

        shunter simulate log.swf.gz --policy sjf --dispatch easy
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Runs the command line and exits."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character shows a question mark; closed streams are None.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    app(prog_name="shunter")
