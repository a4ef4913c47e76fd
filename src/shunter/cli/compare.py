"""``shunter compare``: many ways to schedule on the same windows of a log."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shunter.cli.options import (
    LOAD,
    SETTINGS,
    SITE,
    STOPS,
    BlocksOption,
    ForceOption,
    JsonOption,
    PartOption,
    ThreadsOption,
    WarmupOption,
    WindowCountOption,
    WindowLengthOption,
    given_options,
    listed_names,
    path,
    takes,
    whole_number,
)
from shunter.cli.outputs import check_folder, check_plot, save_figure, step
from shunter.cli.running import RunArguments, read_inputs
from shunter.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shunter.comparison.combinations import Combination
    from shunter.comparison.comparison import Comparison

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
    from shunter.comparison.combinations import combine
    from shunter.comparison.contest import Contest

    lists = {"policy": policy, "dispatch": dispatch, "placement": placement, "estimate": estimate}
    contest = Contest(metric, baseline, windows, length, blocks, warmup, part, shared.seed, threads)
    if top is not None and top < 1:
        raise InputError(f"--top is {top}; expected 1 or more")
    words = {name: value for name, value in shared.words.items() if name not in lists}
    combinations = combine(*(_names(name, value) for name, value in lists.items()), **words)
    contest.check(combinations.possible)
    check_outputs(shared, combinations.possible, out, force, plot)
    inputs = read_inputs(shared)
    with step(f"comparing {len(combinations.possible)} combinations") as progress:
        comparison = contest.run(inputs.log, combinations, strict=shared.strict, progress=progress)
    if out is not None:
        from shunter.comparison.rows import write_comparison

        with step(f"writing {out}"):
            resolved = inputs.arguments.to_json() | lists | asdict(contest)
            write_comparison(out, comparison, comparison.rows(), given_options(context), resolved)
    if plot is not None:
        draw(plot, comparison)
    if json:
        from shunter.metrics.run_folder import to_json_text

        typer.echo(to_json_text(comparison.to_json()))
        return
    from shunter.report.comparisons import print_comparison

    print_comparison(comparison, top, [path for path in (out, plot) if path is not None])


def _names(option: str, given: str | None) -> list[Any]:
    """Returns the names of a list with commas; None, for what goes with each policy, where none is given."""
    return [None] if given is None else [*listed_names(option, given)]


def check_outputs(
    shared: RunArguments, combinations: Sequence[Combination], out: Path | None, force: bool, plot: Path | None
) -> None:
    """Raises an error for files that cannot be written, before anything is simulated."""
    from shunter.comparison.rows import FILES

    inputs: dict[str, str | Path | None] = {"workload": shared.workload, "cluster": shared.cluster}
    for combination in combinations:
        inputs |= {f"file of {name}:": path for name, path in combination.files.items()}
    check_folder(out, force, FILES, inputs)
    check_plot(plot, out, inputs)


def draw(plot: Path, comparison: Comparison) -> None:
    """Draws a comparison to a file."""
    from shunter.report.comparison_figure import draw_comparison

    with step(f"drawing {plot}"):
        save_figure(plot, draw_comparison(comparison))
