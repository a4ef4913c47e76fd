"""The folder of a queue: where it is, what lies in it, and who may use it.

The command line asks for it before anything else, so this module must not import anything heavy.
"""

from __future__ import annotations

import os
import re
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from shunter.errors import InputError

VARIABLE: Final = "SHUNTER_QUEUE"
USUAL: Final = "default"
LONGEST_LOG: Final = 1 << 20
OUTPUTS_A_FOLDER: Final = 1000
"""So many jobs' outputs lie in one folder: no folder becomes too large to be listed."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class QueueFolder:
    """The files of one queue."""

    def __init__(self, path: Path, text: str) -> None:
        """Takes the folder and what the user calls it."""
        self.path = path
        self.text = text
        self.database = path / "queue.sqlite"
        self.socket = path / "queue.sock"
        self.lock = path / "queue.lock"
        self.log = path / "daemon.log"
        self.attempts = path / "attempts"
        self.outputs = path / "outputs"

    @property
    def option(self) -> str:
        """What names this queue on a command line; nothing for the usual one."""
        from shlex import quote

        return "" if self.text == USUAL else f" --queue {quote(self.text)}"

    def claim(self, attempt: int) -> Path:
        """Returns the file that only one process can make: it runs the attempt."""
        return self.attempts / f"{attempt}.claim"

    def record(self, attempt: int) -> Path:
        """Returns the file that says how the attempt ended."""
        return self.attempts / f"{attempt}.end"

    def output(self, job: int) -> Path:
        """Returns the file with what a job has printed."""
        return self.outputs / str(job // OUTPUTS_A_FOLDER) / f"{job}.log"

    def make(self) -> None:
        """Makes the folder, for its owner alone.

        Raises:
            InputError: It cannot be made, or others may look into it.
        """
        try:
            for folder in (self.path, self.attempts, self.outputs):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = self.path.stat()
        except OSError as error:
            raise InputError(f"{self.path}: cannot be made ({error.strerror}); give another --queue") from None
        if found.st_uid != os.getuid():
            raise InputError(f"{self.path}: belongs to another user; give another --queue")
        if stat.S_IMODE(found.st_mode) & 0o077:
            # The environments of jobs hold secrets.
            raise InputError(f"{self.path}: others may look into it; run 'chmod 700 {self.path}'")

    def take(self) -> None:
        """Makes this process the only one that runs the queue, until it ends.

        Raises:
            InputError: Another process runs it.
        """
        import fcntl

        descriptor = os.open(self.lock, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            how = f"'shunter queue status{self.option}'"
            raise InputError(f"queue {self.text}: a daemon is running already; see {how}") from None
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())

    def is_taken(self) -> bool:
        """Returns whether a process runs the queue, or is about to."""
        import fcntl

        try:
            with self.lock.open() as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True
        return False

    def open_log(self) -> BinaryIO:
        """Opens the log of the daemon, for its owner alone; one that has grown long is put aside."""
        if self.log.exists() and self.log.stat().st_size > LONGEST_LOG:
            self.log.replace(self.log.with_name(f"{self.log.name}.1"))
        return os.fdopen(os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab")

    @contextmanager
    def address(self) -> Iterator[str]:
        """Yields a path of the socket that is short enough: a socket's address has room for 107 bytes."""
        if len(os.fsencode(self.socket)) <= 107:
            yield str(self.socket)
            return
        descriptor = os.open(self.path, os.O_PATH | os.O_DIRECTORY)
        try:
            yield f"/proc/self/fd/{descriptor}/{self.socket.name}"
        finally:
            os.close(descriptor)

    def connect(self) -> socket.socket | None:
        """Returns a connection to the daemon; None if none listens."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with self.address() as address:
                connection.connect(address)
        except (FileNotFoundError, ConnectionRefusedError):
            connection.close()
            return None
        except PermissionError:
            connection.close()
            raise InputError(f"{self.path}: this queue belongs to another user; give another --queue") from None
        return connection


def queue_folder(text: str | None) -> QueueFolder:
    """Returns the folder that a name or a path means; None: what the environment says, or the usual one.

    Raises:
        InputError: It can be neither a name nor a path.
    """
    text = text or os.environ.get(VARIABLE) or USUAL
    if "/" in text or text in (".", ".."):
        return QueueFolder(Path(text).expanduser().absolute(), text)
    if not _NAME.fullmatch(text):
        raise InputError(f"queue {text!r}: expected a name of letters, digits, '.', '_' and '-', or a path with a '/'")
    return QueueFolder(_home() / text, text)


def _home() -> Path:
    """Returns where queues lie that have a name; it must outlive a restart of the machine."""
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "shunter" / "queues"
