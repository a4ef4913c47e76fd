"""Runs Slurm's programs: arguments as lists, a time-out for each, and a count of what it costs the controller."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from shunter.errors import visible
from shunter.execution.operating.site import SiteError

MOST_BYTES: Final = 1 << 30
"""The longest answer that is looked at."""
_SAID: Final = 200
"""How much of an error of Slurm's is told."""


@dataclass
class Usage:
    """How often a program was run, and what that took."""

    runs: int = 0
    failures: int = 0
    seconds: float = 0.0
    longest_s: float = 0.0


@dataclass
class Programs:
    """The programs of one Slurm."""

    folder: str = ""
    """Where they are; empty: wherever the search path finds them."""
    timeout_s: float = 20.0
    usage: dict[str, Usage] = field(default_factory=dict)
    """By program."""

    def words(self, program: str, *arguments: str) -> list[str]:
        """Returns a command as the list that is run."""
        return [str(Path(self.folder) / program) if self.folder else program, *arguments]

    def run(self, words: Sequence[str]) -> bytes:
        """Runs a command; returns what it prints.

        Raises:
            SiteError: It is missing, fails, or takes too long.
        """
        name = Path(words[0]).name
        spent = self.usage.setdefault(name, Usage())
        began = time.monotonic()
        spent.runs += 1
        try:
            return self._run(name, words)
        except SiteError:
            spent.failures += 1
            raise
        finally:
            took = time.monotonic() - began
            spent.seconds += took
            spent.longest_s = max(spent.longest_s, took)

    def _run(self, name: str, words: Sequence[str]) -> bytes:
        # Slurm cuts long lists of array tasks unless told not to, and its programs read defaults from here.
        told = {key: value for key, value in os.environ.items() if not key.startswith(("SQUEUE_", "SINFO_"))}
        told |= {"SLURM_BITSTR_LEN": "0", "SLURM_TIME_FORMAT": "standard", "LC_ALL": "C"}
        try:
            # A list of words: no shell ever sees what a user wrote.
            done = subprocess.run(
                words, stdin=subprocess.DEVNULL, capture_output=True, timeout=self.timeout_s, env=told, check=False
            )
        except subprocess.TimeoutExpired:
            raise SiteError(f"{name} did not answer within {self.timeout_s:g} s") from None
        except OSError as error:
            raise SiteError(f"{words[0]} cannot be run ({error.strerror})") from None
        if done.returncode:
            said = " ".join(done.stderr.decode(errors="replace").split())[:_SAID]
            raise SiteError(visible(f"{name} failed ({done.returncode}): {said}"))
        if len(done.stdout) > MOST_BYTES:
            raise SiteError(f"{name} printed {len(done.stdout):,} bytes, more than anybody reads")
        return done.stdout
