"""``shunter trace cluster``: the cluster that a list of machines, or a log itself, tells of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from shunter.cli.options import MapOption, given_text, path
from shunter.cli.outputs import step
from shunter.cli.parsing import Argument, Option, echo
from shunter.cli.trace_log import StrictOption
from shunter.cli.trace_output import ForceOption
from shunter.errors import InputError

if TYPE_CHECKING:
    from shunter.model.cluster import Cluster
    from shunter.model.log import Ledger

FilesArgument = Annotated[
    list[str],
    Argument(
        parser=given_text,
        metavar="FILE",
        help="A list of machines, or a job log that tells its machine. Several files are read as one.",
        show_default=False,
    ),
]
OutputOption = Annotated[
    Path | None,
    Option(
        "--output",
        "--out",
        "-o",
        parser=path,
        metavar="FILE.toml",
        show_default="print it",
        help="The cluster file to write, for --cluster.",
    ),
]
FormatOption = Annotated[
    str | None,
    Option("--format", metavar="NAME", show_default="by the content", help="The kind of list or log."),
]
InferOption = Annotated[
    bool,
    Option(
        "--infer",
        help="For a log that does not tell its machine: take what its jobs had in use at once, on each host that it "
        "names, or in all if it names none.",
    ),
]
NameOption = Annotated[
    str | None, Option(metavar="NAME", show_default="the file's name", help="What tables call the cluster.")
]


def cluster(
    files: FilesArgument,
    output: OutputOption = None,
    format_: FormatOption = None,
    infer: InferOption = False,
    name: NameOption = None,
    columns: MapOption = None,
    strict: StrictOption = False,
    force: ForceOption = False,
) -> None:
    """Make a cluster file from a list of machines (slurm.conf, scontrol, sinfo, lshosts, published ones) or from a log.

    For instance:

        scontrol show node -o > nodes.txt; shunter trace cluster nodes.txt -o cluster.toml

        lshosts -w > hosts.txt; bhosts -w > slots.txt; shunter trace cluster hosts.txt slots.txt -o farm.toml

        shunter trace cluster machine_events.csv.gz -o google.toml

        shunter trace cluster /etc/slurm/slurm.conf -o cluster.toml

        shunter trace cluster sacct.txt --infer -o as-used.toml
    """
    from dataclasses import replace

    from shunter.cli.outputs import check_toml
    from shunter.model.cluster_file import cluster_toml, write_cluster
    from shunter.workloads import files_of
    from shunter.workloads.clusters import find_cluster

    paths = files_of(files)
    inputs: dict[str, str | Path | None] = {f"list's part {number + 1}": file for number, file in enumerate(paths)}
    if output is not None:
        check_toml("--output", output, force, "--cluster", inputs)
    elif force:
        raise InputError("--force is given without --output; it lets --output overwrite a file, and means nothing else")
    with step(f"reading {paths[0]}"):
        mapping = None if columns is None else ",".join(columns)
        found, ledger, notes = find_cluster(paths, format=format_, infer=infer, strict=strict, columns=mapping)
    if name is not None:
        found = replace(found, name=name)
    if output is None:
        echo(cluster_toml(found, list(notes)), nl=False)
    else:
        write_cluster(found, output, list(notes))
    _print(found, ledger, notes if infer else (), output)


def _print(found: Cluster, ledger: Ledger, notes: tuple[str, ...], output: Path | None) -> None:
    """Prints what was repaired, inferred and written; beside the file itself, if that is printed."""
    from shunter.report.tables import ledger_table
    from shunter.report.terminal import Console

    # Standard output is the cluster file itself then, and may go into a pipe.
    console = Console(stderr=output is None)
    if ledger:
        console.print(ledger_table(ledger))
    for note in notes:
        console.print(note, markup=False, highlight=False, soft_wrap=True)
    if output is not None:
        console.print(f"written: {output} ({found.label})", markup=False, highlight=False, soft_wrap=True)
