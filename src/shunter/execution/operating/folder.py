"""The folder of an operation: the lock, the kill switch, and where audit, journal and status are."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from shunter.errors import InputError

NEIGHBORS: Final = ("slurm", "lsf")
"""The schedulers that an operation works beside."""
FILE_MODE: Final = 0o640
FOLDER_MODE: Final = 0o750
LOOKS: Final = 3
"""How often it is tried to take the lock."""
LOOK_S: Final = 0.05


class OperationFolder:
    """The folder of one operation."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.journal = path / "held.jsonl"
        self.audit = path / "audit.jsonl"
        self.inputs = path / "inputs"
        self.status = path / "status.json"
        self.metrics = path / "metrics.prom"
        self.predictions = path / "predictions.json"
        self.switch = path / "disable"
        """While this file exists, nothing is changed and whatever was changed is undone."""
        self._lock: int | None = None

    def make(self) -> None:
        """Makes the folder.

        Raises:
            InputError: It cannot be made.
        """
        try:
            self.path.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{self.path}: cannot be made ({error.strerror}); name a folder with --state") from None

    def lock(self) -> None:
        """Makes sure that nobody else works with this folder, until this process ends.

        Raises:
            InputError: Somebody does, or the folder cannot be written.
        """
        path = self.path / "lock"
        try:
            # Close-on-exec is Python's default: no command inherits the lock.
            self._lock = _open_lock(path)
        except OSError as error:
            raise InputError(f"{path}: cannot be opened ({error.strerror}); name another folder with --state") from None
        if not _is_taken(self._lock):
            process = os.read(self._lock, 40).decode(errors="replace").strip() or "unknown"
            os.close(self._lock)
            self._lock = None
            do = f"stop it, or let it undo everything: touch {self.switch}"
            raise InputError(f"{self.path}: process {process} operates here already; {do}") from None
        # On a full disk nobody is told who it is, but undoing must go on.
        with suppress(OSError):
            os.ftruncate(self._lock, 0)
            os.pwrite(self._lock, f"{os.getpid()}\n".encode(), 0)

    def process(self) -> str | None:
        """Returns the number of the process that works with this folder; None: none does."""
        try:
            lock = os.open(self.path / "lock", os.O_RDONLY)
        except OSError:
            return None
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return os.read(lock, 40).decode(errors="replace").strip() or "unknown"
        finally:
            os.close(lock)
        return None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keeps others from working with this folder meanwhile.

        Raises:
            InputError: Somebody does already.
        """
        self.lock()
        try:
            yield
        finally:
            self.unlock()

    def unlock(self) -> None:
        """Lets others work with this folder."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @property
    def is_switched_off(self) -> bool:
        """Whether the kill switch is there. A folder that cannot be looked into is switched off, too."""
        try:
            self.switch.lstat()
        except FileNotFoundError:
            return False
        except OSError:
            return True
        return True


def _open_lock(path: Path) -> int:
    """Opens a lock file; one that can only be read serves as well, for a broken disk must keep nobody from undoing."""
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT, FILE_MODE)
    except OSError:
        with suppress(OSError):
            return os.open(path, os.O_RDONLY)
        raise


def _is_taken(lock: int) -> bool:
    """Returns whether a lock could be taken; whoever only looks who has it does so for an instant."""
    for _ in range(LOOKS):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            time.sleep(LOOK_S)
        else:
            return True
    return False


def usual_folder(scheduler: str) -> Path:
    """Returns the folder where none is named."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "shunter" / f"operate-{scheduler}"


def open_private(path: Path, flags: int = os.O_APPEND) -> Any:  # noqa: ANN401 - a binary file
    """Opens a file for writing that only its owner writes and its group reads."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | flags, FILE_MODE)
    # The umask may have taken more away; it can never have added anything.
    return os.fdopen(descriptor, "ab" if flags & os.O_APPEND else "wb")


def write_private(path: Path, data: bytes) -> None:
    """Writes a whole file, so that whoever reads sees the old one or the new one, after a power cut, too."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open_private(temporary, os.O_TRUNC) as file:
            file.write(data)
            file.flush()
            # Otherwise the new name may reach the disk before what is in the file.
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def sync_folder(path: Path) -> None:
    """Makes the names in a folder last."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
