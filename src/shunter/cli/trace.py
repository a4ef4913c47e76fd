"""``shunter trace``: the verbs that look at a log itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shunter.cli.commands import EXIT_DIFFERENT, GroupedCommand
from shunter.cli.options import ClusterOption, JsonOption, path
from shunter.cli.outputs import check_plot, print_json, save_figure, step
from shunter.cli.trace_cluster import cluster
from shunter.cli.trace_estimate import estimate
from shunter.cli.trace_log import LogArguments, reads_log
from shunter.cli.trace_prices import prices
from shunter.cli.trace_write import anonymize, convert, generate, scale, slice_, split

if TYPE_CHECKING:
    from shunter.model.workload import Workload
    from shunter.workloads.statistics import Description

PlotOption = Annotated[
    Path | None,
    typer.Option(
        parser=path,
        metavar="FILE",
        show_default="no figure",
        help="Draw arrivals, the week, times, sizes, requests and users: a .png, .svg or .pdf file.",
    ),
]


@reads_log
def info(log: LogArguments, cluster: ClusterOption = None, plot: PlotOption = None, json: JsonOption = False) -> None:
    """Describe a log: how many jobs there are, how large and how long, how they arrive, and what the log does not tell.

    For instance:

        shunter trace info log.swf.gz

        shunter trace info sacct.txt --cluster nodes.toml --plot log.png

        shunter trace info 'part-*.csv.gz' --json
    """
    check_plot(plot, None, log.inputs | {"cluster": cluster})
    workload, description = log.describe(cluster)
    if plot is not None:
        _draw(plot, workload, description)
    if json:
        from shunter import __version__

        print_json(description.to_json() | {"version": __version__})
        return
    from shunter.report.trace_tables import print_info

    print_info(workload, description, [] if plot is None else [plot])


def _draw(plot: Path, workload: Workload, description: Description) -> None:
    from shunter.report.workload_figure import draw_workload

    with step(f"drawing {plot}"):
        save_figure(plot, draw_workload(workload, description.cluster, description))


@reads_log
def check(log: LogArguments, cluster: ClusterOption = None, json: JsonOption = False) -> None:
    """Check a log: what had to be repaired, what the log does not tell, and what else you should know before using it.

    The exit code is 0 if nothing had to be repaired, 1 if something had, and 2 if the log cannot be read.

    For instance:

        shunter trace check log.swf.gz

        shunter trace check sacct.txt --cluster nodes.toml

        shunter trace check log.csv --json || echo 'not clean'
    """
    from shunter.report.log_check import check_log

    checked = check_log(*log.describe(cluster))
    if json:
        from shunter import __version__

        print_json(checked.to_json() | {"version": __version__})
    else:
        from shunter.report.trace_tables import print_check

        print_check(checked)
    if not checked.clean:
        raise typer.Exit(EXIT_DIFFERENT)


# One line a verb, in the order of the help.
trace = typer.Typer(rich_markup_mode=None)
trace.command("info", cls=GroupedCommand)(info)
trace.command("check", cls=GroupedCommand)(check)
trace.command("convert", cls=GroupedCommand)(convert)
trace.command("slice", cls=GroupedCommand)(slice_)
trace.command("scale", cls=GroupedCommand)(scale)
trace.command("split", cls=GroupedCommand)(split)
trace.command("generate", cls=GroupedCommand)(generate)
trace.command("anonymize", cls=GroupedCommand)(anonymize)
trace.command("cluster", cls=GroupedCommand)(cluster)
trace.command("estimate", cls=GroupedCommand)(estimate)
trace.command("prices", cls=GroupedCommand)(prices)


@trace.callback(invoke_without_command=True)
def root(context: typer.Context) -> None:
    """Look at a job log itself: describe it, check it, convert it, and make other logs and clusters from it.

    For instance:

        shunter trace info log.swf.gz

        shunter trace convert sacct.txt -o jobs.parquet

        shunter trace cluster nodes.txt -o cluster.toml
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
