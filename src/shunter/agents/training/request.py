"""What a training is asked to do: options, file and preset made into one configuration, and the run's folder."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from shunter.agents.training.beginnings import COPIES, beginning_changes, beginning_notes
from shunter.agents.training.checkpoint_files import find_checkpoint
from shunter.agents.training.config import FILE_KEYS, OPTIONS, TrainConfig, file_sections, load_config
from shunter.agents.training.kept_choice import CHOICE_FILE
from shunter.agents.training.option_table import option_name
from shunter.checks import NOTHING, check_name, declarations
from shunter.envs.kinds import ENVIRONMENTS
from shunter.errors import InputError
from shunter.files import LOCK, file_meant, read_toml
from shunter.model.settings import CORES_ALONE
from shunter.policies.catalog import CHOOSING_JOBS, PICK_JOB
from shunter.policies.checkpoint import LAST
from shunter.policies.native import of_before, spec_file

RUNS: Final = Path("runs")
"""Where runs go that are given no folder."""
CONFIG_FILE: Final = "config.toml"
RESULT_FILE: Final = "result.json"
"""What a training that has ended came to, as ``--json`` prints it."""
COPIES_OF_BEFORE: Final = ("tuned.toml", "order.toml", "estimate.toml")
"""The copies of files that a configuration names, as earlier versions called them."""
MAY_CHANGE: Final = {
    "data": {"workload"},
    "report": {"part", "windows", "length"},
    "training": {"steps", "eval_every", "save_every", "patience", "threshold", "margin_se", "decide_windows"}
    | {"threads", "device"},
}
"""What a run may have otherwise when it goes on, by section. Of logs only names may change: contents are checked."""

_WRONG: Final = re.compile(
    rf"({OPTIONS}: )?\[(?P<section>\w+)\]:? (\[\w+\] )?(--)?(?P<unknown>unknown (\[\w+\] )?)?(?P<key>\w+)(?P<what>.*)",
    re.DOTALL,
)
"""An error in a value of a section; what `load_config` finds in what the user said begins with `OPTIONS`."""
_QUOTED: Final = re.compile(r" '(?P<value>[^']*)'")
"""How an error goes on that names a value which is unknown."""

Sections = dict[str, dict[str, Any]]


def _unsaid(path: Path) -> Sections:
    """Returns what the file of a run means and does not say: earlier versions counted cores, and absolute times."""
    environment = file_sections(path).get("environment")
    if not isinstance(environment, dict) or "size_by" in environment or environment.get("kind", PICK_JOB) != PICK_JOB:
        return {}
    order = environment.get("order")
    of_order = {"order": of_before(order)} if isinstance(order, str) else {}
    return {"environment": {"size_by": CORES_ALONE, **of_order}}


@dataclass(frozen=True)
class Resolved:
    """A whole configuration."""

    config: TrainConfig
    notes: tuple[str, ...]
    """What a user must know of how it came about."""


@dataclass(frozen=True)
class TrainRequest:
    """What `shunter.train` and ``shunter train`` are asked to do."""

    changes: Sections
    """What is said of the training itself, by section and key."""
    preset: str | None = None
    config: Path | None = None
    out: Path | None = None
    """None: a new folder in `RUNS`."""
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

    def has_run(self, folder: Path) -> bool:
        """Returns whether a run has begun in the folder, and it is wanted to go on."""
        return self.resume and (folder / CONFIG_FILE).is_file()

    def is_resumed(self, folder: Path) -> bool:
        """Returns whether it has come far enough to go on."""
        return self.has_run(folder) and find_checkpoint(folder / LAST) is not None

    def is_done(self, folder: Path) -> bool:
        """Returns whether the run in the folder has ended, and is all that is asked for.

        Raises:
            InputError: The run cannot have what is asked for.
        """
        if not self.is_resumed(folder) or not (folder / RESULT_FILE).is_file():
            return False
        before = load_config(folder / CONFIG_FILE, None, _unsaid(folder / CONFIG_FILE))
        after = self.resolved(folder).config
        # How many threads compute is no part of what comes out.
        return before == replace(after, training=replace(after.training, threads=before.training.threads))

    def resolved(self, folder: Path) -> Resolved:
        """Returns the whole configuration.

        Raises:
            InputError: A preset, a key or a value is wrong, a file cannot be read, or a run cannot go on so.
        """
        if self.has_run(folder):
            return self._of_run(folder)
        told = file_sections(self.config) if self.config is not None else {}
        # With a log, a command that resumes begins a run that is not there: scripts can give the same one again.
        if self.resume and self._kind(told) in CHOOSING_JOBS and self._said(told, "data", "workload") is None:
            raise InputError(f"{folder}: there is no run to resume; check --out, or give a log to begin one")
        # Asked first: what a training begins from brings an environment, which the rest of the configuration is laid
        # over.
        init = self._said(told, "training", "init")
        is_begun = isinstance(init, str) and init != NOTHING
        beginning = beginning_changes(str(init), self._kind(told)) if is_begun else {}
        kind = self._kind(told, beginning)
        self._check_environment(kind, self._said(told, "data", "workload") is not None)
        with self.naming_options():
            config = load_config(self.config, self.preset or kind, self.changes, beginning)
        return Resolved(config, (*beginning_notes(config, beginning), *_learning_notes(config)))

    def _of_run(self, folder: Path) -> Resolved:
        """Returns the configuration of a run that has begun: its own file has what preset, file and beginning said."""
        for option, given in (("--config", self.config), ("--preset", self.preset)):
            if given is not None:
                raise InputError(
                    f"{option} {given} is given with --resume; the run in {folder} goes on by its own {CONFIG_FILE}: "
                    f"leave {option} out, or train anew in another folder"
                )
        unsaid = _unsaid(folder / CONFIG_FILE)
        before = load_config(folder / CONFIG_FILE, None, unsaid)
        changes = without_copied(self.changes, before)
        said = {name: {key: one for key, one in of.items() if one is not None} for name, of in changes.items()}
        both = {name: unsaid.get(name, {}) | said.get(name, {}) for name in {**unsaid, **said}}
        with self.naming_options():
            config = load_config(folder / CONFIG_FILE, None, both)
        if self.is_resumed(folder):
            check_resumable(before, config, folder)
        return Resolved(config, ())

    @contextmanager
    def naming_options(self) -> Iterator[None]:
        """Lets errors in what the user said name the option, and not the key of a training file that it stands for."""
        try:
            yield
        except InputError as error:
            wrong = _WRONG.fullmatch(str(error))
            key = None if wrong is None else self._said_key(wrong)
            if wrong is None or key is None:
                raise InputError(str(error).removeprefix(f"{OPTIONS}: ")) from None
            # Where one value contradicts another, both are named.
            what = re.sub(r"\b[a-z]+_[a-z_]+\b", lambda word: _named(wrong["section"], word[0]), wrong["what"])
            option = _option(wrong["section"], key)
            raise InputError(f"{'unknown ' if wrong['unknown'] else ''}{option}{what}") from None

    def _said_key(self, wrong: re.Match[str]) -> str | None:
        """Returns the key that an error is about; None: it is none of those that the options say something of."""
        said = self.changes.get(wrong["section"], {})
        if wrong["key"] in said:
            return wrong["key"]
        # An order is a policy, for instance: the value tells which of the options is meant.
        quoted = _QUOTED.match(wrong["what"])
        return None if quoted is None else next((key for key, one in said.items() if one == quoted["value"]), None)

    def _check_environment(self, kind: str, has_log: bool) -> None:
        """Raises an error for an option of another kind of decision, or of drawn jobs where there is a log."""
        for key in self.changes.get("environment", {}):
            owners = [name for name, options in ENVIRONMENTS.items() if key in declarations(options)]
            if owners and kind not in owners:
                what = f"{_option('environment', key)} is an option of {owners[0]}, but {kind} is to be trained"
                raise InputError(f"{what}; leave it out, or give --env {owners[0]}")
            if has_log and key in ENVIRONMENTS[kind].drawn():
                what = f"{_option('environment', key)} is given with a log, which has its own jobs and cluster"
                raise InputError(f"{what}; leave it out")

    def _said(self, told: Sections, section: str, key: str) -> object:
        """Returns what the options say of a key, or else a file; None: nothing."""
        in_file = told.get(section)
        below = in_file.get(key) if isinstance(in_file, dict) else None
        return self.changes.get(section, {}).get(key, below)

    def _kind(self, told: Sections, beginning: Sections | None = None) -> str:
        """Returns what is decided, by the options, or else by the file, or else by the beginning."""
        brought = (beginning or {}).get("environment", {}).get("kind", PICK_JOB)
        kind = self._said(told, "environment", "kind")
        return check_name("environment", str(brought if kind is None else kind), ENVIRONMENTS)

    def folder(self) -> Path:
        """Returns the folder of the run: the one that is given, or a new one."""
        if self.out is not None:
            return self.out
        kind = self._kind({})
        number = 1
        # lexists: a broken link is in the way as well.
        while os.path.lexists(RUNS / f"{kind}-{number}"):
            number += 1
        return RUNS / f"{kind}-{number}"


RUN_NAMES: Final = (
    *("best", "last", "initial", "tensorboard", "progress.csv"),
    *(CONFIG_FILE, CHOICE_FILE, RESULT_FILE, COPIES, *COPIES_OF_BEFORE),
)
"""What the folder of a run holds, beside checkpoints whose writing was cut short."""


def check_run_folder(folder: Path, force: bool) -> None:
    """Raises an error if a new run cannot have this folder: it holds something else, or a run without ``--force``."""
    try:
        held = {_meant(path.name) for path in folder.iterdir()} if folder.exists() else set()
    except OSError as error:
        raise InputError(f"--out {folder}: cannot be used ({error.strerror}); give another folder") from error
    # Whatever is not a run is never overwritten, not even with --force.
    held -= {LOCK}
    if held and not (CONFIG_FILE in held or held <= set(RUN_NAMES)):
        raise InputError(f"--out {folder}: the folder is not empty, and no run (no {CONFIG_FILE}); give another")
    if held and not force:
        raise InputError(
            f"--out {folder}: the folder holds a run; give another, --resume to go on with it, or --force to "
            "overwrite it"
        )


def _learning_notes(config: TrainConfig) -> list[str]:
    """Returns a line if a training is over before it learns."""
    begins, steps = getattr(config.algorithm, "learn_after", 0), config.training.steps
    if begins < steps:
        return []
    return [
        f"nothing will be learned: learning begins after {begins:,} steps (--learn-after), and {steps:,} are played"
    ]


def check_init(config: TrainConfig, folder: Path) -> None:
    """Raises an error if a new run would overwrite the checkpoint that it begins from."""
    init = config.training.init
    if init is not None and os.path.isdir(init) and Path(init).resolve().is_relative_to(folder.resolve()):
        raise InputError(f"--init {init} lies in --out {folder}, which is to be overwritten; give another folder")


def prepare_folder(folder: Path) -> None:
    """Creates the folder of a new run; what another run left there is removed, and nothing else.

    Raises:
        InputError: The folder cannot be written.
    """
    make_folder(folder)
    try:
        for path in folder.iterdir():
            if _meant(path.name) in RUN_NAMES:
                _remove(path)
    except OSError as error:
        raise InputError(f"--out {folder}: cannot be used ({error.strerror}); give another folder") from error


def make_folder(folder: Path) -> None:
    """Creates a folder, if it is not there.

    Raises:
        InputError: It cannot be created.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out {folder}: cannot be used ({error.strerror}); give another folder") from error


def _meant(name: str) -> str:
    """Returns what a file or folder was to become whose writing was cut short; any other name stays."""
    return file_meant(name.removesuffix(".old").removesuffix(".new"))


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def check_resumable(before: TrainConfig, after: TrainConfig, folder: Path) -> None:
    """Raises an error for the first option that a run cannot have otherwise from now on.

    Args:
        before: As the run was.
        after: As it is wanted.
        folder: Of the run.
    """
    old, new = before.sections(), after.sections()
    # By what it learns is told before the options that another algorithm has.
    for section in ("training", *(name for name in new if name != "training")):
        for key, value in new[section].items():
            was = old[section].get(key)
            # Anything else would make the rest of the run a training of something else.
            if value != was and key not in MAY_CHANGE.get(section, ()):
                raise InputError(
                    f"{_option(section, key)} is {_text(value)}, but the run in {folder} has {_text(was)}, which stays "
                    "as it is with --resume; leave it out, or train anew in another folder"
                )


def without_copied(changes: Sections, before: TrainConfig) -> Sections:
    """Returns the changes without files of which the run has a copy: the same command can be given again.

    Raises:
        InputError: A file cannot be read.
    """
    sections = before.sections()
    left = {name: dict(table) for name, table in changes.items()}
    for section, key in FILE_KEYS:
        given, copied = (spec_file(str(those.get(section, {}).get(key))) for those in (changes, sections))
        if given is not None and copied is not None and read_toml(given) == read_toml(copied):
            del left[section][key]
    return left


def _named(section: str, word: str) -> str:
    """Returns the option that a word stands for, or the word, if it is no key that has one."""
    name = option_name(section, word)
    return word if name is None else f"--{name}"


def _option(section: str, key: str) -> str:
    """Returns by which option of the command line a key is given."""
    name = option_name(section, key)
    return f"--set {section}.{key}" if name is None else f"--{name}"


def _text(value: Any) -> str:  # noqa: ANN401 - whatever a key holds
    return value if isinstance(value, str) else repr(value)
