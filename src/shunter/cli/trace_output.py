"""The workload that a verb of ``shunter trace`` writes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from shunter.cli.options import path
from shunter.cli.outputs import check_apart, step
from shunter.cli.parsing import Option
from shunter.errors import InputError

if TYPE_CHECKING:
    from shunter.model.workload import Workload
    from shunter.workloads.clock import Clock

OutputOption = Annotated[
    Path,
    Option(
        "--output",
        "--out",
        "-o",
        parser=path,
        metavar="FILE",
        help="What to write: a name that ends in .parquet, .csv, .csv.gz, .swf or .swf.gz.",
    ),
]
ForceOption = Annotated[bool, Option("--force", help="Overwrite a file that exists.")]


def check_output(output: Path, force: bool, inputs: Mapping[str, str | Path | None]) -> None:
    """Raises an error for what can be known to fail before the log is read."""
    from shunter.workloads.write import check_ending

    check_ending(output)
    check_file(output, force, inputs)


def check_file(output: Path, force: bool, inputs: Mapping[str, str | Path | None]) -> None:
    """Raises an error if a file cannot be written, or would overwrite another unasked."""
    check_apart("--output", [output], inputs)
    if not output.absolute().parent.is_dir():
        raise InputError(f"--output {output}: there is no folder {output.parent}; create it first")
    if os.path.isdir(output):
        raise InputError(f"--output {output}: this is a folder; give the name of a file")
    if os.path.lexists(output) and not force:
        raise InputError(f"--output {output}: the file exists; give another name, or --force to overwrite it")


def write_workload(workload: Workload, output: Path, clock: Clock | None = None) -> None:
    """Writes a workload, and prints what was repaired and what the file cannot carry.

    Args:
        workload: What to write.
        output: The file.
        clock: What the seconds of the log meant.
    """
    from shunter.model.workload import UNIX_TIMES_FROM_S
    from shunter.workloads.write import write_table

    with step(f"writing {output}"):
        lost = write_table(workload, output)
    # A time zone is a small offset; a large one is the date of second 0, which our files do not carry.
    if clock is not None and clock.offset_s >= UNIX_TIMES_FROM_S:
        lost.append(f"the date of the log's second 0 (Unix time {clock.offset_s:.15g}, {clock.meaning})")
    from shunter.metrics.labels import counted
    from shunter.report.tables import ledger_table
    from shunter.report.terminal import Console

    console = Console()
    if workload.ledger:
        console.print(ledger_table(workload.ledger))
    for line in lost:
        console.print(f"not carried: {line}", markup=False, highlight=False, soft_wrap=True)
    console.print(f"written: {output} ({counted(len(workload), 'job')})", markup=False, highlight=False, soft_wrap=True)
