"""``shunter simulate``: one workload, one cluster, one policy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from shunter.cli.options import (
    LOAD,
    POLICY,
    SETTINGS,
    SITE,
    STOPS,
    WINDOW,
    ForceOption,
    JsonOption,
    OutOption,
    PlotOption,
    given_options,
    takes,
)
from shunter.cli.outputs import check_outputs, save_figure, step
from shunter.cli.parsing import Context, echo
from shunter.cli.running import RunArguments

if TYPE_CHECKING:
    from shunter.metrics.run import Run


@takes(SITE | LOAD | POLICY | WINDOW | STOPS | SETTINGS)
def simulate(
    context: Context,
    arguments: RunArguments,
    out: OutOption = None,
    force: ForceOption = False,
    plot: PlotOption = None,
    json: JsonOption = False,
) -> None:
    """Replay a job log on a cluster and print the metrics of the schedule.

    For instance:

        shunter simulate log.swf.gz --policy sjf --dispatch easy

        shunter simulate log.swf --cluster nodes.toml --plot pack.png

        shunter simulate log.csv --cluster 256 --length 1024 --json

        shunter simulate 'generate:eda?seed=42' --load 0.9

        shunter simulate log.csv --cluster gpus.toml --policy las --preemption-overhead 30 --min-run 300

        shunter simulate log.csv --cluster gpus.toml --failures failures.csv
    """
    from shunter.cli.running import run
    from shunter.metrics.run_folder import RUN_FILES

    scheduler = arguments.scheduler()
    # Mistakes in words and places are told before the log is read, which may take long.
    check_outputs(out, force, RUN_FILES, plot, lambda: arguments.inputs(scheduler))
    result = run(arguments, scheduler)
    if out is not None:
        _write(out, result, given_options(context))
    if plot is not None:
        _draw(plot, result)
    _print(result, json, out, plot)


def _write(folder: Path, result: Run, given: dict[str, Any]) -> None:
    from shunter.metrics.run_folder import build_manifest, write_run

    with step(f"writing {folder}"):
        manifest = build_manifest(result.schedule, given, result.resolved(), result.scheduler.files)
        write_run(folder, result.schedule, result.result(), manifest)


def _draw(path: Path, result: Run) -> None:
    from shunter.report.schedule_figure import draw_schedule

    with step(f"drawing {path}"):
        save_figure(path, draw_schedule(result.schedule))


def _print(result: Run, json: bool, out: Path | None, plot: Path | None) -> None:
    from shunter.metrics.run_folder import to_json_text

    if json:
        echo(to_json_text(result.result()))
        return
    from shunter.report.tables import print_run

    print_run(result, [path for path in (out, plot) if path is not None])
