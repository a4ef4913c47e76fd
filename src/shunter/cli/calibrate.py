"""``shunter calibrate``: whether a cluster description explains the waits of its log."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

from shunter.cli.options import POLICY, SETTINGS, SITE, WINDOW, ForceOption, JsonOption, given_options, path, takes
from shunter.cli.outputs import check_outputs, print_json, save_figure, step
from shunter.cli.parsing import Context, Option
from shunter.cli.running import RunArguments

if TYPE_CHECKING:
    from shunter.metrics.calibration_report import CalibrationReport
    from shunter.policies.scheduler import Scheduler

WAITS, WAITS_CSV = "waits.parquet", "waits.csv"

OutOption = Annotated[
    Path | None,
    Option("--out", "-o", parser=path, metavar="DIR", help="Write the report, the waits of each job and a manifest."),
]
PlotOption = Annotated[
    Path | None,
    Option(parser=path, metavar="FILE", help="Draw simulated against logged waits: a .png, .svg or .pdf file."),
]


@takes(SITE | POLICY | WINDOW | SETTINGS)
def calibrate(
    context: Context,
    arguments: RunArguments,
    out: OutOption = None,
    force: ForceOption = False,
    plot: PlotOption = None,
    json: JsonOption = False,
) -> None:
    """Simulate the site's own policy, and say whether the simulated waits are those of the log.

    For instance:

        shunter calibrate log.swf.gz --policy fcfs --dispatch easy

        shunter calibrate log.swf.gz --cluster nodes.toml --plot waits.png

        shunter calibrate log.swf.gz --out calibration --json
    """
    from shunter.metrics.run_folder import CALIBRATION, MANIFEST

    scheduler = arguments.scheduler()
    check_outputs(out, force, (CALIBRATION, WAITS, WAITS_CSV, MANIFEST), plot, lambda: arguments.inputs(scheduler))
    report = _report(arguments, scheduler)
    if out is not None:
        _write(out, report, given_options(context))
    if plot is not None:
        _draw(plot, report)
    _print(report, json, [place for place in (out, plot) if place is not None])


def _report(arguments: RunArguments, scheduler: Scheduler) -> CalibrationReport:
    from shunter.cli.running import read_inputs

    # The function has the verb's own name.
    from shunter.metrics.calibration_report import calibrate as hold_against_log
    from shunter.workloads.clock import read_clock

    inputs = read_inputs(arguments)
    with step("simulating and comparing") as progress:
        return hold_against_log(
            inputs.log,
            scheduler=scheduler,
            start=arguments.start,
            length=arguments.length,
            strict=arguments.strict,
            # Hours of the day need to know what second 0 of the log is.
            clock=read_clock(inputs.log.workload, arguments.workload),
            arguments=inputs.arguments.to_json(),
            progress=progress,
        )


def _write(folder: Path, report: CalibrationReport, given: dict[str, Any]) -> None:
    from shunter.files import csv_writer
    from shunter.metrics.run_folder import CALIBRATION, build_manifest, to_json_text, write_folder

    text = to_json_text(report.to_json()) + "\n"
    frame = report.waits.to_frame()
    writers: dict[str, Callable[[BinaryIO], object]] = {
        CALIBRATION: lambda file: file.write(text.encode()),
        WAITS: frame.write_parquet,
        WAITS_CSV: csv_writer(frame),
    }
    with step(f"writing {folder}"):
        run = report.run
        write_folder(folder, writers, build_manifest(run.schedule, given, run.resolved(), run.scheduler.files))


def _draw(plot: Path, report: CalibrationReport) -> None:
    from shunter.report.calibration import draw_calibration

    with step(f"drawing {plot}"):
        save_figure(plot, draw_calibration(report.run.schedule, report.waits, report.calibration, report.judgment))


def _print(report: CalibrationReport, json: bool, written: list[Path]) -> None:
    if json:
        print_json(report.to_json())
        return
    from shunter.report.calibration import print_report

    print_report(report, written)
