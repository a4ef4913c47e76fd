"""What a training is asked to do: options, file and preset made into one configuration, and the run's folder."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from shunter.errors import InputError

if TYPE_CHECKING:
    from shunter.agents.config import TrainConfig
    from shunter.envs.options import EpisodeOptions

RUNS: Final = Path("runs")
"""Where runs go that are given no folder."""
CONFIG_FILE: Final = "config.toml"

Sections = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class TrainArguments:
    """The options of ``shunter train``."""

    changes: Sections
    """What is said of the training itself, by section and key."""
    preset: str | None = None
    config: Path | None = None
    out: Path | None = None
    """None: a new folder in `RUNS`."""
    report: str = "0.7:1"
    report_windows: int = 20
    report_length: int | None = None
    """None: as long as in validation."""
    resume: bool = False
    force: bool = False

    def check(self) -> None:
        """Raises an error for options that contradict each other."""
        if self.resume and self.out is None:
            raise InputError("--resume is given without --out; name the run that is to go on, as in --out runs/first")
        if self.resume and self.force:
            raise InputError("--resume goes on with a run, --force overwrites it; give one of them")
        if self.force and self.out is None:
            raise InputError("--force is given without --out; it lets --out overwrite a run, and means nothing else")
        for option, value in (("--report-windows", self.report_windows), ("--report-length", self.report_length)):
            if value is not None and value < 1:
                raise InputError(f"{option} is {value}; expected 1 or more")

    def is_resumed(self, folder: Path) -> bool:
        """Returns whether there is a run to go on with, and it is wanted."""
        from shunter.agents.checkpoint import find_checkpoint
        from shunter.simulate.checkpoint_path import LAST

        return self.resume and (folder / CONFIG_FILE).is_file() and find_checkpoint(folder / LAST) is not None

    def resolved(self, folder: Path) -> TrainConfig:
        """Returns the whole configuration.

        Raises:
            InputError: A preset, a key or a value is wrong, or a file cannot be read.
        """
        from shunter.agents.beginnings import beginning_changes
        from shunter.agents.config import load_config
        from shunter.simulate.specs import read_toml

        if self.is_resumed(folder):
            # The run's own file has what its preset, its file and its beginning said.
            return load_config(folder / CONFIG_FILE, None, self.changes)
        told = read_toml(self.config) if self.config is not None else {}
        preset = self.preset or _kind(self.changes, told)
        config = load_config(self.config, preset, self.changes)
        if config.training.init is None:
            return config
        return load_config(self.config, preset, _merged(beginning_changes(config.training.init), self.changes))

    def report_episodes(self, config: TrainConfig) -> EpisodeOptions:
        """Returns the windows on which the result is judged."""
        from shunter.evaluate.windows import parse_part

        length = config.validation.length if self.report_length is None else self.report_length
        part = parse_part(self.report, "--report")
        return replace(config.validation, part=part, windows=self.report_windows, length=length)

    def folder(self) -> Path:
        """Returns the folder of the run: the one that is given, or a new one."""
        if self.out is not None:
            return self.out
        kind = _kind(self.changes, {})
        number = 1
        while os.path.lexists(RUNS / f"{kind}-{number}"):
            number += 1
        return RUNS / f"{kind}-{number}"


def _kind(changes: Sections, told: dict[str, Any]) -> str:
    """Returns what is decided, by the options or else by the file."""
    from shunter.agents.config import ENVIRONMENTS
    from shunter.envs.layout import PICK_JOB
    from shunter.simulate.names import check_name

    section = told.get("environment")
    in_file = section.get("kind", PICK_JOB) if isinstance(section, dict) else PICK_JOB
    kind = changes.get("environment", {}).get("kind", in_file)
    return check_name("environment", str(kind), ENVIRONMENTS)


def _merged(below: Sections, above: Sections) -> Sections:
    return {name: {**below.get(name, {}), **above.get(name, {})} for name in [*below, *above]}


RUN_NAMES: Final = ("best", "last", "initial", "tensorboard", "progress.csv", "tuned.toml", CONFIG_FILE)
"""What the folder of a run holds, beside checkpoints whose writing was cut short."""


def check_folder(folder: Path, force: bool) -> None:
    """Raises an error if a new run cannot have this folder: it holds something else, or a run without ``--force``."""
    try:
        held = {path.name for path in folder.iterdir()} if folder.exists() else set()
    except OSError as error:
        raise InputError(f"--out {folder}: cannot be used ({error.strerror}); give another folder") from error
    if held and not (CONFIG_FILE in held or held <= set(RUN_NAMES)):
        raise InputError(f"--out {folder}: the folder is not empty, and no run (no {CONFIG_FILE}); give another")
    if held and not force:
        raise InputError(
            f"--out {folder}: the folder holds a run; give another, --resume to go on with it, or --force to "
            "overwrite it"
        )


def prepare_folder(folder: Path) -> None:
    """Creates the folder of a new run; what another run left there is removed, and nothing else.

    Raises:
        InputError: The folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.iterdir():
            if path.name.removesuffix(".old").removesuffix(".new") in RUN_NAMES:
                _remove(path)
    except OSError as error:
        raise InputError(f"--out {folder}: cannot be used ({error.strerror}); give another folder") from error


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
