"""Processes that outlive the daemon: knowing them again, waiting for their end, and ending what a job left behind."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

PROC: Final = Path("/proc")
MARK: Final = "SHUNTER_ATTEMPT"
"""The variable in the environment of all processes of an attempt, by which they are known."""


@cache
def boot_id() -> str:
    """Returns what tells the running system from itself before a restart."""
    try:
        return (PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


@dataclass(frozen=True)
class Identity:
    """A process. Numbers are used again, but not with the same start, nor after a restart of the machine."""

    process: int
    start_ticks: int
    boot_id: str

    @classmethod
    def parse(cls, text: str) -> Identity | None:
        """Returns what the first line of a claim says; None if it is not, or not yet, whole."""
        line, end, _ = text.partition("\n")
        words = line.split()
        if len(words) != 3 or not end or not all(word.isdecimal() for word in words[:2]):
            return None
        return cls(int(words[0]), int(words[1]), words[2])

    def watch(self) -> int | None:
        """Returns a descriptor that becomes readable when the process ends; None if it has ended."""
        if self.boot_id != boot_id():
            return None
        try:
            descriptor = os.pidfd_open(self.process)
        except OSError:
            return None
        # Looked at after it is held: from now on the number cannot come to mean another process.
        if _stat(self.process, 19) != str(self.start_ticks):
            os.close(descriptor)
            return None
        return descriptor


def _stat(process: int, field: int) -> str | None:
    """Returns a field of ``/proc/PID/stat``, counted from the state; None if there is no such process."""
    try:
        line = (PROC / str(process) / "stat").read_text(errors="replace")
    except OSError:
        return None
    return line[line.rfind(")") + 1 :].split()[field]


def members(mark: str, leader: int | None) -> Iterator[int]:
    """Yields the processes of an attempt: those that carry its mark, and those of its supervisor's session."""
    wanted = f"{MARK}={mark}".encode()
    for entry in PROC.iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            variables = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if wanted in variables or (leader is not None and _stat(int(entry.name), 3) == str(leader)):
            yield int(entry.name)


def end_all(mark: str, leader: int | None, patience_s: float = 5.0) -> bool:
    """Kills all processes of an attempt that has no supervisor any more; returns whether none is left."""
    deadline = time.monotonic() + patience_s
    while found := list(members(mark, leader)):
        for process in found:
            with suppress(OSError):
                _signal(process, signal.SIGKILL)
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def _signal(process: int, number: int) -> None:
    descriptor = os.pidfd_open(process)
    try:
        signal.pidfd_send_signal(descriptor, number)
    finally:
        os.close(descriptor)
