"""The command line: one file a verb; what takes long to import is imported inside the verb."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from shunter.cli.calibrate import calibrate
from shunter.cli.compare import compare
from shunter.cli.envs import envs
from shunter.cli.errors import OneLineErrorGroup
from shunter.cli.evaluate import evaluate
from shunter.cli.explain import explain
from shunter.cli.inspect import inspect
from shunter.cli.plot import plot
from shunter.cli.policies import policies
from shunter.cli.replay import replay
from shunter.cli.simulate import simulate
from shunter.cli.trace import trace
from shunter.cli.train import train
from shunter.cli.train_options import TrainCommand
from shunter.cli.tune import tune
from shunter.cli.what_if import what_if

app = typer.Typer(
    cls=OneLineErrorGroup,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("simulate")(simulate)
app.command("replay")(replay)
app.command("calibrate")(calibrate)
app.command("compare")(compare)
app.command("what-if")(what_if)
app.command("tune")(tune)
app.command("train", cls=TrainCommand)(train)
app.command("plot")(plot)
app.command("evaluate")(evaluate)
app.command("explain")(explain)
app.command("inspect")(inspect)
app.command("policies")(policies)
app.add_typer(trace, name="trace")
app.add_typer(envs, name="envs")


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
