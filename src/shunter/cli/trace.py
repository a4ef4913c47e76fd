"""``shunter trace``: the verbs that look at a log itself."""

from __future__ import annotations

import typer

from shunter.cli.trace_estimate import estimate

trace = typer.Typer()
trace.command("estimate")(estimate)


@trace.callback(invoke_without_command=True)
def root(context: typer.Context) -> None:
    """Look at a job log itself, without simulating it.

    For instance:

        shunter trace estimate --workload log.swf.gz
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
