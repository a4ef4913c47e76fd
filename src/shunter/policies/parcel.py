"""Ways to schedule as bytes that another machine can unpack: what they were read from goes with them.

Resolved policies are plain values, but for three kinds that rest on files: Python files, which are run again where they
arrive, checkpoints, whose networks the core reads there, and files of failures. Their contents are part of the parcel.
"""

from __future__ import annotations

import hashlib
import io
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast

import cloudpickle  # type: ignore[import-untyped]

from shunter.errors import InputError
from shunter.model.settings import Settings
from shunter.policies.catalog import LEARNED
from shunter.policies.checkpoint import (
    FILE_HASHES,
    POLICY_FILE,
    WEIGHTS_FILE,
    Checkpoint,
    open_network,
    resolve_checkpoint,
)
from shunter.policies.own import PythonPolicy, load_python_policy, python_path
from shunter.policies.scheduler import Placement, resolve_placement

if TYPE_CHECKING:
    from shunter.policies.scheduler import Scheduler

Files = Mapping[str, bytes]
"""The contents of files in one folder, by their names."""
_unpacked_in: ContextVar[Path] = ContextVar("unpacked_in")
"""The folder in which files are laid that a parcel holds."""


def pack(schedulers: Sequence[Scheduler]) -> bytes:
    """Returns ways to schedule as bytes.

    Raises:
        InputError: A policy of the user's own cannot be sent.
    """
    packed = io.BytesIO()
    try:
        _Packer(packed).dump(list(schedulers))
    except (pickle.PicklingError, TypeError) as error:
        what = str(error).split("\n", 1)[0]
        raise InputError(f"a policy cannot be sent to other processes ({what}); give it as a file, FILE.py") from None
    return packed.getvalue()


@contextmanager
def unpacked(parcel: bytes) -> Iterator[list[Scheduler]]:
    """Yields the ways to schedule of a parcel; the files that they rest on are there as long as the block runs."""
    with TemporaryDirectory(prefix="shunter-") as folder:
        token = _unpacked_in.set(Path(folder))
        try:
            yield [_placed(one) for one in pickle.loads(parcel)]
        finally:
            _unpacked_in.reset(token)


def _placed(scheduler: Scheduler) -> Scheduler:
    """Returns a way to schedule whose words name the placement where it is now: a learned policy reads it from them."""
    is_moved = scheduler.placement.file is not None and isinstance(scheduler.policy, Checkpoint)
    return scheduler.placed_by(scheduler.placement) if is_moved else scheduler


class _Packer(cloudpickle.Pickler):  # type: ignore[misc]
    """Pickles values by what they are, and what rests on files with the contents of these."""

    def reducer_override(self, one: Any) -> Any:  # noqa: ANN401 - as pickle has it
        """Returns how to make an object where it arrives; what is not ours goes as cloudpickle sends it."""
        if isinstance(one, PythonPolicy) and one.file is not None:
            return _python_policy, (one.text, _contents(one.file.parent, [one.file.name]))
        if isinstance(one, Checkpoint):
            return _checkpoint, (one.text, _checkpoint_contents(one))
        if isinstance(one, Placement) and (sent := _sent_placement(one)) is not None:
            return sent
        if isinstance(one, Settings) and isinstance(one.failures, str):
            file = Path(one.failures)
            return _settings, (replace(one, failures=None), _contents(file.parent, [file.name]))
        return super().reducer_override(one)


def _sent_placement(one: Placement) -> tuple[Callable[..., Placement], tuple[Any, ...]] | None:
    """Returns how to make a placement where it arrives; None: it is a plain value, or an object of the user's own."""
    if one.checkpoint is not None:
        return _learned_placement, (one.checkpoint,)
    file = python_path(one.text)
    if file is None or not file.is_file():
        return None
    return _python_placement, (one.text, _contents(file.parent, [file.name]))


def _contents(folder: Path, names: Sequence[str]) -> Files:
    return {name: (folder / name).read_bytes() for name in names}


def _checkpoint_contents(one: Checkpoint) -> Files:
    """Returns what a policy needs of its checkpoint; what only a training needs to go on stays."""
    beside = [*one.record.get(FILE_HASHES, {}), WEIGHTS_FILE]
    names = [POLICY_FILE, *(name for name in dict.fromkeys(beside) if (one.folder / name).is_file())]
    return _contents(one.folder, names)


def _laid(files: Files) -> Path:
    """Returns a folder with these files, those of one content in the same."""
    digest = hashlib.sha256(pickle.dumps(sorted(files.items()))).hexdigest()[:16]
    folder = _unpacked_in.get() / digest
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def _at(folder: Path, text: str) -> str:
    """Returns ``FILE.py`` or ``FILE.py:CLASS`` with the file in another folder."""
    file = cast(Path, python_path(text))
    return f"{folder / file.name}{text.removeprefix(str(file))}"


def _python_policy(text: str, files: Files) -> PythonPolicy:
    return replace(load_python_policy(_at(_laid(files), text)), text=text)


def _python_placement(text: str, files: Files) -> Placement:
    return resolve_placement(_at(_laid(files), text))


def _checkpoint(text: str, files: Files) -> Checkpoint:
    return replace(resolve_checkpoint(str(_laid(files)), hosts=True), text=text)


def _learned_placement(checkpoint: Checkpoint) -> Placement:
    return Placement(str(checkpoint.folder), code=LEARNED, checkpoint=checkpoint, network=open_network(checkpoint))


def _settings(settings: Settings, files: Files) -> Settings:
    (name,) = files
    return replace(settings, failures=str(_laid(files) / name))
