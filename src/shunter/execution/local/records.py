"""What supervisors write: the claim of an attempt, and the record of its end."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shunter.execution.local.processes import Identity

REVOKED: Final = "revoked"
REVOKED_FOR_S: Final = 86_400
"""How long a claim stays revoked: no supervisor takes so long to begin."""


@dataclass(frozen=True)
class EndRecord:
    """How an attempt ended."""

    start_s: float
    end_s: float
    cpu_s: float
    most_memory_mb: float
    code: int | None = None
    """The exit code, if the command ended by itself."""
    signal: int | None = None
    """The signal that ended it."""
    cause: str | None = None
    """``time-limit``, ``memory`` or ``asked``, if the supervisor ended it."""
    error: str | None = None
    """Why it could not be started."""


def read_end(path: Path) -> EndRecord | None:
    """Returns the record of an end; None if there is none, or a power failure has left an empty one."""
    try:
        text = path.read_text(errors="replace")
    except FileNotFoundError:
        return None
    # The first line says who supervised it.
    told = dict(line.partition(" ")[::2] for line in text.splitlines()[1:])
    try:
        number = {name: int(told[name]) for name in ("start_ms", "end_ms", "cpu_ms", "most_resident_kb")}
    except (KeyError, ValueError):
        return None
    return EndRecord(
        start_s=number["start_ms"] / 1000,
        end_s=number["end_ms"] / 1000,
        cpu_s=number["cpu_ms"] / 1000,
        most_memory_mb=number["most_resident_kb"] / 1024,
        code=int(told["code"]) if "code" in told else None,
        signal=int(told["signal"]) if "signal" in told else None,
        cause=told.get("cause"),
        error=told.get("error"),
    )


def read_claim(path: Path) -> Identity | None:
    """Returns the supervisor that has claimed an attempt; None if none has, or it has not said its name yet."""
    try:
        return Identity.parse(path.read_text(errors="replace"))
    except FileNotFoundError:
        return None


def forget_revoked(folder: Path) -> None:
    """Removes claims that were revoked so long ago that nobody can want them any more."""
    before_s = time.time() - REVOKED_FOR_S
    for path in folder.glob("*.claim"):
        with suppress(OSError):
            if path.lstat().st_mtime < before_s and is_revoked(path):
                path.unlink()


def revoke(path: Path) -> bool:
    """Makes the claim of an attempt, so that no supervisor can run it any more; returns False if one has it."""
    try:
        # A link, not a file: it is made whole or not at all, and says what it is though the disk is full.
        path.symlink_to(REVOKED)
    except FileExistsError:
        return is_revoked(path)
    return True


def is_revoked(path: Path) -> bool:
    """Returns whether a claim is one that no supervisor has made."""
    return path.is_symlink() and os.readlink(path) == REVOKED
