"""Trainings on other machines: what they read goes with them, and the folder of the run comes back.

Where a worker sees the disk of whoever asks, it reads and writes there, as a process of this machine would: a run that
is cut short goes on from its last checkpoint. Elsewhere it works in a folder of its own, in which all files lie as they
do here, relative to the folder in which the user works.
"""

from __future__ import annotations

import glob
import io
import os
import shutil
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from typing import TYPE_CHECKING, Any

from shunter.agents.training.request import make_folder
from shunter.policies.own import python_path
from shunter.studies.training_task import RunTask, train_task

if TYPE_CHECKING:
    from shunter.engines.base import Engine, Shared


@dataclass(frozen=True)
class CarriedTask:
    """A training with what it needs of the machine on which it was asked for."""

    task: RunTask
    home: str
    """The folder in which the user works."""
    mark: str
    """A file that is there as long as the trainings run: who sees it shares the disk."""
    files: Mapping[str, Shared[bytes]]
    """The contents of all files that the training reads, by their absolute paths."""


@dataclass(frozen=True)
class Carried:
    """What a training came to."""

    result: dict[str, Any]
    folder: bytes | None
    """The folder of the run as a tar file; None: it was written where it belongs."""

    def settle(self, folder: Path) -> dict[str, Any]:
        """Puts the folder of a run where it belongs, and returns what the training came to."""
        if self.folder is not None:
            make_folder(folder.parent)
            with TemporaryDirectory(prefix=".", dir=folder.parent) as aside:
                with tarfile.open(fileobj=io.BytesIO(self.folder)) as packed:
                    packed.extractall(aside, filter="data")
                # What the run had when it was sent is part of what came back.
                shutil.rmtree(folder, ignore_errors=True)
                Path(aside, folder.name).rename(folder)
        return self.result


@contextmanager
def carried(tasks: Sequence[RunTask], engine: Engine) -> Iterator[list[CarriedTask]]:
    """Yields trainings for workers that may be on other machines.

    Raises:
        InputError: The folder of the runs cannot be written, or a file cannot be read.
    """
    above = Path(os.path.commonpath([task.folder.absolute().parent for task in tasks] or [Path.cwd()]))
    make_folder(above)
    shared: dict[str, Shared[bytes]] = {}
    with NamedTemporaryFile(prefix=".shunter-", dir=above) as mark:
        several = []
        for task in tasks:
            paths = _read_by(task)
            for path in paths:
                if path not in shared:
                    shared[path] = engine.share(Path(path).read_bytes())
            several.append(CarriedTask(task, os.getcwd(), mark.name, {path: shared[path] for path in paths}))
        yield several


def _read_by(task: RunTask) -> list[str]:
    """Returns the absolute paths of all files that a training reads, those of a run that goes on among them."""
    request = task.request
    texts = [*_texts(request.changes), *_texts(request.resolved(task.folder).config.sections()), str(task.folder)]
    if request.config is not None:
        texts.append(str(request.config))
    return sorted({path for text in texts for path in _files(text)})


def _texts(value: Any) -> Iterator[str]:  # noqa: ANN401 - whatever a section holds
    """Yields all texts in sections."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | Sequence):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(each)


def _files(text: str) -> Iterator[str]:
    """Yields the files that a text means: a file, all in a folder, those of a pattern; most texts mean none."""
    # A word such as saf is a name, whatever lies in the folder in which one works.
    if not ("." in text or os.sep in text):
        return
    for found in glob.glob(str(python_path(text) or text)) or [text]:
        path = Path(found).absolute()
        if path.is_dir():
            yield from (str(one) for one in path.rglob("*") if one.is_file())
        elif path.is_file():
            yield str(path)


def train_carried(carried: CarriedTask) -> Carried:
    """Trains in a worker, on whichever machine.

    Raises:
        ShunterError: As `train_task` does.
    """
    if Path(carried.mark).is_file() and os.path.isdir(carried.home):
        os.chdir(carried.home)
        return Carried(train_task(carried.task), None)
    before = os.getcwd()
    with TemporaryDirectory(prefix="shunter-") as root:
        home = _below(root, carried.home)
        home.mkdir(parents=True)
        for path, content in carried.files.items():
            _below(root, path).parent.mkdir(parents=True, exist_ok=True)
            _below(root, path).write_bytes(content.get())
        os.chdir(home)
        try:
            task = _relative(carried.task, carried.home)
            result = train_task(task)
            return Carried(result, _packed(task.folder))
        finally:
            os.chdir(before)


def _below(root: str, path: str) -> Path:
    """Returns where an absolute path lies below another folder."""
    return Path(root, Path(path).relative_to("/"))


def _relative(task: RunTask, home: str) -> RunTask:
    """Returns the same training with relative names for files: absolute ones mean nothing on another machine."""

    def named(value: Any) -> Any:  # noqa: ANN401 - whatever a section holds
        if isinstance(value, Mapping):
            return {key: named(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [named(each) for each in value]
        return os.path.relpath(value, home) if isinstance(value, str) and os.path.isabs(value) else value

    request = task.request
    return replace(
        task,
        request=replace(
            request,
            changes=named(request.changes),
            config=None if request.config is None else Path(named(str(request.config))),
            out=Path(named(str(task.folder))),
        ),
    )


def _packed(folder: Path) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as file:
        file.add(folder, folder.name)
    return packed.getvalue()
