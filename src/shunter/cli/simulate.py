"""``shunter simulate``: one workload, one cluster, one policy."""

from __future__ import annotations

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
    LoadOption,
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
from shunter.cli.outputs import check_folder, check_plot, given_options, save_figure
from shunter.cli.progress import step

if TYPE_CHECKING:
    from shunter.cli.running import Run


def simulate(
    context: typer.Context,
    workload: WorkloadOption,
    cluster: ClusterOption = None,
    load: LoadOption = None,
    policy: PolicyOption = "fcfs",
    dispatch: DispatchOption = None,
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

        shunter simulate --workload 'generate:eda?seed=42' --load 0.9
    """
    arguments = RunArguments(
        workload=workload,
        cluster=cluster,
        load=load,
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
        _write(out, result, given_options(context))
    if plot is not None:
        _draw(plot, result)
    _print(result, json, out, plot)


def _check_outputs(arguments: RunArguments, out: Path | None, force: bool, plot: Path | None) -> None:
    """Raises an error for what can be known to fail before the simulation is run."""
    from shunter.results import RUN_FILES
    from shunter.simulate.policy_file import policy_path
    from shunter.simulate.specs import spec_file

    arguments.checked()
    inputs = {
        "workload": arguments.workload,
        "cluster": arguments.cluster,
        "policy": policy_path(arguments.policy) or spec_file(arguments.policy),
        "estimate": spec_file(arguments.estimate),
    }
    check_folder(out, force, RUN_FILES, inputs)
    check_plot(plot, out, inputs)


def _write(folder: Path, result: Run, given: dict[str, Any]) -> None:
    from shunter.results import build_manifest, write_run

    with step(f"writing {folder}"):
        manifest = build_manifest(result.schedule, given, result.arguments.to_json())
        write_run(folder, result.schedule, result.result(), manifest)


def _draw(path: Path, result: Run) -> None:
    from shunter.evaluate.figures import draw_schedule

    with step(f"drawing {path}"):
        save_figure(path, draw_schedule(result.schedule))


def _print(result: Run, json: bool, out: Path | None, plot: Path | None) -> None:
    from shunter.results import to_json_text

    if json:
        typer.echo(to_json_text(result.result()))
        return
    from shunter.cli.tables import print_run

    print_run(result, [path for path in (out, plot) if path is not None])
