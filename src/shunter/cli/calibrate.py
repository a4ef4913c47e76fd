"""``shunter calibrate``: whether a cluster description explains the waits of its log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from shunter.cli.arguments import RunArguments
from shunter.cli.options import ForceOption, JsonOption, path
from shunter.cli.outputs import check_folder, check_plot, given_options, save_figure
from shunter.cli.progress import step
from shunter.cli.run_options import POLICY, SETTINGS, SITE, WINDOW, takes

if TYPE_CHECKING:
    from shunter.cli.running import Run
    from shunter.metrics.calibrate import Calibration
    from shunter.metrics.calibration_verdict import Judgment
    from shunter.metrics.logged_waits import Waits
    from shunter.model.cluster import Cluster
    from shunter.model.workload import Workload
    from shunter.policies.scheduler import Scheduler

REPORT, WAITS, WAITS_CSV = "calibration.json", "waits.parquet", "waits.csv"

OutOption = Annotated[
    Path | None,
    typer.Option(parser=path, metavar="DIR", help="Write the report, the waits of each job and a manifest."),
]
PlotOption = Annotated[
    Path | None,
    typer.Option(parser=path, metavar="FILE", help="Draw simulated against logged waits: a .png, .svg or .pdf file."),
]


@dataclass(frozen=True)
class Report:
    """A run held against its log."""

    run: Run
    waits: Waits
    calibration: Calibration
    judgment: Judgment

    def result(self) -> dict[str, Any]:
        """Returns what ``--json`` prints and ``calibration.json`` holds."""
        schedule = self.run.schedule
        # What a schedule is worth, and how fast it came, 'shunter simulate' tells; a changed load has no logged waits.
        run = {key: value for key, value in self.run.result().items() if key not in ("metrics", "seconds", "load")}
        hashes = {
            "workload_sha256": schedule.workload.content_sha256,
            "cluster_sha256": schedule.cluster.content_sha256,
            "schedule_sha256": schedule.content_sha256,
        }
        arguments = {"arguments": self.run.arguments.to_json()}
        return self.judgment.to_json() | self.calibration.to_json() | run | hashes | arguments


@takes(SITE | POLICY | WINDOW | SETTINGS)
def calibrate(
    context: typer.Context,
    arguments: RunArguments,
    out: OutOption = None,
    force: ForceOption = False,
    plot: PlotOption = None,
    json: JsonOption = False,
) -> None:
    """Simulate the site's own policy, and say whether the simulated waits are those of the log.

    For instance:

        shunter calibrate --workload log.swf.gz --policy fcfs --dispatch easy

        shunter calibrate --workload log.swf.gz --cluster nodes.toml --plot waits.png

        shunter calibrate --workload log.swf.gz --out calibration --json
    """
    from shunter.metrics.run_folder import MANIFEST

    scheduler = arguments.scheduler()
    inputs = arguments.inputs(scheduler)
    check_folder(out, force, (REPORT, WAITS, WAITS_CSV, MANIFEST), inputs)
    check_plot(plot, out, inputs)
    report = _report(arguments, scheduler)
    if out is not None:
        _write(out, report, given_options(context))
    if plot is not None:
        _draw(plot, report)
    _print(report, json, [place for place in (out, plot) if place is not None])


def _report(arguments: RunArguments, scheduler: Scheduler) -> Report:
    from shunter.cli.running import run
    from shunter.metrics.calibrate import calibrate as compare
    from shunter.metrics.calibration_verdict import judge
    from shunter.metrics.logged_waits import check_logged_waits, compare_waits
    from shunter.workloads.clock import read_clock

    def check(workload: Workload, _: Cluster) -> None:
        check_logged_waits(workload.window(arguments.start, arguments.length))

    result = run(arguments, scheduler, inspect=check)
    with step("comparing"):
        waits = compare_waits(result.schedule)
        clock = read_clock(result.schedule.workload, arguments.workload)
        calibration = compare(result.schedule, waits, clock)
        return Report(result, waits, calibration, judge(calibration, result.schedule))


def _write(folder: Path, report: Report, given: dict[str, Any]) -> None:
    from shunter.metrics.run_folder import build_manifest, to_json_text, write_folder

    text = to_json_text(report.result()) + "\n"
    frame = report.waits.to_frame()
    writers: dict[str, Callable[[BinaryIO], object]] = {
        REPORT: lambda file: file.write(text.encode()),
        WAITS: frame.write_parquet,
        WAITS_CSV: frame.write_csv,
    }
    with step(f"writing {folder}"):
        run = report.run
        write_folder(folder, writers, build_manifest(run.schedule, given, run.resolved(), run.scheduler.files))


def _draw(plot: Path, report: Report) -> None:
    from shunter.report.calibration import draw_calibration

    with step(f"drawing {plot}"):
        save_figure(plot, draw_calibration(report.run.schedule, report.waits, report.calibration, report.judgment))


def _print(report: Report, json: bool, written: list[Path]) -> None:
    if json:
        from shunter.metrics.run_folder import to_json_text

        typer.echo(to_json_text(report.result()))
        return
    from shunter.report.calibration import print_report

    print_report(report, written)
