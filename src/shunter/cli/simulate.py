"""``shunter simulate``: one workload, one cluster, one policy."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from shunter.cli.arguments import RunArguments
from shunter.cli.options import (
    ClusterOption,
    DispatchOption,
    EstimateOption,
    ForceOption,
    FormatOption,
    JsonOption,
    KillOption,
    LengthOption,
    MaxWaitOption,
    MissingRequestOption,
    OutOption,
    PlacementOption,
    PlotOption,
    PolicyOption,
    ReserveByOption,
    ScanDepthOption,
    SeedOption,
    StartOption,
    StrictOption,
    WorkloadOption,
)
from shunter.cli.progress import step
from shunter.errors import InputError

if TYPE_CHECKING:
    from shunter.cli.running import Run

PLOT_SUFFIXES = (".png", ".svg", ".pdf")


def simulate(
    context: typer.Context,
    workload: WorkloadOption,
    cluster: ClusterOption = None,
    policy: PolicyOption = "fcfs",
    dispatch: DispatchOption = "easy",
    placement: PlacementOption = None,
    estimate: EstimateOption = "requested",
    start: StartOption = 0,
    length: LengthOption = None,
    max_wait: MaxWaitOption = None,
    missing_request: MissingRequestOption = "run-time",
    reserve_by: ReserveByOption = "requested",
    kill_at_request: KillOption = False,
    scan_depth: ScanDepthOption = 1000,
    seed: SeedOption = 0,
    format_: FormatOption = None,
    strict: StrictOption = False,
    out: OutOption = None,
    force: ForceOption = False,
    plot: PlotOption = None,
    json: JsonOption = False,
) -> None:
    """Replay a job log on a cluster and print what the schedule is worth.

    For instance:

        shunter simulate --workload log.swf.gz --policy sjf --dispatch easy

        shunter simulate --workload log.swf --cluster nodes.toml --plot pack.png

        shunter simulate --workload log.csv --cluster 256 --length 1024 --json
    """
    arguments = RunArguments(
        workload=workload,
        cluster=cluster,
        policy=policy,
        dispatch=dispatch,
        placement=placement,
        estimate=estimate,
        start=start,
        length=length,
        max_wait_s=max_wait,
        missing_request=missing_request,
        reserve_by=reserve_by,
        kill_at_request=kill_at_request,
        scan_depth=scan_depth,
        seed=seed,
        format=format_,
        strict=strict,
    )
    _check_outputs(arguments, out, force, plot)
    from shunter.cli.running import run

    result = run(arguments)
    if out is not None:
        _write(out, result, _given(context))
    if plot is not None:
        _draw(plot, result)
    _print(result, json, out, plot)


def _check_outputs(arguments: RunArguments, out: Path | None, force: bool, plot: Path | None) -> None:
    """Raises an error for what can be known to fail before the simulation is run."""
    from shunter.results import check_output_folder, run_files

    arguments.checked()
    if out is not None:
        _check_apart("--out", run_files(out), arguments)
        check_output_folder(out, force)
    elif force:
        raise InputError("--force is given without --out; it lets --out overwrite a run, and means nothing else")
    if plot is not None:
        _check_apart("--plot", [plot], arguments)
        _check_plot(plot, out)


def _check_apart(option: str, outputs: list[Path], arguments: RunArguments) -> None:
    """Raises an error if an output would overwrite an input."""
    from shunter.simulate.policy_file import policy_path

    inputs = {"workload": arguments.workload, "cluster": arguments.cluster, "policy": policy_path(arguments.policy)}
    for output in outputs:
        for what, given in inputs.items():
            if given and os.path.exists(output) and os.path.exists(given) and output.samefile(given):
                raise InputError(f"{option} would overwrite the {what} {given}; give another place")


def _check_plot(plot: Path, out: Path | None) -> None:
    if plot.suffix.lower() not in PLOT_SUFFIXES:
        raise InputError(f"--plot {plot}: unknown suffix {plot.suffix!r}; give a name that ends in .png, .svg or .pdf")
    if os.path.isdir(plot):
        raise InputError(f"--plot {plot}: this is a folder; give the name of a file")
    if not plot.absolute().parent.is_dir() and plot.absolute().parent != (out.absolute() if out else None):
        raise InputError(f"--plot {plot}: there is no folder {plot.parent}; create it first")


def _given(context: typer.Context) -> dict[str, Any]:
    """Returns the options that the user gave, as they were understood."""
    given = {}
    for name, value in context.params.items():
        source = context.get_parameter_source(name)
        if source is not None and source.name != "DEFAULT":
            given[name.rstrip("_")] = str(value) if isinstance(value, Path) else value
    return given


def _write(folder: Path, result: Run, given: dict[str, Any]) -> None:
    from shunter.results import build_manifest, write_run

    with step(f"writing {folder}"):
        manifest = build_manifest(result.schedule, given, result.arguments.to_json())
        write_run(folder, result.schedule, result.result(), manifest)


def _draw(path: Path, result: Run) -> None:
    from shunter.evaluate.figures import draw_schedule
    from shunter.results import write_file

    with step(f"drawing {path}"):
        figure = draw_schedule(result.schedule)
        write_file(path, lambda file: figure.savefig(file, format=path.suffix[1:].lower()))


def _print(result: Run, json: bool, out: Path | None, plot: Path | None) -> None:
    from shunter.results import to_json_text

    if json:
        typer.echo(to_json_text(result.result()))
        return
    from shunter.cli.tables import print_run

    print_run(result, [path for path in (out, plot) if path is not None])
