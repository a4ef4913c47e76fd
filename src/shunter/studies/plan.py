"""From a study to its runs: each has a folder whose name tells what it is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from shunter.agents.training.config import OPTIONS
from shunter.agents.training.curves import SEED_FOLDER
from shunter.agents.training.request import CONFIG_FILE, RESULT_FILE, TrainRequest
from shunter.errors import InputError
from shunter.policies.catalog import CHOOSING_JOBS
from shunter.studies.identity import run_key
from shunter.studies.study_file import DRAWN, Sections, Study, merged
from shunter.studies.training_task import RunTask, with_threads

RUNS: Final = "runs"
"""Where in the folder of a study its runs are."""
NOWHERE: Final = Path("/nowhere")
"""A folder without a run: what is asked of it is asked of a new one."""


@dataclass(frozen=True)
class Cell:
    """One run of a study."""

    log: str
    variant: str
    seed: int
    task: RunTask

    def on_threads(self, threads: int) -> Cell:
        """Returns the same run on so many threads."""
        return replace(self, task=replace(self.task, request=with_threads(self.task.request, threads)))


def cells_of(study: Study, variants: dict[str, Sections], folder: Path, *, trust: bool = False) -> list[Cell]:
    """Returns the runs of variants: all logs and all seeds of each.

    Args:
        study: What they belong to.
        variants: By name, all that each says of a training.
        folder: Where the runs go.
        trust: Run Python files that a training file or a checkpoint names.

    Raises:
        InputError: A variant is no training, or a file cannot be read.
    """
    return [
        make_cell(study, log, name, sections, seed, folder, trust=trust)
        for name, sections in variants.items()
        for log in study.logs
        for seed in study.seeds
    ]


def make_cell(
    study: Study,
    log: str,
    variant: str,
    sections: Sections,
    seed: int,
    folder: Path,
    *,
    trust: bool = False,
    judge: bool = True,
) -> Cell:
    """Returns one run. Its folder has a hash of what defines it, so that it is known when it is asked for again.

    Args:
        study: What it belongs to.
        log: The name of a log of the study.
        variant: What the settings are called.
        sections: All that they say of a training.
        seed: Of the training.
        folder: Where the runs go.
        trust: Run Python files that a training file or a checkpoint names.
        judge: False: the days of the report stay unseen.

    Raises:
        InputError: The settings are no training, or a file cannot be read.
    """
    changes = merged(sections, study.logs[log], {"training": {"seed": seed}})
    where = f"{study.file}: variant {variant!r}"
    try:
        config = TrainRequest(changes, study.preset).resolved(NOWHERE).config
        key = run_key(config)
    except InputError as error:
        raise InputError(f"{where}: {str(error).removeprefix(f'{OPTIONS}: ')}") from None
    if config.kind in CHOOSING_JOBS and log == DRAWN:
        raise InputError(f'{study.file}: there are no [logs] to learn from; add one, as in kth = "kth.swf.gz"')
    out = folder / variant / log / f"{SEED_FOLDER}{seed}-{key}"
    task = RunTask(f"{variant} on {log}, seed {seed}", _request(study, changes, out), trust, judge)
    return Cell(log, variant, seed, task)


def _request(study: Study, changes: Sections, out: Path) -> TrainRequest:
    """Returns what is asked of a run: all at first, and nothing that its folder knows once it has begun."""
    if not (out / CONFIG_FILE).is_file():
        return TrainRequest(changes, study.preset, out=out, resume=True)
    # Where the log lies may have changed since a run was cut short; what it holds has not, as the folder's name tells.
    is_moved = "data" in changes and not (out / RESULT_FILE).is_file()
    return TrainRequest({"data": {"workload": changes["data"]["workload"]}} if is_moved else {}, out=out, resume=True)
