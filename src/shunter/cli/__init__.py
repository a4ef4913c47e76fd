"""The command line: one file a verb; what takes long to import is imported inside the verb."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from io import TextIOWrapper
from typing import Annotated, ClassVar

import typer

from shunter.cli.commands import Verb, VerbGroup

LOOK, COMPARE, LEARN, EXPLAIN = "Look at a log", "Simulate and compare", "Tune and learn", "Explain and repeat"


class Shunter(VerbGroup):
    """Every verb, in the order of the help; a verb is the function of the same name in the module of the same name."""

    verbs: ClassVar[Mapping[str, Verb]] = {
        "trace": Verb(LOOK, "Describe, check, convert, split and generate logs; find their cluster and estimates."),
        "calibrate": Verb(LOOK, "Say whether a simulation of the site's own policy explains the waits of its log."),
        "policies": Verb(LOOK, "List every policy, dispatch rule, placement and estimate by name."),
        "simulate": Verb(COMPARE, "Replay a job log on a cluster under one policy, and measure the schedule."),
        "compare": Verb(COMPARE, "Compare policies, dispatch rules, placements and estimates on the same windows."),
        "what-if": Verb(COMPARE, "Simulate a log with more nodes, more load, another limit or another policy."),
        "tune": Verb(LEARN, "Search the weights of a policy on the first days of a log, and judge it on later days."),
        "train": Verb(LEARN, "Train a policy by reinforcement learning, and judge it on later days."),
        "evaluate": Verb(LEARN, "Judge learned policies on later days, against the best classic in hindsight."),
        "plot": Verb(LEARN, "Draw the learning curves of trainings."),
        "inspect": Verb(LEARN, "Show what a learned policy looks at, and whether it has collapsed."),
        "envs": Verb(LEARN, "Write the test episodes of the Gymnasium environments to files."),
        "explain": Verb(EXPLAIN, "Say why a job of a run started when and where it did."),
        "replay": Verb(EXPLAIN, "Run a simulation again from its folder, and say whether it is the same."),
    }


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

        shunter simulate --workload log.swf.gz --policy sjf --dispatch easy
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
