"""``shunter compare``: many ways to schedule on the same windows of a log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shunter.cli.arguments import RunArguments
from shunter.cli.options import ForceOption, JsonOption, path, whole_number
from shunter.cli.outputs import check_folder, check_plot, given_options, save_figure
from shunter.cli.progress import step
from shunter.cli.run_options import LOAD, SETTINGS, SITE, STOPS, takes
from shunter.cli.window_options import (
    BlocksOption,
    PartOption,
    ThreadsOption,
    WarmupOption,
    WindowCountOption,
    WindowLengthOption,
)
from shunter.errors import InputError

if TYPE_CHECKING:
    from shunter.cli.comparing import CompareArguments
    from shunter.comparison.combinations import Combinations

PoliciesOption = Annotated[
    str,
    typer.Option(
        "--policy",
        metavar="A,B,...",
        help="Policies (see 'shunter policies'), files, or folders of runs, with commas between them; all: every "
        "policy of Shunter's.",
    ),
]
DispatchesOption = Annotated[
    str | None,
    typer.Option(
        "--dispatch",
        metavar="A,B,...",
        show_default="easy; greedy for a policy that never waits",
        help="Dispatch rules, with commas between them.",
    ),
]
PlacementsOption = Annotated[
    str, typer.Option("--placement", metavar="A,B,...", help="Placements, with commas between them.")
]
EstimatesOption = Annotated[
    str | None,
    typer.Option(
        "--estimate",
        metavar="A,B,...",
        show_default="requested; history with qssf",
        help="Estimates, with commas between them; the folder of a run brings its own.",
    ),
]
MetricOption = Annotated[str, typer.Option(metavar="NAME", help="The metric to compare and to sort by.")]
BaselineOption = Annotated[
    str | None,
    typer.Option(
        metavar="A/B", show_default="the first", help="The combination that all are held against, such as fcfs/easy."
    ),
]
TopOption = Annotated[
    int | None,
    typer.Option(parser=whole_number, metavar="N", show_default="all", help="How many of the best the tables show."),
]
OutOption = Annotated[
    Path | None,
    typer.Option(parser=path, metavar="DIR", help="Write the comparison, every window and a manifest to this folder."),
]
PlotOption = Annotated[
    Path | None,
    typer.Option(
        parser=path, metavar="FILE", help="Draw the metric, waits by size and utilization: a .png, .svg or .pdf file."
    ),
]


@takes(SITE | LOAD | STOPS | SETTINGS)
def compare(
    context: typer.Context,
    *,
    policy: PoliciesOption = "all",
    dispatch: DispatchesOption = None,
    placement: PlacementsOption = "first-fit",
    estimate: EstimatesOption = None,
    metric: MetricOption = "mean_bounded_slowdown",
    baseline: BaselineOption = None,
    windows: WindowCountOption = 20,
    length: WindowLengthOption = 1024,
    blocks: BlocksOption = None,
    warmup: WarmupOption = 0,
    part: PartOption = "0:1",
    shared: RunArguments,
    threads: ThreadsOption = None,
    top: TopOption = None,
    out: OutOption = None,
    force: ForceOption = False,
    plot: PlotOption = None,
    json: JsonOption = False,
) -> None:
    """Compare policies, dispatch rules, placements and estimates on the same windows of a log.

    For instance:

        shunter compare --workload log.swf.gz --policy fcfs,sjf,f2 --dispatch easy,conservative

        shunter compare --workload log.swf.gz --part 0.7:1 --baseline fcfs/easy --plot compare.png
    """
    from shunter.cli.comparing import CompareArguments, run_comparison, write_comparison

    arguments = CompareArguments(
        shared=shared,
        policy=policy,
        dispatch=dispatch,
        placement=placement,
        estimate=estimate,
        metric=metric,
        baseline=baseline,
        windows=windows,
        length=length,
        blocks=blocks,
        warmup=warmup,
        part=part,
        threads=threads,
    )
    if top is not None and top < 1:
        raise InputError(f"--top is {top}; expected 1 or more")
    combinations = arguments.checked()
    _check_outputs(arguments, combinations, out, force, plot)
    compared = run_comparison(arguments, combinations)
    if out is not None:
        with step(f"writing {out}"):
            write_comparison(out, compared, given_options(context))
    if plot is not None:
        from shunter.report.comparison_figure import draw_comparison

        with step(f"drawing {plot}"):
            save_figure(plot, draw_comparison(compared.comparison))
    if json:
        from shunter.metrics.run_folder import to_json_text

        typer.echo(to_json_text(compared.result()))
        return
    from shunter.report.comparisons import print_comparison

    print_comparison(compared, top, [path for path in (out, plot) if path is not None])


def _check_outputs(
    arguments: CompareArguments, combinations: Combinations, out: Path | None, force: bool, plot: Path | None
) -> None:
    """Raises an error for what can be known to fail before anything is simulated."""
    from shunter.cli.comparing import FILES

    shared = arguments.shared
    inputs: dict[str, str | Path | None] = {"workload": shared.workload, "cluster": shared.cluster}
    for combination in combinations.possible:
        inputs |= {f"file of {name}:": path for name, path in combination.files.items()}
    check_folder(out, force, FILES, inputs)
    check_plot(plot, out, inputs)
