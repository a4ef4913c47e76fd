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
from inspect import Parameter as Declared
from io import TextIOWrapper
from typing import Annotated, Any, Final, NoReturn

import click
from click.core import ParameterSource

from shunter.checks import check_name
from shunter.cli.parsing import (
    Argument,
    Command,
    Entry,
    Exit,
    Group,
    Option,
    Parameter,
    echo,
    error_text,
    is_many,
    parameter,
)
from shunter.errors import InputError, ShunterError, visible

EXIT_DIFFERENT: Final = 1
EXIT_BAD_INPUT: Final = 2
EXIT_INTERRUPTED: Final = 130


@dataclass(frozen=True)
class Verb:
    """What ``shunter --help`` says of one verb."""

    group: str
    summary: str


DECIDE = "From a log to a decision"
LOOK, COMPARE, LEARN, EXPLAIN = "Look at a log", "Simulate and compare", "Tune and learn", "Explain and repeat"
RUN = "Run jobs"

VERBS: Final = {
    "advise": Verb(DECIDE, "Say what to run, what it gains, who pays and how sure that is, from a log."),
    "trace": Verb(LOOK, "Describe, check, convert, split and generate logs; find their cluster and estimates."),
    "calibrate": Verb(LOOK, "Say whether a simulation of the site's own policy explains the waits of its log."),
    "policies": Verb(LOOK, "List every policy, dispatch rule, placement and estimate by name."),
    "simulate": Verb(COMPARE, "Replay a job log on a cluster under one policy, and measure the schedule."),
    "compare": Verb(COMPARE, "Compare policies, dispatch rules, placements and estimates on the same windows."),
    "what-if": Verb(COMPARE, "Simulate a log with more nodes, more load, another limit or another policy."),
    "eta": Verb(COMPARE, "Say when waiting jobs will start, and what asking for less would gain."),
    "tune": Verb(LEARN, "Search the weights of a policy on the first days of a log, and judge it on later days."),
    "train": Verb(LEARN, "Train a policy by reinforcement learning, and judge it on later days."),
    "study": Verb(LEARN, "Train variants on logs with several seeds, search settings, and say which is better."),
    "evaluate": Verb(LEARN, "Judge learned policies on later days, against the best classic in hindsight."),
    "plot": Verb(LEARN, "Draw the learning curves of trainings."),
    "inspect": Verb(LEARN, "Show what a learned policy looks at, and whether it has collapsed."),
    "envs": Verb(LEARN, "Write the test episodes of the Gymnasium environments to files."),
    "explain": Verb(EXPLAIN, "Say why a job of a run started when and where it did."),
    "report": Verb(EXPLAIN, "Make one page of HTML of runs, a comparison, a training or an operation."),
    "replay": Verb(EXPLAIN, "Run a simulation again from its folder, and say whether it is the same."),
    "run": Verb(RUN, "Run jobs here and now under a policy and measure them, or learn a policy on them."),
    "queue": Verb(RUN, "Run commands on this machine in the best order, and never lose one."),
    "operate": Verb(RUN, "Work beside Slurm: observe it, nudge its order towards a policy, and undo everything."),
    "dashboard": Verb(RUN, "Show a live page: who waits and why, expected starts, nodes, decisions, what-if."),
    "serve": Verb(RUN, "Answer over HTTP what a policy decides, when jobs start, and why they wait."),
}
"""Every verb, in the order of the help. A verb is the function of the same name in the module of the same name."""

OPTION_GROUPS: Final = {
    "The log and the cluster": ("workload", "nodes", "cluster", "load", "format", "map", "columns", "only", "strict"),
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
WORKLOAD: Final = "workload"
"""The option for a job log; wherever a verb has it, the log may be given by its place instead."""
BY_PLACE: Final = "file"
"""The argument that stands for it."""
_GROUP_OF: Final = {name: group for group, names in OPTION_GROUPS.items() for name in names}


class GroupedCommand(Command):
    """A verb whose help shows its options in groups; ``FILE`` stands for ``--workload FILE``."""

    _log: Parameter | None = None
    """The option ``--workload``, if the verb has one and it has been looked at."""
    _needs_log = False

    def own_parameters(self) -> list[Parameter]:
        """Returns the options and arguments of the verb, and the argument that stands for ``--workload``."""
        own = self.declared_parameters()
        self._log = next((one for one in own if one.name == WORKLOAD and not getattr(one, "hidden", False)), None)
        if self._log is None:
            return own
        # The log may come either way: `parse_args` sees whether it has come.
        self._needs_log, self._log.required = self._log.required, False
        # Behind a list of other things, a verb has to tell a log from them itself.
        if any(one.nargs < 0 for one in own):
            return own
        place = _argument_for(self._log)
        self._log.help = f"The same as {self._log.metavar}, written as an option."
        return [*own, place]

    def declared_parameters(self) -> list[Parameter]:
        """Returns the options and arguments that the verb declares."""
        return super().own_parameters()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Reads the command line; a log that is given by its place becomes the value of ``--workload``."""
        rest = super().parse_args(ctx, args)
        if self._log is None:
            return rest
        logs = self.logs_by_place(ctx)
        if logs:
            if ctx.params[WORKLOAD]:
                raise InputError(f"the log is given twice, as {logs[0]} and with --workload; give it once")
            if len(logs) > 1 and not is_many(self._log):
                raise InputError(f"several logs are given: {', '.join(logs)}; name one")
            ctx.params[WORKLOAD] = logs if is_many(self._log) else logs[0]
            ctx.set_parameter_source(WORKLOAD, ParameterSource.COMMANDLINE)
        elif self._needs_log and not ctx.params[WORKLOAD]:
            help = f"'{ctx.command_path} --help'"
            raise InputError(f"no job log is given (see {help}); name one, as in: {self.example(ctx)}")
        return rest

    def example(self, context: click.Context) -> str:
        """Returns a command that names a log, for whoever has named none."""
        return f"{context.command_path} log.swf.gz"

    def logs_by_place(self, context: click.Context) -> list[str]:
        """Returns the logs that are given by their place, having taken them out of the context."""
        given = context.params.pop(BY_PLACE, None) or []
        return [given] if isinstance(given, str) else list(given)

    def group_of(self, parameter: str) -> str:
        """Returns the group of an option, by the name of its parameter."""
        return _GROUP_OF.get(parameter, super().group_of(parameter))


def _argument_for(option: Parameter) -> Parameter:
    """Returns an argument that takes what an option takes."""
    from shunter.cli.options import given_text

    kind = list[str] | None if is_many(option) else str | None
    shown = Argument(parser=given_text, metavar=option.metavar, help=option.help or "", show_default=False)
    return parameter(Declared(BY_PLACE, Declared.KEYWORD_ONLY, default=None, annotation=Annotated[kind, shown]))


class VerbGroup(Group):
    """A command with verbs of its own that look at logs."""

    def made(self, name: str, function: Callable[..., Any], module: object) -> Command:
        """Returns the command that a function of a module is; the module may say what kind of command."""
        kind: type[Command] = getattr(module, "COMMAND", GroupedCommand)
        return kind(name, function)


class Shunter(VerbGroup):
    """The command ``shunter``: all verbs, with one line for each error."""

    def __call__(self, words: Sequence[str] | None = None) -> NoReturn:
        """Runs a command line, by default that of this process, and exits with its code."""
        given = sys.argv[1:] if words is None else words
        # What one command line trusts, another in the same process need not.
        sys.exit(copy_context().run(run_with_one_line_errors, lambda: self.run(given, "shunter")))

    def find(self, word: str) -> click.Command:
        """Returns a verb.

        Raises:
            InputError: There is none of this name.
        """
        return self.load(check_name("verb", word, self.verbs))

    def headings(self) -> dict[str, list[Entry]]:
        """Returns the verbs with what each does, group by group."""
        found: dict[str, list[Entry]] = {}
        for name, verb in VERBS.items():
            found.setdefault(verb.group, []).append((name, verb.summary))
        return found


def run_with_one_line_errors(run: Callable[[], object]) -> int:
    """Runs a function and returns the exit code; for an error that the user can mend it prints ``error: ...``."""
    try:
        code = _exit_code(run)
        if sys.stdout is not None:  # It is None where the shell has closed it.
            sys.stdout.flush()
        return code
    except BrokenPipeError:
        _forget_standard_output()
        return EXIT_DIFFERENT
    except KeyboardInterrupt:
        print_error("interrupted")
        return EXIT_INTERRUPTED
    except Exception as error:
        message = _message_of(error)
        if message is None:
            raise
        print_error(message)
        return EXIT_BAD_INPUT


def _exit_code(run: Callable[[], object]) -> int:
    try:
        run()
    except Exit as end:
        return end.exit_code
    return 0


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
    if isinstance(error, click.UsageError):
        return error_text(error)
    return None


def _forget_standard_output() -> None:
    """Points standard output nowhere, so that the interpreter's last flush does not complain of the closed pipe."""
    if sys.stdout is None:
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _print_version(context: click.Context, option: click.Parameter, wanted: bool) -> None:
    if wanted:
        from shunter import __version__

        echo(f"shunter {__version__}")
        raise Exit


VersionOption = Annotated[
    bool, Option("--version", help="Print the version and exit.", show_default=False, callback=_print_version)
]


def root(version: VersionOption = False) -> None:
    """Replay a job log on a cluster under any scheduling policy, and measure what comes out.

    For instance:

        shunter simulate log.swf.gz --policy sjf --dispatch easy
    """


def _home(verb: str) -> str:
    name = verb.replace("-", "_")
    return f"shunter.cli.{name}:{name}"


app = Shunter("shunter", root, {verb: _home(verb) for verb in VERBS})


def main() -> None:
    """Runs the command line and exits."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character shows a question mark; closed streams are None.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    app()
