"""The process that starts supervisors: a child with one thread, which loops in the core."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from shunter.errors import InputError

GRACE_S: Final = 10.0
"""How long a job that is asked to end may take."""
_PROGRAM: Final = "import ctypes, sys; sys.exit(-ctypes.CDLL(sys.argv[1]).shunter_spawner_serve(int(sys.argv[2])))"
"""A Python that holds as little as can be: every supervisor begins as a copy of it."""


@dataclass(frozen=True)
class Environment:
    """The variables of a shell, packed once for all jobs that were submitted from it."""

    count: int
    packed: bytes

    @classmethod
    def of(cls, variables: dict[str, str]) -> Environment:
        """Packs variables."""
        return cls(len(variables), _packed_pairs(variables))


@dataclass(frozen=True)
class SpawnRequest:
    """What a supervisor is told; the order of the fields is that of ``core/src/supervise/request.rs``."""

    attempt: int
    claim: Path
    record: Path
    output: Path
    folder: str
    cpus: tuple[int, ...]
    nice: int
    umask: int
    limit_s: float | None
    grace_s: float
    memory_mb: int
    limits_data: bool
    cgroup: Path | None
    command: tuple[str, ...]
    environment: Environment
    variables: dict[str, str]
    """Those that are the job's own; they go before those of the environment."""

    def to_bytes(self) -> bytes:
        """Returns the message."""
        texts: list[object] = [self.attempt, self.claim, self.record, self.output, self.folder]
        texts += [len(self.cpus), *self.cpus, self.nice, self.umask]
        texts += [0 if self.limit_s is None else max(1, round(self.limit_s * 1000)), round(self.grace_s * 1000)]
        texts += [self.memory_mb << 20, int(self.limits_data), self.cgroup or ""]
        texts += [len(self.command), *self.command, self.environment.count + len(self.variables)]
        # A name that comes twice has the latter value.
        return _with_length(_packed(texts) + self.environment.packed + _packed_pairs(self.variables))


def _packed(texts: Iterable[object]) -> bytes:
    return b"".join([_with_length(os.fsencode(str(text))) for text in texts])


def _packed_pairs(variables: dict[str, str]) -> bytes:
    return _packed(text for pair in variables.items() for text in pair)


def _with_length(text: bytes) -> bytes:
    return struct.pack("<I", len(text)) + text


def _library() -> str:
    """Returns the file of the core, without loading it."""
    found = find_spec("shunter._core")
    folders = [] if found is None else found.submodule_search_locations or []
    for folder in folders:
        for path in sorted(Path(folder).glob("*.so")):
            return str(path)
    raise InputError("the compiled core is missing; build it with 'make install'")


class Spawner:
    """The running process, and the socket to it."""

    def __init__(self) -> None:
        own, its = socket.socketpair()
        with its:
            # A session of its own: Ctrl-C in the terminal of a daemon in the foreground is not meant for jobs.
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _PROGRAM, _library(), str(its.fileno())],
                pass_fds=[its.fileno()],
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        self.socket = own
        self._rest = b""

    @property
    def process(self) -> int:
        """The number of the process."""
        return self._process.pid

    def ask(self, requests: Iterable[SpawnRequest]) -> None:
        """Asks for supervisors; the answers come later.

        Raises:
            OSError: The process is gone.
        """
        self.socket.sendall(b"".join(request.to_bytes() for request in requests))

    def answers(self) -> list[tuple[int, int]]:
        """Returns attempts with the processes that supervise them; 0 where none could be started.

        Raises:
            ConnectionError: The process is gone.
        """
        part = self.socket.recv(1 << 16)
        if not part:
            raise ConnectionResetError("the spawner has ended")
        *lines, self._rest = (self._rest + part).split(b"\n")
        return [(int(words[0]), int(words[1])) for words in (line.split() for line in lines)]

    def close(self) -> None:
        """Ends the process; the supervisors that it has started go on."""
        self.socket.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
