"""The options that verbs share, with their help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shunter.errors import InputError


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
StartOption = Annotated[
    int, typer.Option(parser=whole_number, metavar="I", help="The first job of the window, counted from 0.")
]
LengthOption = Annotated[
    int | None,
    typer.Option(parser=whole_number, metavar="N", show_default="to the end", help="How many jobs the window has."),
]
SeedOption = Annotated[int, typer.Option(parser=whole_number, metavar="N", help="The seed of everything random.")]
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
