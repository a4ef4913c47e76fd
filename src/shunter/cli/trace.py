"""``shunter trace``: the verbs that look at a log itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from shunter.cli.commands import EXIT_DIFFERENT, VerbGroup
from shunter.cli.options import ClusterOption, JsonOption, path
from shunter.cli.outputs import check_plot, print_json, save_figure, step
from shunter.cli.parsing import Exit, Option
from shunter.cli.trace_log import LogArguments, reads_log

if TYPE_CHECKING:
    from shunter.model.workload import Workload
    from shunter.workloads.statistics import Description

PlotOption = Annotated[
    Path | None,
    Option(
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
        raise Exit(EXIT_DIFFERENT)


def root() -> None:
    """Look at a job log itself: describe it, check it, convert it, and make other logs and clusters from it.

    For instance:

        shunter trace info log.swf.gz

        shunter trace convert sacct.txt -o jobs.parquet

        shunter trace cluster nodes.txt -o cluster.toml
    """


trace = VerbGroup(
    "trace",
    root,
    {
        "info": "shunter.cli.trace:info",
        "check": "shunter.cli.trace:check",
        "convert": "shunter.cli.trace_write:convert",
        "slice": "shunter.cli.trace_write:slice_",
        "scale": "shunter.cli.trace_write:scale",
        "split": "shunter.cli.trace_write:split",
        "generate": "shunter.cli.trace_write:generate",
        "anonymize": "shunter.cli.trace_write:anonymize",
        "cluster": "shunter.cli.trace_cluster:cluster",
        "estimate": "shunter.cli.trace_estimate:estimate",
        "prices": "shunter.cli.trace_prices:prices",
    },
)
