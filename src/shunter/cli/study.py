"""``shunter study``: many trainings as one experiment, from one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from shunter.cli.commands import EXIT_DIFFERENT
from shunter.cli.options import JsonOption, OnOption, TrustOption, path
from shunter.cli.outputs import check_plot, print_json, save_figure
from shunter.cli.parsing import Argument, Exit, Option, whole_number
from shunter.engines.choice import LOCAL
from shunter.errors import InputError

StudyArgument = Annotated[Path, Argument(parser=path, metavar="FILE.toml", help="The study: docs/studies.md.")]
OutOption = Annotated[
    Path | None,
    Option(
        "--out",
        "-o",
        parser=path,
        metavar="DIR",
        show_default="as the file says, or studies/NAME",
        help="The folder of the study.",
    ),
]
ThreadsOption = Annotated[
    int, Option(parser=whole_number, metavar="N", help="How many cores to use: so many trainings run at a time.")
]
ReportOption = Annotated[bool, Option("--report", help="Train nothing; show what is there.")]
PlotOption = Annotated[
    Path | None,
    Option(
        parser=path,
        metavar="FILE",
        help="Draw the learning curves of all variants, with a band over seeds: a .png, .svg or .pdf file.",
    ),
]


def study(
    study_file: StudyArgument,
    out: OutOption = None,
    threads: ThreadsOption = 1,
    report: ReportOption = False,
    plot: PlotOption = None,
    on: OnOption = LOCAL,
    trust: TrustOption = False,
    json: JsonOption = False,
) -> None:
    """Train variants on logs with several seeds, and say which is better, and how surely.

    What is done is not done again: give the same command after an interruption, or after adding to the file. A run that
    fails does not stop the others. With [search], settings are searched on validation days first.

    For instance:

        shunter study examples/study.toml --threads 4

        shunter study examples/study.toml --on 10.0.0.1:6379

        shunter study examples/study.toml --report --plot curves.png
    """
    from shunter.cli.train_screen import many_runs
    from shunter.studies.study import run_study
    from shunter.studies.study_file import read_study

    if threads < 1:
        raise InputError(f"--threads is {threads}; expected 1 or more")
    asked = read_study(study_file, out)
    check_plot(plot, asked.out, {"study": study_file})
    with many_runs(f"training for {asked.name}", "the same command goes on") as told:
        found = run_study(asked, threads=threads, trust=trust, on=on, told=told, only_read=report)
    if plot is not None:
        from shunter.report.study_figure import draw_study

        save_figure(plot, draw_study(found))
    if json:
        print_json(found.to_json())
    else:
        from shunter.report.studies import print_study

        print_study(found)
    # What failed is told, and scripts see it; with --report nothing was tried.
    if found.failed and not report:
        raise Exit(EXIT_DIFFERENT)
