"""The options of verbs that look at many windows of a log."""

from __future__ import annotations

from typing import Annotated

import typer

from shunter.cli.options import whole_number

WindowCountOption = Annotated[
    int, typer.Option("--windows", parser=whole_number, metavar="K", help="How many windows of the log are simulated.")
]
WindowLengthOption = Annotated[
    int, typer.Option("--length", parser=whole_number, metavar="N", help="How many jobs of each window are measured.")
]
BlocksOption = Annotated[
    int | None,
    typer.Option(
        parser=whole_number,
        metavar="B",
        show_default="as many as hold a window, at most 10",
        help="In how many blocks of the log the windows lie; intervals draw whole blocks.",
    ),
]
WarmupOption = Annotated[
    int,
    typer.Option(
        parser=whole_number,
        metavar="N",
        help="How many jobs before each window are simulated too, so that it does not begin on an empty cluster.",
    ),
]
PartOption = Annotated[
    str, typer.Option(metavar="A:B", help="The part of the log to take windows from, as fractions of its jobs.")
]
ThreadsOption = Annotated[
    int | None,
    typer.Option(parser=whole_number, metavar="N", show_default="all cores", help="How many cores to use."),
]
