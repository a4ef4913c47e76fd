"""One training: read the logs, choose a classic to beat, train, and judge what came of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from shunter.cli.progress import step
from shunter.cli.train_arguments import CONFIG_FILE, check_folder, check_init, prepare_folder

if TYPE_CHECKING:
    from collections.abc import Callable

    from shunter.agents.config import TrainConfig
    from shunter.agents.setup import Site
    from shunter.agents.trainer import Outcome, Progress
    from shunter.agents.training_report import PartReport
    from shunter.cli.train_arguments import TrainArguments
    from shunter.comparison.combinations import Combination
    from shunter.model.ledger import Ledger


@dataclass(frozen=True)
class Training:
    """What was trained, and what came out."""

    site: Site
    chosen: tuple[Combination, ...]
    """For each log, the classic chosen on training days."""
    outcome: Outcome
    parts: tuple[PartReport, ...]
    """None of a training that was interrupted."""
    folder: Path
    is_resumed: bool
    notes: tuple[str, ...]
    """What was told before the training."""

    def ledgers(self) -> list[tuple[str, Ledger]]:
        """Returns for each log which repairs and stand-ins are behind what was learned."""
        from shunter.envs.options import PickHostOptions
        from shunter.simulation.run import result_ledger

        options = self.site.config.environment
        if isinstance(options, PickHostOptions):
            return []
        scheduler = options.scheduler
        logs = self.site.logs
        return [(log.workload.name, result_ledger(log.workload, log.cluster, scheduler)) for log in logs]

    @property
    def is_interrupted(self) -> bool:
        """Whether the user stopped it."""
        return self.outcome.reason == "interrupted"

    def result(self) -> dict[str, Any]:
        """Returns what ``--json`` prints."""
        from shunter import __version__
        from shunter.agents.report_rows import part_object

        return {
            "run": str(self.folder),
            "objective": self.site.objective.metric,
            "bounds": [asdict(bound) for bound in self.site.objective.bounds],
            "chosen": [one.label for one in self.chosen],
            "outcome": asdict(self.outcome),
            "resumed": self.is_resumed,
            "parts": [part_object(part, self.site.objective.metric) for part in self.parts],
            "ledgers": [{"log": name, "ledger": ledger.to_json()} for name, ledger in self.ledgers()],
            "notes": list(self.notes),
            "config": self.site.config.sections(),
            "version": __version__,
        }


def run_training(arguments: TrainArguments) -> Training:
    """Reads, trains and judges; all that can be checked is checked before the training."""
    arguments.check()
    folder = arguments.folder()
    resumed = arguments.is_resumed(folder)
    if not resumed:
        check_folder(folder, arguments.force or arguments.resume)
    notes = _resume_notes(arguments, folder)
    resolved = arguments.resolved(folder)
    site = _site(resolved.config)
    if not resumed:
        # Before anything is told or written; what a run that goes on began from may be gone.
        site.check_beginning()
    notes += [*resolved.notes, *site_notes(site, folder if resumed else None)]
    for note in notes:
        typer.echo(note, err=True)
    with step("choosing classics on training days") as progress:
        chosen = tuple(site.choose(progress))
    if not resumed:
        site = _settle(site, folder)
    from shunter.agents.setup import open_trainer

    with training_bar(chosen) as callback:
        trainer = open_trainer(site, chosen, folder, callbacks=(callback,), resume=resumed)
        # What a run that goes on has otherwise from now on must be there when it goes on again.
        _write_config(site, folder)
        outcome = trainer.run()
    parts: tuple[PartReport, ...] = ()
    if outcome.reason != "interrupted":
        from shunter.agents.training_report import report_parts

        with step("judging on validation and later days"):
            parts = report_parts(site, chosen, folder)
    return Training(site, chosen, outcome, parts, folder, resumed, tuple(notes))


def _resume_notes(arguments: TrainArguments, folder: Path) -> list[str]:
    """Returns why ``--resume`` does not go on with a run."""
    if not arguments.resume or arguments.is_resumed(folder):
        return []
    if arguments.has_run(folder):
        return [f"{folder}: the run was cut short before its first checkpoint; starting anew by its {CONFIG_FILE}"]
    return [f"{folder}: there is no run to resume; starting anew"]


def _site(config: TrainConfig) -> Site:
    """Returns what is learned from, checked."""
    from shunter.agents.setup import Site, read_logs

    with step("reading"):
        site = Site(config, config.report_episodes, read_logs(config))
    site.check()
    return site


def site_notes(site: Site, resumed: Path | None = None) -> list[str]:
    """Returns what a user must know before a training: by what policies are compared, and which days are not new.

    Args:
        site: What is learned from.
        resumed: The folder of a run that goes on: it remembers what it began from.
    """
    from shunter.agents.provenance import ancestor_days, recorded_days
    from shunter.agents.validation import objective_note
    from shunter.comparison.seen_days import DAYS, Judged, part_warning

    found = [objective_note(site.config.reward)]
    if site.logs:
        seen = {DAYS: ancestor_days(site.config) if resumed is None else recorded_days(site, resumed)}
        judged = (Judged.of(log.workload, site.report.bounds) for log in site.logs)
        found += [part_warning("the report", seen, one) for one in judged]
    return [note for note in found if note is not None]


def _settle(site: Site, folder: Path) -> Site:
    """Prepares the folder of a new run: what it names is copied there, and its configuration is written."""
    from shunter.agents.beginnings import Copies

    # What is copied may lie in the folder that is cleared.
    copies = Copies.of(site.config)
    check_init(site.config, folder)
    prepare_folder(folder)
    site = replace(site, config=copies.settle(site.config, folder))
    _write_config(site, folder)
    return site


def _write_config(site: Site, folder: Path) -> None:
    from shunter.files import write_file

    text = site.config.to_toml(folder)
    write_file(folder / CONFIG_FILE, lambda file: file.write(text.encode()))


@contextmanager
def training_bar(chosen: Sequence[Combination]) -> Iterator[Callable[[Progress], None]]:
    """Yields what is called after each update; it shows a bar on standard error if that is a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda progress: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        BarColumn(bar_width=24),
        TextColumn("{task.percentage:>3.0f} %", markup=False),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    rival = chosen[0].label if len(chosen) == 1 else "the classics"
    words = BarWords(rival)
    with Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False) as shown:
        task = shown.add_task("training", total=None)

        def moved(progress: Any) -> None:  # noqa: ANN401 - the trainer's, whose name is that of the bar's
            shown.update(task, completed=progress.steps, total=progress.total_steps, description=words(progress))

        yield moved


class BarWords:
    """What stands beside the bar; figures that not every update has are those of the last that had them."""

    def __init__(self, rival: str) -> None:
        """Remembers what policies are compared with."""
        self._rival = rival
        self._kept: dict[str, float] = {}

    def __call__(self, progress: Progress) -> str:
        """Returns the words after an update."""
        self._kept |= progress.figures
        parts = [f"{self._kept.get('steps_per_s', 0.0):,.0f} steps/s"]
        if "return" in self._kept:
            parts.append(f"return {self._kept['return']:.3g}")
        if "validation/ratio" in self._kept:
            # Without penalties for bounds, which the choice of the best checkpoint counts too.
            parts.append(f"validation {self._kept['validation/ratio']:.3f} × {self._rival}")
        return " · ".join(parts)
