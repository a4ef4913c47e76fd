"""``shunter advise``: from a log to a decision."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from shunter.checks import TIME
from shunter.cli.options import (
    ClusterOption,
    FormatOption,
    JsonOption,
    LoadOption,
    MapOption,
    ObjectiveOption,
    OnlyOption,
    OnOption,
    SeedOption,
    StrictOption,
    ThreadsOption,
    duration,
    given_text,
    listed_names,
    path,
    takes_fields,
)
from shunter.cli.outputs import print_json, step
from shunter.cli.parsing import Argument, Option
from shunter.cli.tune import guards
from shunter.engines.choice import LOCAL

if TYPE_CHECKING:
    from shunter.advice.request import AdviseRequest

LogsArgument = Annotated[
    list[str],
    Argument(
        parser=given_text,
        metavar="LOG",
        help="A job log, as the cluster writes it; several files, such as one a month, are parts of one log. Or a "
        "generator, such as generate:lublin?jobs=20000&cores=256&load=0.9.",
        show_default=False,
    ),
]


def _placements(text: str) -> list[str]:
    return listed_names("placement", text)


@dataclass(frozen=True)
class AdviseArguments:
    """What is advised on, and how much is tried."""

    nodes: Annotated[
        list[str] | None,
        Option(
            "--nodes",
            parser=given_text,
            metavar="FILE",
            show_default="the log's header, or else what its jobs had in use",
            help="A list of machines or of the site's rules, as 'shunter trace cluster' takes them: slurm.conf, "
            "'scontrol show node', lshosts ...; several times for several.",
        ),
    ] = None
    cluster: ClusterOption = None
    site: Annotated[
        str | None,
        Option(
            "--site",
            "--baseline",
            metavar="A/B",
            show_default="what the files of --nodes say, or fcfs/easy",
            help="Policy and dispatch rule of the site today, or a file. Kept unless a candidate is significantly "
            "better.",
        ),
    ] = None
    objective: ObjectiveOption = "bounded-slowdown"
    bounds: Annotated[
        list[str] | None,
        Option(
            "--bound",
            metavar="NAME=X",
            show_default="mean-wait=1 and max-wait=1.5",
            help="METRIC=X: the metric may be at most X times its value under the current policy. Repeatable.",
        ),
    ] = None
    max_wait_s: Annotated[
        str | None,
        Option(
            "--max-wait",
            parser=guards,
            metavar=f"{TIME},...",
            show_default="off, and 0.35 to 1.5 times the longest wait of today",
            help="Starvation limits to choose from, together with the policy: a job that has waited for the limit "
            "comes first in the order. A single limit is used as it is.",
        ),
    ] = None
    placement: Annotated[
        str | None,
        Option(
            parser=_placements,
            metavar="A,B,...",
            show_default="pack, best-fit and one more, on several nodes",
            help="Placements to try for the best classics.",
        ),
    ] = None
    allow_preemption: Annotated[
        bool, Option("--allow-preemption", help="Also try policies that stop running jobs, at 30 s a restart.")
    ] = False
    anyway: Annotated[
        bool,
        Option("--anyway", help="Go on although the simulation does not explain the log's waits; the advice says so."),
    ] = False
    budget: Annotated[
        float | None,
        Option(
            parser=duration,
            metavar=TIME,
            show_default="10m",
            help="About how long it may take on two cores; half of it is for training a network.",
        ),
    ] = None
    quick: Annotated[bool, Option("--quick", help="A short search and no training: a minute or so.")] = False
    load: LoadOption = None
    format: FormatOption = None
    columns: MapOption = None
    only: OnlyOption = None
    strict: StrictOption = False
    seed: SeedOption = 0
    threads: ThreadsOption = None
    on: OnOption = LOCAL
    out: Annotated[
        Path,
        Option(
            "--out",
            "-o",
            parser=path,
            metavar="DIR",
            help="Where the page, the policy and what each stage came to are kept. The same command goes on where it "
            "was cut short.",
        ),
    ] = Path("advice")
    fresh: Annotated[bool, Option("--fresh", help="Do every stage again, whatever the folder holds.")] = False

    def request(self, logs: list[str]) -> AdviseRequest:
        """Returns what these options ask for, checked as far as that is possible without the log."""
        from shunter.advice.request import AdviseRequest

        # What was not given stays as it is by default.
        given: dict[str, Any] = {name: value for name, value in vars(self).items() if value is not None}
        if self.columns is not None:
            given["columns"] = ",".join(self.columns)
        return AdviseRequest.of(logs, **given)


@takes_fields(AdviseArguments)
def advise(
    logs: LogsArgument,
    *,
    asked: AdviseArguments,
    json: JsonOption = False,
) -> None:
    """Say what to run on a cluster, from the log that it has written: one command from a log to a decision.

    It says whether the simulation can be believed, what to use, what that gains and who pays, how sure that is, and the
    commands that come next. All of it is on a page in the folder of --out.

    For instance:

        shunter advise sacct.txt --nodes /etc/slurm/slurm.conf

        shunter advise sacct-2024-*.txt --nodes nodes.txt --out advice/may --budget 1h

        shunter advise log.swf.gz --site fcfs/conservative --max-wait 3d --quick
    """
    from shunter.advice.advise import run_advice

    found = run_advice(asked.request(logs), step)
    if json:
        print_json(found.to_json())
        return
    from shunter.advice.terminal import print_advice

    print_advice(found)
