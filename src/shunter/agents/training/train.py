"""One training from Python: read the logs, choose a classic to beat, train, and judge what came of it."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shunter.agents.training.beginnings import Copies
from shunter.agents.training.held_out import REPORT, report_parts
from shunter.agents.training.kept_choice import keep_choice, kept_choice
from shunter.agents.training.provenance import ancestor_days, recorded_beginning, recorded_days, recorded_steps
from shunter.agents.training.request import (
    CONFIG_FILE,
    RESULT_FILE,
    TrainRequest,
    check_init,
    check_run_folder,
    make_folder,
    prepare_folder,
)
from shunter.agents.training.setup import Site, open_trainer
from shunter.agents.training.trainer import check_state
from shunter.agents.training.validation import objective_note
from shunter.comparison.believability import believe
from shunter.comparison.next_step import disbelief, judged_step
from shunter.comparison.roles import CHOSEN, LEARNED
from shunter.comparison.seen_days import DAYS, Judged, part_warning
from shunter.errors import InputError
from shunter.files import locked, write_file
from shunter.metrics.run_folder import to_json_text
from shunter.policies.catalog import CHOOSING_JOBS
from shunter.policies.trust import trusting
from shunter.simulation.run import result_ledger

if TYPE_CHECKING:
    from shunter.agents.training.held_out import PartReport
    from shunter.agents.training.trainer import Progress, TrainingOutcome
    from shunter.comparison.combinations import Combination
    from shunter.model.log import Ledger

Sections = Mapping[str, Mapping[str, Any]]
Names = str | Path | Sequence[str | Path]


class Watcher:
    """What a training tells while it runs. This one stays silent; override what you want to hear."""

    def note(self, text: str) -> None:
        """Takes something that a user must know before the training begins."""

    def stage(self, description: str) -> AbstractContextManager[Callable[[int, int], None]]:
        """Surrounds some work before or behind the training; yields what takes how much is done, and of how much."""
        return nullcontext(lambda done, total: None)

    def training(self, chosen: Sequence[Combination]) -> AbstractContextManager[Callable[[Progress], None]]:
        """Surrounds the training itself; yields what is called after each update.

        Args:
            chosen: For each log, the classic that policies are compared with.
        """
        return nullcontext(lambda progress: None)


@dataclass(frozen=True)
class Training:
    """What was trained, and what came out."""

    site: Site
    chosen: tuple[Combination, ...]
    """For each log, the classic chosen on training days."""
    outcome: TrainingOutcome
    parts: tuple[PartReport, ...]
    """The policy beside the classics, on validation and on later days; none if the training was interrupted."""
    folder: Path
    is_resumed: bool
    notes: tuple[str, ...]
    """What was told before the training."""

    def ledgers(self) -> list[tuple[str, Ledger]]:
        """Returns for each log which repairs and stand-ins are behind what was learned."""
        scheduler = self.site.config.environment.scheduler
        logs = self.site.logs
        return [(log.workload.name, result_ledger(log.workload, log.cluster, scheduler)) for log in logs]

    @cached_property
    def next_steps(self) -> list[str]:
        """For each log, what an operator should do with what was learned; nothing if it was interrupted."""
        judged = [one for part in self.parts if part.part == REPORT for one in part.report.logs]
        if not judged:
            return []
        # Where jobs are drawn there is no log: the user has to name one.
        words = [log.words for log in self.site.logs] or [["LOG"]] * len(judged)
        beliefs = [believe(log, None, len(log.workload)) for log in self.site.logs] or [None] * len(judged)
        option = "--policy" if self.site.config.kind in CHOOSING_JOBS else "--placement"
        name, steps = f"the learned policy ({self.folder})", []
        for one, log, belief in zip(judged, words, beliefs, strict=True):
            command = shlex.join(["shunter", "simulate", *log, option, str(self.folder)])
            text = (disbelief(belief, CHOSEN) or judged_step(one, LEARNED, name, command)).text
            steps.append(text if len(judged) == 1 else f"{one.name}: {text}")
        return steps

    @property
    def is_interrupted(self) -> bool:
        """Whether the user stopped it."""
        return self.outcome.reason == "interrupted"

    def result(self) -> dict[str, Any]:
        """Returns what ``--json`` prints."""
        from shunter import __version__

        return {
            "run": str(self.folder),
            "objective": self.site.objective.metric,
            "bounds": [asdict(bound) for bound in self.site.objective.bounds],
            "chosen": [one.label for one in self.chosen],
            "outcome": asdict(self.outcome),
            "resumed": self.is_resumed,
            "parts": [part.to_json() for part in self.parts],
            "next_steps": self.next_steps,
            "ledgers": [{"log": name, "ledger": ledger.to_json()} for name, ledger in self.ledgers()],
            "notes": list(self.notes),
            "config": self.site.config.sections(),
            "version": __version__,
        }


def train(
    workload: Names | None = None,
    *,
    cluster: str | Path | Sequence[str | Path] | None = None,
    env: str | None = None,
    out: str | Path | None = None,
    steps: int | None = None,
    seed: int | None = None,
    init: str | Path | None = None,
    preset: str | None = None,
    config: str | Path | Sections | None = None,
    changes: Sections | None = None,
    resume: bool = False,
    force: bool = False,
    trust: bool = False,
    watcher: Watcher | None = None,
) -> Training:
    """Trains a policy on the first days of a log, and judges it on later days, as ``shunter train`` does.

    Args:
        workload: A log or a generator, or several; None: as the configuration has it, or pick-host.
        cluster: One for each log; None: the cluster that each log describes.
        env: ``pick-job`` (the default), ``pick-job-and-type`` or ``pick-host``.
        out: The folder of the run; None: a new one in ``runs``.
        steps: How many decisions to train for.
        seed: For everything random but the choice of windows.
        init: A tuned policy or a checkpoint to begin from.
        preset: What the configuration starts from.
        config: A training file, or its sections: ``{"ppo": {"clip": 0.1}}``. It overrides the preset.
        changes: Sections that override a training file. The arguments above override both.
        resume: Go on with the run in `out`.
        force: Overwrite the run in `out`.
        trust: Run Python files that a training file or a checkpoint names.
        watcher: Hears notes and progress; None: nobody does.

    Returns:
        The run: ``folder``, ``outcome`` (steps, best validation, why it ended), ``parts`` (the policy beside the
        classics, on validation and on later days) and ``result()``, all of it for JSON. `shunter.load_policy` takes
        the folder.

    Raises:
        InputError: A value is wrong, a file cannot be read, or the folder cannot be used.
    """
    shortcuts = {
        ("data", "workload"): _names("workload", workload),
        ("data", "cluster"): _names("cluster", cluster),
        ("environment", "kind"): env,
        ("training", "steps"): steps,
        ("training", "seed"): seed,
        ("training", "init"): None if init is None else str(init),
    }
    request = TrainRequest(
        changes=_merged(config if isinstance(config, Mapping) else {}, changes or {}, shortcuts),
        preset=preset,
        config=None if config is None or isinstance(config, Mapping) else Path(config),
        out=None if out is None else Path(out),
        resume=resume,
        force=force,
    )
    return run_request(request, watcher, trust=trust)


def _merged(
    config: Sections, changes: Sections, shortcuts: Mapping[tuple[str, str], object]
) -> dict[str, dict[str, Any]]:
    """Returns sections, those that come later going before: a key of the changes replaces one of the configuration."""
    merged: dict[str, dict[str, Any]] = {}
    for sections in (config, changes):
        for name, table in sections.items():
            if not isinstance(table, Mapping):
                raise InputError(f"config[{name!r}] is {table!r}; expected a section, as in {{'ppo': {{'clip': 0.1}}}}")
            merged.setdefault(name, {}).update(table)
    for (section, key), value in shortcuts.items():
        if value is not None:
            merged.setdefault(section, {})[key] = value
    return merged


def _names(name: str, given: Names | None) -> list[str] | None:
    """Returns one or several names as texts."""
    if given is None:
        return None
    several = [given] if isinstance(given, str | Path) else given
    if not isinstance(several, Sequence) or not all(isinstance(one, str | Path) for one in several):
        raise InputError(f"{name} is {type(given).__name__}; expected a file, what generates one, or a list of these")
    return [str(one) for one in several]


def run_request(
    request: TrainRequest, watcher: Watcher | None = None, *, trust: bool = False, judge: bool = True
) -> Training:
    """Reads, trains and judges; all that can be checked is checked before the training.

    Args:
        request: What to do.
        watcher: Hears notes and progress; None: nobody does.
        trust: Run Python files that a training file or a checkpoint names.
        judge: False: leave the result unjudged, so that nothing is known of the days of the report.

    Raises:
        InputError: A value is wrong, a file cannot be read, or the folder cannot be used.
    """
    request.check()
    folder = request.folder()
    with ExitStack() as held:
        held.enter_context(trusting(trust))
        # A folder that is not there yet is made, and kept, only when all has been checked.
        if is_locked := folder.is_dir():
            held.enter_context(locked(folder))
        told = watcher or Watcher()
        training = _run_in(folder, request, told, held, is_locked=is_locked)
        # Who interrupts wants the prompt back; the run can go on, or be evaluated later.
        if training.is_interrupted:
            return training
        if judge:
            with _telling(told, _how_to_go_on(folder)), told.stage("judging on validation and later days") as progress:
                parts = report_parts(training.site, training.chosen, folder, progress)
            training = replace(training, parts=parts)
        text = to_json_text(training.result())
        write_file(folder / RESULT_FILE, lambda file: file.write(text.encode()))
        return training


def _run_in(folder: Path, request: TrainRequest, watcher: Watcher, held: ExitStack, *, is_locked: bool) -> Training:
    """Reads and trains in a folder; `held` keeps it from other processes, from now on or once it is made."""
    resumed = request.is_resumed(folder)
    if not resumed:
        # A run that was cut short before its first checkpoint begins anew in its own folder.
        check_run_folder(folder, request.force or request.resume)
    else:
        # What is damaged is told before anything takes minutes.
        check_state(folder)
    notes = _resume_notes(request, folder)
    resolved = request.resolved(folder)
    with request.naming_options():
        with watcher.stage("reading"):
            site = Site.of(resolved.config)
        site.check()
    if resumed:
        site = replace(site, begun_as=recorded_beginning(folder))
    else:
        # Before anything is told or written; what a run that goes on began from may be gone.
        site.check_beginning()
    notes += [*resolved.notes, *site_notes(site, folder if resumed else None)]
    if resumed and (done := recorded_steps(folder)) >= site.config.training.steps:
        notes.append(f"{folder}: has seen all of its {done:,} steps; to train on, give more: --steps {2 * done}")
    for note in notes:
        watcher.note(note)
    chosen = kept_choice(site, folder) if request.has_run(folder) else None
    if chosen is None:
        again = "interrupted before the training began: nothing was kept; to begin again, give the same command"
        with _telling(watcher, again), watcher.stage("choosing classics on training days") as progress:
            chosen = tuple(site.choose(progress))
    if not resumed:
        site = _settle(site, folder, request, held, is_locked=is_locked)
    keep_choice(site, chosen, folder)
    with _telling(watcher, _how_to_go_on(folder)), watcher.training(chosen) as callback:
        with _left_if_refused(folder, is_new=not (resumed or is_locked)):
            trainer = open_trainer(site, chosen, folder, callbacks=(callback,), resume=resumed)
        # What a run that goes on has otherwise from now on must be there when it goes on again.
        _write_config(site, folder)
        # What it came to before it goes on is not what it comes to.
        (folder / RESULT_FILE).unlink(missing_ok=True)
        outcome = trainer.run()
    return Training(site, chosen, outcome, (), folder, resumed, tuple(notes))


@contextmanager
def _left_if_refused(folder: Path, *, is_new: bool) -> Iterator[None]:
    """Removes a folder that this run has made if it is refused after all, so that the next try finds no run there."""
    try:
        yield
    except InputError:
        if is_new:
            shutil.rmtree(folder, ignore_errors=True)
        raise


def _how_to_go_on(folder: Path) -> str:
    return f"interrupted; to go on: shunter train --resume --out {folder}"


@contextmanager
def _telling(watcher: Watcher, words: str) -> Iterator[None]:
    """Tells a user who interrupts what was kept."""
    try:
        yield
    except KeyboardInterrupt:
        watcher.note(words)
        raise


def _resume_notes(request: TrainRequest, folder: Path) -> list[str]:
    """Returns why a run that is to be resumed does not go on."""
    if not request.resume or request.is_resumed(folder):
        return []
    if request.has_run(folder):
        return [f"{folder}: the run was cut short before its first checkpoint; starting anew by its {CONFIG_FILE}"]
    return [f"{folder}: there is no run to resume; starting anew"]


def site_notes(site: Site, resumed: Path | None = None) -> list[str]:
    """Returns what a user must know before a training: by what policies are compared, and which days are not new.

    Args:
        site: What is learned from.
        resumed: The folder of a run that goes on: it remembers what it began from.
    """
    found = [objective_note(site.config.reward), *site.config.environment.notes(site.logs)]
    if site.logs:
        seen = {DAYS: ancestor_days(site.config) if resumed is None else recorded_days(site, resumed)}
        judged = (Judged.of(log.workload, site.report_episodes.bounds) for log in site.logs)
        found += [part_warning("the report", seen, one) for one in judged]
    return [note for note in found if note is not None]


def _settle(site: Site, folder: Path, request: TrainRequest, held: ExitStack, *, is_locked: bool) -> Site:
    """Prepares the folder of a new run: what it names is copied there, and its configuration is written."""
    if not is_locked:
        make_folder(folder)
        held.enter_context(locked(folder))
        # Somebody else may have begun a run there since we looked.
        check_run_folder(folder, request.force or request.resume)
    # What is copied may lie in the folder that is cleared.
    copies = Copies.of(site.config)
    check_init(site.config, folder)
    prepare_folder(folder)
    site = replace(site, config=copies.settle(site.config, folder))
    _write_config(site, folder)
    return site


def _write_config(site: Site, folder: Path) -> None:
    text = site.config.to_toml(folder)
    write_file(folder / CONFIG_FILE, lambda file: file.write(text.encode()))
