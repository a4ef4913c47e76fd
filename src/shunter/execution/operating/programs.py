"""Runs a scheduler's programs: arguments as lists, a time-out for each, and a count of what it costs the scheduler."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from shunter.errors import visible
from shunter.execution.operating.site import SiteError

MOST_BYTES: Final = 1 << 30
"""The longest answer that is looked at."""
_SAID: Final = 200
"""How much of an error of a program is told."""


@dataclass
class Usage:
    """How often a program was run, and what that took."""

    runs: int = 0
    failures: int = 0
    seconds: float = 0.0
    longest_s: float = 0.0


@dataclass
class ProgramRunner:
    """The programs of one scheduler."""

    folder: str = ""
    """Where they are; empty: wherever the search path finds them."""
    timeout_s: float = 20.0
    usage: dict[str, Usage] = field(default_factory=dict)
    """By program."""

    def words(self, program: str, *arguments: str) -> list[str]:
        """Returns a command as the list that is run."""
        return [str(Path(self.folder) / program) if self.folder else program, *arguments]

    def environment(self) -> dict[str, str]:
        """Returns the variables that programs are run with."""
        return {**os.environ, "LC_ALL": "C"}

    def run(self, words: Sequence[str], nothing: re.Pattern[str] | None = None) -> bytes:
        """Runs a command; returns what it prints.

        Args:
            words: The program and its arguments.
            nothing: What it says where it has nothing to tell, which some programs do as if they had failed.

        Raises:
            SiteError: It is missing, fails, or takes too long.
        """
        name = Path(words[0]).name
        spent = self.usage.setdefault(name, Usage())
        began = time.monotonic()
        spent.runs += 1
        try:
            return self._run(name, words, nothing)
        except SiteError:
            spent.failures += 1
            raise
        finally:
            took = time.monotonic() - began
            spent.seconds += took
            spent.longest_s = max(spent.longest_s, took)

    def _run(self, name: str, words: Sequence[str], nothing: re.Pattern[str] | None) -> bytes:
        try:
            # A list of words: no shell ever sees what a user wrote.
            done = subprocess.run(
                words,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=self.timeout_s,
                env=self.environment(),
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            said = _said(error.stderr)
            # Some programs say that they wait, and why.
            raise SiteError(f"{name} did not answer within {self.timeout_s:g} s{said and f': {said}'}") from None
        except OSError as error:
            raise SiteError(f"{words[0]} cannot be run ({error.strerror})") from None
        if done.returncode and not (nothing and _says_only(done.stderr, nothing)):
            raise SiteError(f"{name} failed ({done.returncode}): {_said(done.stderr)}")
        if len(done.stdout) > MOST_BYTES:
            raise SiteError(f"{name} printed {len(done.stdout):,} bytes, more than anybody reads")
        return done.stdout


class SpeaksByPrograms:
    """What a neighbor has that speaks to its scheduler by programs."""

    def __init__(self, programs: ProgramRunner) -> None:
        self._programs = programs

    def run(self, words: Sequence[str]) -> None:
        """Runs one command that changes something.

        Raises:
            SiteError: It fails, or takes too long.
        """
        self._programs.run(words)

    def usage(self) -> dict[str, Any]:
        """Returns how often each program was run, and what that took."""
        return {name: asdict(spent) for name, spent in sorted(self._programs.usage.items())}

    def _print(self, program: str, *arguments: str) -> bytes:
        return self._programs.run(self._programs.words(program, *arguments))


def _said(errors: bytes | None) -> str:
    """Returns the beginning of what a program said of its errors, in one line."""
    return visible(" ".join((errors or b"").decode(errors="replace").split())[:_SAID])


def _says_only(errors: bytes, nothing: re.Pattern[str]) -> bool:
    lines = [line for line in errors.decode(errors="replace").splitlines() if line.strip()]
    return bool(lines) and all(nothing.search(line) for line in lines)
