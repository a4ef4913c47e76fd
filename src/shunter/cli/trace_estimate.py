"""``shunter trace estimate``: how well run times are known in advance, and a prior fitted on training days."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from shunter.cli.options import JsonOption, SeedOption, given_text, listed_names, path
from shunter.cli.outputs import check_plot, check_toml, print_json, save_figure, step
from shunter.cli.parsing import Option, number
from shunter.cli.trace_log import LogArguments, reads_log
from shunter.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shunter.metrics.forecasts import Trial

TrainOption = Annotated[
    float,
    Option(parser=number, metavar="X", help="The share of the jobs, from the first on, that the prior is fitted on."),
]
EstimatesOption = Annotated[
    str,
    Option(
        "--estimate",
        metavar="A,B,...",
        help="Estimates to compare with the fitted posterior, with commas between them: names (see 'shunter policies'; "
        "also with parameters), or FILE.toml with a prior.",
    ),
]
SaveOption = Annotated[
    Path | None,
    Option(
        "--save",
        "--out",
        "-o",
        parser=path,
        metavar="FILE",
        show_default="not written",
        help="Write the fitted prior to a .toml file, for --estimate.",
    ),
]
ForceOption = Annotated[bool, Option("--force", help="Let --save overwrite a file.")]
PlotOption = Annotated[
    Path | None,
    Option(
        parser=path,
        metavar="FILE",
        show_default="no figure",
        help="Draw run times against estimates: a .png, .svg or .pdf file.",
    ),
]
WorkloadOption = Annotated[
    str | None, Option(parser=given_text, metavar="FILE", help="The log, as other verbs take it.", hidden=True)
]


@dataclass(frozen=True)
class EstimateReport:
    """Estimates of a log's later days, and what was asked for."""

    trial: Trial
    train: float
    seed: int

    def result(self) -> dict[str, Any]:
        """Returns what ``--json`` prints."""
        from shunter import __version__

        trial = self.trial
        return {
            "workload": trial.workload.name,
            "workload_sha256": trial.workload.content_sha256,
            "train": self.train,
            "training_jobs": trial.training_jobs,
            "later_jobs": trial.later_jobs,
            "estimates": [forecast.to_json() for forecast in trial.forecasts],
            "notes": list(trial.notes),
            "prior": asdict(trial.prior),
            "ledger": trial.workload.ledger.to_json(),
            "seed": self.seed,
            "version": __version__,
        }


@reads_log
def estimate(
    log: LogArguments,
    workload: WorkloadOption = None,
    train: TrainOption = 0.6,
    estimates: EstimatesOption = "requested,last-two,posterior",
    seed: SeedOption = 0,
    save: SaveOption = None,
    force: ForceOption = False,
    plot: PlotOption = None,
    json: JsonOption = False,
) -> None:
    """Fit a prior for run times on the first days of a log, and measure how good estimates are on the later ones.

    For instance:

        shunter trace estimate log.swf.gz

        shunter trace estimate log.swf.gz --save prior.toml --plot estimates.png

        shunter simulate log.swf.gz --policy sjf --estimate prior.toml
    """
    if workload is not None:
        # Other verbs name a log by --workload; people expect it here too.
        log = replace(log, files=(*log.files, workload))
    names = listed_names("estimate", estimates)
    _check(log, names, train, seed, save, force, plot)
    report = EstimateReport(_try(log, names, train, seed, save), train, seed)
    if plot is not None:
        from shunter.report.estimates import draw_trial

        with step(f"drawing {plot}"):
            save_figure(plot, draw_trial(report.trial))
    if save is not None:
        _save(save, report)
    if json:
        print_json(report.result())
        return
    from shunter.report.estimates import print_trial

    print_trial(report.trial, [written for written in (save, plot) if written is not None])


def _check(
    log: LogArguments, names: list[str], train: float, seed: int, save: Path | None, force: bool, plot: Path | None
) -> None:
    """Raises an error for what can be known to fail before the log is read."""
    from shunter.metrics.forecasts import check_train
    from shunter.policies.native import spec_file
    from shunter.policies.scheduler import resolve_scheduler

    check_train(train)
    for name in names:
        resolve_scheduler(estimate=name, seed=seed)
    inputs = {**log.inputs, **{f"estimate {name}": spec_file(name) for name in names}}
    _check_save(save, force, inputs)
    check_plot(plot, None, inputs)


def _check_save(save: Path | None, force: bool, inputs: Mapping[str, str | Path | None]) -> None:
    if save is None:
        if force:
            raise InputError("--force is given without --save; it lets --save overwrite a file, and means nothing else")
        return
    check_toml("--save", save, force, "--estimate", inputs)


def _try(log: LogArguments, names: list[str], train: float, seed: int, save: Path | None) -> Trial:
    from shunter.metrics.forecasts import check_estimable, try_estimates

    workload = log.read()
    if save is not None:
        # A prior that would never be used is not written; the estimates themselves may still be looked at.
        check_estimable(workload)
    with step("estimating"):
        return try_estimates(workload, names, train, seed)


def _save(save: Path, report: EstimateReport) -> None:
    from shunter import __version__
    from shunter.policies.prior import save_prior

    trial = report.trial
    comments = [
        f"A prior for --estimate, fitted by shunter {__version__} ('shunter trace estimate --train {report.train:g}')",
        f"on the first {trial.training_jobs} of {trial.training_jobs + trial.later_jobs} jobs of {trial.workload.name}",
        f"sha256 {trial.workload.content_sha256}",
    ]
    save_prior(trial.prior, save, comments)
