"""``shunter evaluate``: learned policies on windows that they have not seen, against the classics."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shunter.cli.arguments import RunArguments
from shunter.cli.compare import MetricOption, OutOption, PlotOption
from shunter.cli.options import ForceOption, JsonOption, whole_number
from shunter.cli.outputs import check_folder, check_plot, given_options, save_figure
from shunter.cli.progress import step
from shunter.cli.run_options import LOAD, SETTINGS, SITE, takes
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
    from shunter.cli.evaluating import EvaluateArguments, Evaluated
    from shunter.comparison.combinations import Combinations

CheckpointsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="CHECKPOINT",
        show_default="the newest run under runs/",
        help="Folders of runs (their best checkpoint is taken) or of checkpoints, such as runs/first or "
        "runs/first/last.",
    ),
]
AgainstOption = Annotated[
    str,
    typer.Option(
        metavar="all|none|A/B,...",
        help="The classics: all of them under every dispatch rule, none, or some, such as fcfs/easy,f2/easy. They are "
        "run with requested times, and with the estimates of the checkpoints.",
    ),
]
AlsoOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILE.toml",
        show_default="none",
        help="A policy that is judged like the checkpoints: what 'shunter tune' wrote, also FILE.toml/RULE. Give it "
        "several times for several.",
    ),
]
TopOption = Annotated[
    int, typer.Option(parser=whole_number, metavar="N", help="How many of the best classics the tables show.")
]


@takes(SITE | LOAD | SETTINGS)
def evaluate(
    context: typer.Context,
    *,
    checkpoints: CheckpointsArgument = None,
    against: AgainstOption = "all",
    also: AlsoOption = None,
    metric: MetricOption = "mean_bounded_slowdown",
    windows: WindowCountOption = 20,
    length: WindowLengthOption = 1024,
    blocks: BlocksOption = None,
    warmup: WarmupOption = 0,
    part: PartOption = "0.7:1",
    shared: RunArguments,
    threads: ThreadsOption = None,
    top: TopOption = 5,
    out: OutOption = None,
    force: ForceOption = False,
    plot: PlotOption = None,
    json: JsonOption = False,
) -> None:
    """Judge learned policies on later days of a log, against the best classic in hindsight.

    For instance:

        shunter evaluate --workload log.swf.gz

        shunter evaluate runs/first runs/second --workload log.swf.gz --also tuned.toml --plot evaluation.png

        shunter evaluate runs/first/last --workload log.swf.gz --against fcfs/easy,f2/easy --length 512 --json
    """
    from shunter.cli.evaluating import EvaluateArguments, newest_checkpoint, run_evaluation

    arguments = EvaluateArguments(
        shared=shared,
        metric=metric,
        baseline=None,
        windows=windows,
        length=length,
        blocks=blocks,
        warmup=warmup,
        part=part,
        threads=threads,
        checkpoints=tuple(checkpoints or [newest_checkpoint()]),
        against=against,
        also=tuple(also or ()),
    )
    if top < 1:
        raise InputError(f"--top is {top}; expected 1 or more")
    combinations = arguments.checked()
    _check_outputs(arguments, combinations, out, force, plot)
    evaluated = run_evaluation(arguments, combinations)
    _write(evaluated, context, out, plot)
    if json:
        from shunter.metrics.run_folder import to_json_text

        typer.echo(to_json_text(evaluated.result()))
        return
    from shunter.report.comparisons import print_evaluation

    print_evaluation(evaluated, top, [path for path in (out, plot) if path is not None], named=bool(checkpoints))


def _check_outputs(
    arguments: EvaluateArguments, combinations: Combinations, out: Path | None, force: bool, plot: Path | None
) -> None:
    """Raises an error for what can be known to fail before anything is simulated."""
    from shunter.cli.comparing import FILES

    shared = arguments.shared
    inputs: dict[str, str | Path | None] = {"workload": shared.workload, "cluster": shared.cluster}
    for combination in combinations.possible:
        inputs |= {f"file of {name}:": path for name, path in combination.files.items()}
    check_folder(out, force, FILES, inputs)
    check_plot(plot, out, inputs)


def _write(evaluated: Evaluated, context: typer.Context, out: Path | None, plot: Path | None) -> None:
    if out is not None:
        from shunter.cli.comparing import write_comparison

        with step(f"writing {out}"):
            write_comparison(out, evaluated, given_options(context))
    if plot is not None:
        from shunter.report.comparison_figure import draw_comparison

        with step(f"drawing {plot}"):
            # A figure has colors for a few: those who are judged, and the best classics.
            shown = evaluated.evaluation.shown(0)
            save_figure(plot, draw_comparison(replace(evaluated.comparison, scored=shown)))
