"""``shunter evaluate``: learned policies on windows that they have not seen, against the classics."""

from __future__ import annotations

import os
import shlex
from dataclasses import asdict, dataclass, replace
from typing import Annotated

import click

from shunter.cli.commands import GroupedCommand
from shunter.cli.compare import ComparisonOutputs, check_top
from shunter.cli.options import (
    LOAD,
    SETTINGS,
    SITE,
    PartOption,
    WindowArguments,
    given_options,
    given_text,
    listed_names,
    takes,
    takes_fields,
)
from shunter.cli.outputs import print_json, step
from shunter.cli.parsing import Argument, Context, Option, whole_number
from shunter.cli.running import RunArguments, read_inputs
from shunter.errors import InputError

BROUGHT = ("policy", "dispatch", "estimate")
"""What checkpoints bring themselves."""

PlacementOption = Annotated[
    str | None,
    Option(
        parser=given_text,
        metavar="DIR",
        show_default="as the checkpoints were trained",
        help="The folder of a run of 'shunter train --env pick-host': its policy chooses the nodes for everybody, the "
        "classics included.",
    ),
]

CheckpointsArgument = Annotated[
    list[str] | None,
    Argument(
        metavar="CHECKPOINT",
        show_default="the newest run under runs/",
        help="Folders of runs (their best checkpoint is taken) or of checkpoints, such as runs/first or "
        "runs/first/last; and the job log, if --workload does not name it.",
    ),
]
AgainstOption = Annotated[
    str,
    Option(
        metavar="all|none|A/B,...",
        help="The classics: all of them under every dispatch rule, none, or some, such as fcfs/easy,f2/easy. They are "
        "run with requested times, and with the estimates of the checkpoints.",
    ),
]
AlsoOption = Annotated[
    list[str] | None,
    Option(
        metavar="FILE.toml",
        show_default="none",
        help="A policy that is judged like the checkpoints: what 'shunter tune' wrote, also FILE.toml/RULE. Give it "
        "several times for several.",
    ),
]
TopOption = Annotated[
    int, Option(parser=whole_number, metavar="N", help="How many of the best classics the tables show.")
]


@dataclass(frozen=True)
class LaterWindows(WindowArguments):
    """By what learned policies are judged, and in which windows of a log."""

    metric: Annotated[
        str,
        Option(
            metavar="NAME",
            help="The metric to compare and to sort by; trained: the one that the first checkpoint was trained for.",
        ),
    ] = "trained"
    part: PartOption = "0.7:1"


class EvaluateCommand(GroupedCommand):
    """Takes a file among the checkpoints, which are folders, for the log."""

    def logs_by_place(self, context: click.Context) -> list[str]:
        """Returns the logs among the words, and leaves the checkpoints."""
        words = list(context.params["checkpoints"] or ())
        policy = next((word for word in words if word.endswith(".toml")), None)
        if policy is not None:
            raise InputError(f"{policy} is neither a checkpoint nor a log; name a policy with --also {policy}")
        logs = [word for word in words if _is_log(word)]
        context.params["checkpoints"] = [word for word in words if word not in logs]
        return logs

    def example(self, context: click.Context) -> str:
        """Returns a command with the checkpoints that are named, and the log that the first was trained on."""
        from shunter.policies.catalog import PICK_HOST
        from shunter.policies.checkpoint import read_record, trained_on

        checkpoints = list(context.params["checkpoints"] or ())
        log = trained_on(checkpoints[0]) if checkpoints else ["log.swf.gz"]
        if checkpoints and read_record(checkpoints[0])["options"].get("kind") == PICK_HOST:
            return shlex.join(["shunter", "compare", *log, "--placement", f"best-fit,{checkpoints[0]}"])
        return shlex.join(["shunter", "evaluate", *checkpoints, *log])


def _is_log(word: str) -> bool:
    from shunter.model.cluster import GENERATE
    from shunter.policies.checkpoint import POLICY_FILE

    is_file = os.path.isfile(word) and os.path.basename(word) != POLICY_FILE
    return is_file or word.startswith(GENERATE) or "*" in word


COMMAND = EvaluateCommand


@takes(SITE | LOAD | {"placement": PlacementOption} | SETTINGS)
@takes_fields(LaterWindows)
@takes_fields(ComparisonOutputs)
def evaluate(
    context: Context,
    *,
    checkpoints: CheckpointsArgument = None,
    against: AgainstOption = "all",
    also: AlsoOption = None,
    where: LaterWindows,
    shared: RunArguments,
    top: TopOption = 5,
    outputs: ComparisonOutputs,
) -> None:
    """Judge learned policies on later days of a log, against the best classic in hindsight.

    For instance:

        shunter evaluate log.swf.gz

        shunter evaluate runs/first runs/second log.swf.gz --also tuned.toml --plot evaluation.png

        shunter evaluate runs/first/last log.swf.gz --against fcfs/easy,f2/easy --length 512 --json
    """
    from shunter.comparison.combinations import ALL
    from shunter.comparison.evaluation import NONE, find_entrants, newest_checkpoint, run_evaluation

    learned = tuple(checkpoints or [newest_checkpoint()])
    check_top(top)
    # A checkpoint was trained under its own rule and estimate: under others it would be another policy.
    words = {name: value for name, value in shared.words.items() if name not in BROUGHT}
    rivals = against if against in (ALL, NONE) else listed_names("against", against)
    entrants = find_entrants(learned, rivals, also or (), **words)
    contest = entrants.judged_in(where.contest(shared.seed))
    contest.check(entrants.all)
    outputs.check(shared, entrants.all)
    inputs = read_inputs(shared)
    with step(f"comparing {len(entrants.all)} combinations") as progress:
        evaluation = run_evaluation(contest, inputs.log, entrants, strict=shared.strict, progress=progress)
    own = {"checkpoints": learned, "against": against, "also": tuple(also or ())}
    resolved = inputs.arguments.to_json() | asdict(contest) | own
    outputs.write(evaluation.comparison, evaluation, given_options(context), resolved)
    # A figure has colors for a few: those who are judged, and the best classics.
    shown = {one.label: one for one in evaluation.shown(0)}
    outputs.draw(replace(evaluation.comparison, contenders=shown, part_of=evaluation.comparison))
    if outputs.json:
        print_json(evaluation.to_json())
        return
    from shunter.report.evaluation import print_evaluation

    print_evaluation(evaluation, top, outputs.written, named=bool(checkpoints))
