"""``shunter trace info``: what a log is like."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shunter.cli.options import ClusterOption, JsonOption, path
from shunter.cli.outputs import check_plot, save_figure
from shunter.cli.progress import step
from shunter.cli.trace_log import LogArguments, reads_log

if TYPE_CHECKING:
    from shunter.model.workload import Workload
    from shunter.workloads.statistics import Description

PlotOption = Annotated[
    Path | None,
    typer.Option(
        parser=path,
        metavar="FILE",
        help="Draw arrivals, the week, times, sizes, requests and users: a .png, .svg or .pdf file.",
    ),
]


@reads_log
def info(log: LogArguments, cluster: ClusterOption = None, plot: PlotOption = None, json: JsonOption = False) -> None:
    """Say what a log is like: how many jobs, how large and how long, how they come, and what it does not tell.

    For instance:

        shunter trace info log.swf.gz

        shunter trace info sacct.txt --cluster nodes.toml --plot log.png

        shunter trace info 'part-*.csv.gz' --json
    """
    check_plot(plot, None, log.inputs | {"cluster": cluster})
    workload, description = study(log, cluster)
    if plot is not None:
        _draw(plot, workload, description)
    if json:
        from shunter import __version__
        from shunter.metrics.run_folder import to_json_text

        typer.echo(to_json_text(description.to_json() | {"version": __version__}))
        return
    from shunter.report.trace_tables import print_info

    print_info(workload, description, [] if plot is None else [plot])


def study(log: LogArguments, cluster: str | None) -> tuple[Workload, Description]:
    """Reads a log and describes it, on a cluster that is given or told by the log, or on none."""
    from shunter.workloads import read_cluster
    from shunter.workloads.statistics import describe

    # A mistake in the cluster is told before the log is read.
    given = None if cluster is None else read_cluster(cluster)
    workload = log.read()
    if given is None and workload.cluster_spec is not None:
        given = read_cluster(workload.cluster_spec)
    return workload, describe(workload, given, log.clock(workload))


def _draw(plot: Path, workload: Workload, description: Description) -> None:
    from shunter.report.workload_figure import draw_workload

    with step(f"drawing {plot}"):
        save_figure(plot, draw_workload(workload, description.cluster, description))
