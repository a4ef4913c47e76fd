"""``shunter trace split``: days to train, to validate and to report on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shunter.cli.options import path
from shunter.cli.outputs import check_apart
from shunter.cli.trace_log import LogArguments, reads_log
from shunter.cli.trace_output import ForceOption, check_file, write_workload
from shunter.errors import InputError

FolderOption = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        parser=path,
        metavar="DIR",
        help="The folder for the files train, validation and report.",
    ),
]
SharesOption = Annotated[
    str, typer.Option(metavar="A,B,C", help="The shares of train, validation and report; 0 leaves a part out.")
]
ByOption = Annotated[
    str, typer.Option(metavar="jobs|time", help="Whether they are shares of the number of jobs or of the span of time.")
]
EndingOption = Annotated[
    str, typer.Option("--as", metavar="ENDING", help="What to write: parquet, csv, csv.gz, swf or swf.gz.")
]


@reads_log
def split(
    log: LogArguments,
    output: FolderOption,
    shares: SharesOption = "0.6,0.1,0.3",
    by: ByOption = "jobs",
    ending: EndingOption = "parquet",
    force: ForceOption = False,
) -> None:
    """Cut a log in three by time, so that what is reported was never trained on.

    'shunter train' and 'shunter tune' make the same cuts by themselves; this is for other tools.

    For instance:

        shunter trace split log.swf.gz -o parts

        shunter trace split log.swf.gz --shares 0.7,0.1,0.2 --by time --as swf -o parts
    """
    from shunter.workloads.variants import PARTS
    from shunter.workloads.variants import split as cut
    from shunter.workloads.write import check_ending

    if by not in ("jobs", "time"):
        raise InputError(f"--by is {by!r}; expected jobs or time")
    numbers = _numbers(shares)
    files = {part: output / f"{part}.{ending}" for part in PARTS}
    inputs = log.inputs
    for file in files.values():
        check_ending(file)
        check_apart("--output", [file], inputs)
    workload = log.read()
    parts = cut(workload, numbers, by)
    _make_folder(output)
    for part in parts:
        check_file(files[part], force, inputs)
    for part, jobs in parts.items():
        write_workload(jobs, files[part])


def _numbers(shares: str) -> list[float]:
    try:
        return [float(share) for share in shares.split(",")]
    except ValueError:
        raise InputError(
            f"--shares is {shares!r}; expected three numbers with commas between them: 0.6,0.1,0.3"
        ) from None


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--output {folder}: cannot be made ({error.strerror}); give another folder") from None
