"""``shunter trace cluster``: the cluster that a list of machines, or a log itself, tells of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shunter.cli.options import given_text, path
from shunter.cli.progress import step
from shunter.cli.trace_log import StrictOption
from shunter.cli.trace_output import ForceOption
from shunter.errors import InputError

if TYPE_CHECKING:
    from shunter.model.cluster import Cluster
    from shunter.model.ledger import Ledger

FilesArgument = Annotated[
    list[str],
    typer.Argument(
        parser=given_text,
        metavar="FILE",
        help="A list of machines, or a job log that tells of its machine; several files are one list.",
        show_default=False,
    ),
]
OutputOption = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        parser=path,
        metavar="FILE.toml",
        show_default="print it",
        help="The cluster file to write, for --cluster.",
    ),
]
FormatOption = Annotated[
    str | None,
    typer.Option("--format", metavar="NAME", show_default="by the content", help="The kind of list or log."),
]
InferOption = Annotated[
    bool,
    typer.Option(
        "--infer",
        help="For a log that does not tell its machine: as many cores, and GPUs, as its jobs had in use at once.",
    ),
]
NameOption = Annotated[
    str | None, typer.Option(metavar="NAME", show_default="the file's name", help="What tables call the cluster.")
]


def cluster(
    files: FilesArgument,
    output: OutputOption = None,
    format_: FormatOption = None,
    infer: InferOption = False,
    name: NameOption = None,
    strict: StrictOption = False,
    force: ForceOption = False,
) -> None:
    """Write the cluster file of a list of machines: scontrol show node, sinfo, lshosts and bhosts, or a published list.

    For instance:

        scontrol show node -o > nodes.txt; shunter trace cluster nodes.txt -o cluster.toml

        lshosts -w > hosts.txt; bhosts -w > slots.txt; shunter trace cluster hosts.txt slots.txt -o farm.toml

        shunter trace cluster machine_events.csv.gz -o google.toml

        shunter trace cluster sacct.txt --infer -o as-used.toml
    """
    from dataclasses import replace

    from shunter.cli.outputs import check_toml
    from shunter.model.cluster_file import cluster_toml, write_cluster
    from shunter.workloads import files_of

    paths = files_of(files)
    inputs: dict[str, str | Path | None] = {f"list's part {number + 1}": file for number, file in enumerate(paths)}
    if output is not None:
        check_toml("--output", output, force, "--cluster", inputs)
    elif force:
        raise InputError("--force is given without --output; it lets --output overwrite a file, and means nothing else")
    with step(f"reading {paths[0]}"):
        found, ledger, comment = _find(paths, format_, infer, strict)
    if name is not None:
        found = replace(found, name=name)
    if output is None:
        typer.echo(cluster_toml(found, [comment]), nl=False)
    else:
        write_cluster(found, output, [comment])
    _print(found, ledger, output)


def _find(paths: Sequence[Path], format_: str | None, infer: bool, strict: bool) -> tuple[Cluster, Ledger, str]:
    """Returns the cluster, what was repaired, and where it comes from."""
    from shunter.workloads import cluster_of, read_workload
    from shunter.workloads.clusters import infer_cluster
    from shunter.workloads.machines import MACHINES, detect_machines, read_machines
    from shunter.workloads.text.source import open_source

    if not infer and (format_ in MACHINES or (format_ is None and detect_machines(open_source(paths[0])))):
        found, ledger = read_machines(paths, format=format_, strict=strict)
        return found, ledger, f"From {', '.join(file.name for file in paths)}."
    workload = read_workload(paths, format=format_, strict=strict)
    if infer:
        note = f"What {workload.name} had in use at once, by its own times; GPUs rounded up to whole nodes."
        return infer_cluster(workload), workload.ledger, note
    try:
        return cluster_of(workload), workload.ledger, f"As {workload.name} says."
    except InputError as error:
        raise InputError(f"{error}; or add --infer to take what the jobs had in use at once") from None


def _print(found: Cluster, ledger: Ledger, output: Path | None) -> None:
    """Prints what was repaired and written; beside the file itself, if that is printed."""
    from rich.console import Console

    from shunter.metrics.labels import cluster_label
    from shunter.report.tables import ledger_table

    console = Console(stderr=output is None)
    if ledger:
        console.print(ledger_table(ledger))
    if output is not None:
        console.print(f"written: {output} ({cluster_label(found)})", markup=False, highlight=False, soft_wrap=True)
