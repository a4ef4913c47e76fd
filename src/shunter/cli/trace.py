"""``shunter trace``: the verbs that look at a log itself."""

from __future__ import annotations

import typer

from shunter.cli.trace_check import check
from shunter.cli.trace_cluster import cluster
from shunter.cli.trace_estimate import estimate
from shunter.cli.trace_info import info
from shunter.cli.trace_split import split
from shunter.cli.trace_write import anonymize, convert, generate, scale, slice_

trace = typer.Typer()
trace.command("info")(info)
trace.command("check")(check)
trace.command("convert")(convert)
trace.command("slice")(slice_)
trace.command("scale")(scale)
trace.command("split")(split)
trace.command("generate")(generate)
trace.command("anonymize")(anonymize)
trace.command("cluster")(cluster)
trace.command("estimate")(estimate)


@trace.callback(invoke_without_command=True)
def root(context: typer.Context) -> None:
    """Look at a job log itself: what is in it, what is wrong with it, and logs and clusters made from it.

    For instance:

        shunter trace info log.swf.gz

        shunter trace convert sacct.txt -o jobs.parquet

        shunter trace cluster nodes.txt -o cluster.toml
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
