"""``shunter trace cluster``: the cluster that a list of machines, a site's rules, or a log itself, tell of."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from shunter.cli.options import JsonOption, MapOption, given_text, path
from shunter.cli.outputs import step
from shunter.cli.parsing import Argument, Option, echo
from shunter.cli.trace_log import StrictOption
from shunter.cli.trace_output import ForceOption
from shunter.errors import InputError

if TYPE_CHECKING:
    from shunter.workloads.clusters import FoundCluster
    from shunter.workloads.machines.site import SitePolicy

FilesArgument = Annotated[
    list[str],
    Argument(
        parser=given_text,
        metavar="FILE",
        help="Lists of machines and of the rules of one site, or a job log that tells its machine. Several files are "
        "read as one.",
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
PolicyOption = Annotated[
    Path | None,
    Option(
        "--policy-out",
        parser=path,
        metavar="FILE.toml",
        show_default="none",
        help="The policy file to write, for --policy: the order of jobs that slurm.conf or lsb.queues tells.",
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
    str | None,
    Option(metavar="NAME", show_default="as slurm.conf or the file is called", help="What tables call the cluster."),
]


def cluster(
    files: FilesArgument,
    output: OutputOption = None,
    policy_out: PolicyOption = None,
    format_: FormatOption = None,
    infer: InferOption = False,
    name: NameOption = None,
    columns: MapOption = None,
    strict: StrictOption = False,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Make a cluster file from a list of machines (slurm.conf, scontrol, sinfo, lshosts, published ones) or from a log.

    Lists of the site's rules (partitions, QOS, accounts, reservations, licenses, queues) may stand beside it, in any
    order. What is not taken over is listed.

    For instance:

        scontrol show node -o > nodes.txt; shunter trace cluster nodes.txt -o cluster.toml

        lshosts -w > hosts.txt; bhosts -w > slots.txt; shunter trace cluster hosts.txt slots.txt -o farm.toml

        shunter trace cluster machine_events.csv.gz -o google.toml

        shunter trace cluster /etc/slurm/slurm.conf -o cluster.toml

        shunter trace cluster slurm.conf partitions.txt qos.txt assoc.txt -o site.toml --policy-out policy.toml

        shunter trace cluster sacct.txt --infer -o as-used.toml
    """
    from dataclasses import replace

    from shunter.cli.outputs import check_toml, print_json
    from shunter.files import write_file
    from shunter.model.cluster_file import cluster_toml, write_cluster
    from shunter.workloads import files_of
    from shunter.workloads.clusters import find_cluster

    paths = files_of(files)
    inputs: dict[str, str | Path | None] = {f"list's part {number + 1}": file for number, file in enumerate(paths)}
    if output is not None:
        check_toml("--output", output, force, "--cluster", inputs)
    elif json or (force and policy_out is None):
        option, why = (
            ("--json", "tells what --output writes") if json else ("--force", "lets --output overwrite a file")
        )
        raise InputError(f"{option} is given without --output; it {why}, and means nothing else")
    if policy_out is not None:
        # Neither needs to be there already.
        if output is not None and policy_out.absolute() == output.absolute():
            raise InputError(f"--policy-out would overwrite the cluster file {output}; give another place")
        check_toml("--policy-out", policy_out, force, "--policy", {**inputs, "cluster file": output})
    with step(f"reading {paths[0]}"):
        mapping = None if columns is None else ",".join(columns)
        found = find_cluster(paths, format=format_, infer=infer, strict=strict, columns=mapping)
    if name is not None:
        found = found._replace(cluster=replace(found.cluster, name=name))
    notes = [*found.notes, *_how_to_run(found, output, policy_out)]
    if policy_out is not None:
        text = _policy(found, paths).to_toml(notes)
        write_file(policy_out, lambda file: file.write(text.encode()))
    if output is None:
        echo(cluster_toml(found.cluster, [*notes, *_left_comments(found)]), nl=False)
    else:
        write_cluster(found.cluster, output, [*notes, *_left_comments(found)])
    if json:
        print_json(_to_json(found, output, policy_out))
    else:
        _print(found, infer, output, policy_out)


def _policy(found: FoundCluster, paths: list[Path]) -> SitePolicy:
    if found.policy is None:
        raise InputError(
            f"{paths[0]}: tells nothing of the order of jobs, so that --policy-out has nothing to write; give "
            "slurm.conf, lsb.queues or 'bqueues -l' too"
        )
    return found.policy


def _how_to_run(found: FoundCluster, output: Path | None, policy_out: Path | None) -> list[str]:
    """Returns the command that schedules as the site does, if its files tell how."""
    if found.policy is None:
        return []
    files = [("--cluster", output, "CLUSTER.toml"), ("--policy", policy_out, "POLICY.toml")]
    words = " ".join(f"{option} {shlex.quote(str(file)) if file else name}" for option, file, name in files)
    return [f"To schedule as the site does: shunter simulate LOG {words} {found.policy.options}".rstrip()]


def _left_comments(found: FoundCluster) -> list[str]:
    return ["Read, and not taken over:", *(f"  {left.text}" for left in found.left)] if found.left else []


def _to_json(found: FoundCluster, output: Path | None, policy_out: Path | None) -> dict[str, object]:
    cluster = found.cluster
    return {
        "cluster": {
            "name": cluster.name,
            "nodes": len(cluster.nodes),
            "cores": cluster.total_cores,
            "gpus": cluster.total_gpus,
        },
        "output": str(output),
        "policy_output": None if policy_out is None else str(policy_out),
        "notes": [*found.notes, *_how_to_run(found, output, policy_out)],
        "ledger": found.ledger.to_json(),
        "left_out": [left.to_json() for left in found.left],
    }


def _print(found: FoundCluster, infer: bool, output: Path | None, policy_out: Path | None) -> None:
    """Prints what was repaired, inferred, left out and written; beside the file itself, if that is printed."""
    from shunter.report.tables import ledger_table, left_out_table
    from shunter.report.terminal import Console

    # Standard output is the cluster file itself then, and may go into a pipe.
    console = Console(stderr=output is None)
    if found.ledger:
        console.print(ledger_table(found.ledger))
    if found.left:
        console.print(left_out_table(found.left))
    written = [] if output is None else [f"written: {output} ({found.cluster.label})"]
    written += [] if policy_out is None else [f"written: {policy_out}"]
    for line in (*(found.notes if infer else ()), *written, *_how_to_run(found, output, policy_out)):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
