"""``shunter report``: one page of HTML of what other verbs have written."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from shunter.cli.options import path
from shunter.cli.outputs import check_apart, step
from shunter.cli.parsing import Argument, Option, echo
from shunter.errors import InputError, visible

REPORT = "report.html"

FoldersArgument = Annotated[
    list[Path],
    Argument(
        parser=path,
        metavar="FOLDER...",
        help="What advise, simulate, compare, evaluate, calibrate, train, study or operate has written; several runs, "
        "or several trainings, are shown side by side.",
    ),
]
OutOption = Annotated[
    Path | None,
    Option(
        "--out",
        "-o",
        parser=path,
        metavar="FILE",
        show_default="report.html in the first folder",
        help="Where the page goes: a .html file. One that is there is overwritten.",
    ),
]
AnonymousOption = Annotated[
    bool, Option("--anonymous", help="Show numbers instead of the names of users, and leave out paths and commands.")
]


def report(folders: FoldersArgument, out: OutOption = None, anonymous: AnonymousOption = False) -> None:
    """Make a page of HTML that explains a result, with figures, tables and a Gantt chart of every job.

    The page is one file. It needs no network and no server: open it in a browser, send it, print it.

    For instance:

        shunter simulate log.swf.gz --policy fcfs --dispatch easy --out runs/fcfs

        shunter report runs/fcfs

        shunter report runs/fcfs runs/f2 --out both.html

        shunter report runs/fcfs --anonymous --out to-show.html
    """
    from shunter.cli.report_kinds import kinds
    from shunter.report.page.folders import page_of
    from shunter.report.page.writing import write_page

    file = (folders[0] if folders[0].is_dir() else folders[0].parent) / REPORT if out is None else out
    if file.suffix.lower() != ".html":
        raise InputError(f"--out {file}: unknown suffix {file.suffix!r}; give a name that ends in .html")
    if os.path.isdir(file):
        raise InputError(f"--out {file}: this is a folder; give the name of a file")
    check_apart("--out", [file], {"folder": str(folders[0])})
    with step("reading " + ", ".join(map(str, folders))):
        page = page_of(folders, kinds(), anonymous)
    if not file.absolute().parent.is_dir():
        raise InputError(f"--out {file}: there is no folder {file.parent}; create it first")
    with step(f"writing {file}"):
        write_page(file, page)
    echo(visible(f"written: {file}"))
