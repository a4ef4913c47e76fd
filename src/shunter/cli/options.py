"""The options that verbs share, with their help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shunter.errors import InputError
from shunter.policies.names import DISPATCHES, ESTIMATES, PLACEMENTS, POLICIES, PROGRESS, RESERVE_BY


def _choices(intro: str, names: dict[str, str]) -> str:
    return f"{intro}: {', '.join(names)}."


def _meanings(intro: str, names: dict[str, str]) -> str:
    return f"{intro}: {', '.join(f'{name} ({meaning})' for name, meaning in names.items())}."


def whole_number(text: str) -> int:
    """Returns the whole number that an option was given."""
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a whole number") from None


def number(text: str) -> float:
    """Returns the number that an option was given."""
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number") from None


def given_text(text: str) -> str:
    """Returns the text that an option was given, which must not be empty."""
    if not text.strip():
        raise typer.BadParameter("it is empty; give a name")
    return text


def listed_names(option: str, text: str) -> list[str]:
    """Returns the names that an option was given, with commas between them."""
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise InputError(f"--{option} is {text!r}; expected names with single commas between them")
    return names


def path(text: str) -> Path:
    """Returns the path that an option was given; an empty one would mean the current folder."""
    return Path(given_text(text))


WorkloadOption = Annotated[
    str,
    typer.Option(
        parser=given_text,
        metavar="FILE",
        help="A job log (SWF, sacct, lsb.acct, CSV, Parquet and others, also .gz; a pattern such as 'part-*.csv' if it "
        "is in several files), or a generator such as generate:lublin?jobs=10000&cores=256&load=0.9 (others: poisson, "
        "uniform, bursty-gpu, eda, helios-like, philly-like).",
    ),
]
ClusterOption = Annotated[
    str | None,
    typer.Option(
        metavar="CLUSTER",
        show_default="what the log's header or the generator tells",
        help="A number of cores, a preset, a TOML file, or a generator such as generate:eda?hosts=20&seed=42.",
    ),
]
LoadOption = Annotated[
    float | None,
    typer.Option(
        parser=number,
        metavar="X",
        show_default="the arrivals as they are",
        help="Stretch the arrivals of the whole workload so that its offered load on the cluster is X.",
    ),
]
PolicyOption = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help=_choices("Who is next", POLICIES)[:-1] + ", a name with parameters such as hybrid?aging=0.5, FILE.toml, "
        "the folder of a run of 'shunter train' (which brings its own dispatch rule, placement and estimate), or "
        "FILE.py[:CLASS]: a policy of your own (it is run).",
    ),
]
DispatchOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        show_default="easy",
        help=_choices("What happens when the next job does not fit", DISPATCHES)[:-1]
        + ", or a number k: so many jobs hold reservations.",
    ),
]
PlacementOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        show_default="first-fit",
        help=_choices("Which nodes a job gets", PLACEMENTS)[:-1] + ", milp also with parameters (milp?alpha=2), or "
        "FILE.py[:CLASS]: a placement of your own (it is run).",
    ),
]
ESTIMATE_HELP = (
    _choices("The run time that the policy sees", ESTIMATES)[:-1]
    + ", also with parameters (noisy?sigma=2), or FILE.toml with a prior."
)
EstimateOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", show_default="requested; history with qssf", help=ESTIMATE_HELP),
]
StartOption = Annotated[
    int, typer.Option(parser=whole_number, metavar="I", help="The first job of the window, counted from 0.")
]
LengthOption = Annotated[
    int | None,
    typer.Option(parser=whole_number, metavar="N", show_default="to the end", help="How many jobs the window has."),
]
MaxWaitOption = Annotated[
    float | None,
    typer.Option(
        parser=number, metavar="S", show_default="off", help="A job that has waited S seconds stands before all others."
    ),
]
MissingRequestOption = Annotated[
    str,
    typer.Option(
        metavar="run-time|S",
        help="What stands in for a requested time that the log does not have; counted in the ledger.",
    ),
]
ReserveByOption = Annotated[str, typer.Option(metavar="NAME", help=_choices("How long reservations last", RESERVE_BY))]
KillOption = Annotated[bool, typer.Option("--kill-at-request", help="Kill a job that outlives its requested time.")]
ScanDepthOption = Annotated[
    int,
    typer.Option(
        parser=whole_number,
        metavar="N",
        help="How many waiting jobs a pass with two or more reservations, or over an order that moves, looks at.",
    ),
]
SeedOption = Annotated[int, typer.Option(parser=whole_number, metavar="N", help="For everything random.")]
PreemptionOverheadOption = Annotated[
    float,
    typer.Option(
        parser=number,
        metavar="S",
        help="What each start of a job costs, in seconds, that was stopped before: --preemption-overhead 30.",
    ),
]
PreemptedProgressOption = Annotated[
    str,
    typer.Option(metavar="kept|lost", help=_meanings("The work of a job that a policy stops (srtf, las)", PROGRESS)),
]
MinRunOption = Annotated[
    float,
    typer.Option(
        parser=number,
        metavar="S",
        help="How many seconds a job runs at least before a policy may stop it: --min-run 300.",
    ),
]
FailuresOption = Annotated[
    str | None,
    typer.Option(
        parser=given_text,
        metavar="FILE",
        show_default="none",
        help="A CSV file of failures with the columns time_s, node and event (down or up): --failures failures.csv.",
    ),
]
MtbfOption = Annotated[
    float | None,
    typer.Option(
        parser=number,
        metavar="S",
        show_default="no failures are drawn",
        help="Draw failures: the mean time in seconds until a node fails, as in --mtbf 2592000 --mttr 7200.",
    ),
]
MttrOption = Annotated[
    float | None,
    typer.Option(
        parser=number,
        metavar="S",
        show_default="no failures are drawn",
        help="The mean time in seconds until a node that has failed is up again; goes with --mtbf.",
    ),
]
FailedProgressOption = Annotated[
    str,
    typer.Option(metavar="kept|lost", help=_meanings("The work of a job whose node fails", PROGRESS)),
]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        show_default="by the file's content",
        help="The format of the log, if its content does not tell it (docs/traces.md lists them).",
    ),
]
MapOption = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="OURS=THEIRS",
        show_default="the table's own names",
        help="For a CSV or Parquet table with other column names: which of its columns gives ours, such as "
        "submit_s=arrival or run_s=end-start or submit_s=time_ms/1000; several times, or with commas between them.",
    ),
]
OnlyOption = Annotated[
    str | None,
    typer.Option(
        "--only",
        metavar="STATUS,...",
        show_default="all jobs",
        help="Keep only the jobs that ended so: completed, failed, cancelled, timeout ...",
    ),
]
StrictOption = Annotated[
    bool, typer.Option("--strict", help="Make an error of each repair, and of each job that can never fit.")
]
OutOption = Annotated[
    Path | None,
    typer.Option(parser=path, metavar="DIR", help="Write the schedule, the metrics and a manifest to this folder."),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Let --out overwrite the run in a folder.")]
PlotOption = Annotated[
    Path | None,
    typer.Option(
        parser=path, metavar="FILE", help="Draw utilization, queue and a Gantt chart: a .png, .svg or .pdf file."
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
