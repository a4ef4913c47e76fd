"""``shunter compare``: many ways to schedule on the same windows of a log."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from shunter.cli.options import (
    LOAD,
    NAMES,
    SETTINGS,
    SITE,
    STOPS,
    ForceOption,
    JsonOption,
    OnOption,
    WindowArguments,
    given_options,
    listed_names,
    path,
    takes,
    takes_fields,
)
from shunter.cli.outputs import check_outputs, print_json, save_figure, step
from shunter.cli.parsing import Context, Option, whole_number
from shunter.cli.running import RunArguments, read_inputs
from shunter.engines.choice import LOCAL, check_on
from shunter.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shunter.comparison.combinations import Combination
    from shunter.comparison.comparison import Comparison
    from shunter.comparison.evaluation import Evaluation

    Result = Comparison | Evaluation

PoliciesOption = Annotated[
    str,
    Option(
        "--policy",
        metavar="A,B,...",
        help="Policies (see 'shunter policies'), files, or folders of runs, with commas between them; all: every "
        "policy of Shunter's.",
    ),
]
DispatchesOption = Annotated[
    str | None,
    Option(
        "--dispatch",
        metavar="A,B,...",
        show_default="easy; greedy for a policy that never waits",
        help="Dispatch rules, with commas between them.",
    ),
]
PlacementsOption = Annotated[
    str, Option("--placement", metavar="A,B,...", help="Placements, with commas between them.")
]
EstimatesOption = Annotated[
    str | None,
    Option(
        "--estimate",
        metavar="A,B,...",
        show_default="requested; history with qssf",
        help="Estimates, with commas between them; the folder of a run brings its own.",
    ),
]
PairsOption = Annotated[
    str | None,
    Option(
        "--pairs",
        metavar="A,B,...",
        show_default="any; what a policy's file says",
        help=f"Which types of GPUs a job takes, with commas between them: {NAMES['pairs']}.",
    ),
]
BaselineOption = Annotated[
    str | None,
    Option(
        metavar="A/B", show_default="the first", help="The combination that all are held against, such as fcfs/easy."
    ),
]
TopOption = Annotated[
    int | None,
    Option(parser=whole_number, metavar="N", show_default="all", help="How many of the best the tables show."),
]


@dataclass(frozen=True)
class ComparisonOutputs:
    """Where a comparison goes besides the terminal."""

    out: Annotated[
        Path | None,
        Option(
            "--out",
            "-o",
            parser=path,
            metavar="DIR",
            help="Write the comparison, every window and a manifest to this folder.",
        ),
    ] = None
    force: ForceOption = False
    plot: Annotated[
        Path | None,
        Option(
            parser=path,
            metavar="FILE",
            help="Draw the metric, waits by size and utilization: a .png, .svg or .pdf file.",
        ),
    ] = None
    json: JsonOption = False

    @property
    def written(self) -> list[Path]:
        """What is written."""
        return [path for path in (self.out, self.plot) if path is not None]

    def check(self, shared: RunArguments, combinations: Sequence[Combination]) -> None:
        """Raises an error for files that cannot be written, before anything is simulated."""
        from shunter.comparison.rows import FILES

        inputs: dict[str, str | Path | None] = {"workload": shared.workload, "cluster": shared.cluster}
        for combination in combinations:
            inputs |= {f"file of {name}:": path for name, path in combination.files.items()}
        check_outputs(self.out, self.force, FILES, self.plot, lambda: inputs)

    def write(self, comparison: Comparison, result: Result, given: dict[str, Any], resolved: dict[str, Any]) -> None:
        """Writes the folder, if one is asked for; the arguments are those of `write_comparison`."""
        if self.out is not None:
            from shunter.comparison.rows import write_comparison

            with step(f"writing {self.out}"):
                write_comparison(self.out, comparison, result.rows(), result.to_json(), given, resolved)

    def draw(self, comparison: Comparison) -> None:
        """Draws the figure, if one is asked for."""
        if self.plot is not None:
            from shunter.report.comparison_figure import draw_comparison

            with step(f"drawing {self.plot}"):
                save_figure(self.plot, draw_comparison(comparison))


@takes(SITE | LOAD | STOPS | {name: option for name, option in SETTINGS.items() if name != "pairs"})
@takes_fields(WindowArguments)
@takes_fields(ComparisonOutputs)
def compare(
    context: Context,
    *,
    policy: PoliciesOption = "all",
    dispatch: DispatchesOption = None,
    placement: PlacementsOption = "first-fit",
    estimate: EstimatesOption = None,
    pairs: PairsOption = None,
    where: WindowArguments,
    baseline: BaselineOption = None,
    shared: RunArguments,
    top: TopOption = None,
    on: OnOption = LOCAL,
    outputs: ComparisonOutputs,
) -> None:
    """Compare policies, dispatch rules, placements and estimates on the same windows of a log.

    For instance:

        shunter compare log.swf.gz --policy fcfs,sjf,f2 --dispatch easy,conservative

        shunter compare log.swf.gz --part 0.7:1 --baseline fcfs/easy --plot compare.png

        shunter compare log.swf.gz --policy all,my_policy.py --on 10.0.0.1:6379
    """
    from shunter.comparison.combinations import combine

    # These are lists here, and one value each in the settings that all combinations share.
    lists = {"policy": policy, "dispatch": dispatch, "placement": placement, "estimate": estimate, "pairs": pairs}
    contest = where.contest(shared.seed, baseline)
    if top is not None:
        check_top(top)
    words = {name: value for name, value in shared.words.items() if name not in lists}
    combinations = combine(*(_names(name, value) for name, value in lists.items()), **words)
    # All that can be wrong with names, numbers and files is told before the log is read.
    contest.check(combinations.possible)
    check_on(on)
    outputs.check(shared, combinations.possible)
    inputs = read_inputs(shared)
    with step(f"comparing {len(combinations.possible)} combinations") as progress:
        comparison = contest.run(inputs.log, combinations, strict=shared.strict, on=on, progress=progress)
    resolved = inputs.arguments.to_json() | lists | asdict(contest)
    outputs.write(comparison, comparison, given_options(context), resolved)
    outputs.draw(comparison)
    if outputs.json:
        print_json(comparison.to_json())
        return
    from shunter.report.comparisons import print_comparison

    print_comparison(comparison, top, outputs.written)


def check_top(top: int) -> None:
    """Raises an error for a number of rows to show that cannot be."""
    if top < 1:
        raise InputError(f"--top is {top}; expected 1 or more")


def _names(option: str, given: str | None) -> list[Any]:
    """Returns the names of a list with commas; None, for what goes with each policy, where none is given."""
    return [None] if given is None else [*listed_names(option, given)]
