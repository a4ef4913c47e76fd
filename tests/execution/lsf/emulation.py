"""An emulated LSF in a folder, as tests drive it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.execution.lsf.emulated_lsf.__main__ import PROGRAMS
from tests.execution.lsf.emulated_lsf.scheduler import advance, in_order
from tests.execution.lsf.emulated_lsf.state import Host, Job, Queue, State, changing
from tests.support import PROJECT

WAIT_S = 60.0


class EmulatedLsf:
    """Three hosts of four slots; a queue with absolute priorities, one without, and one with fair share."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.programs = folder / "lsf", folder / "bin"
        self.folder.mkdir()
        self.programs.mkdir()
        for name in PROGRAMS:
            module = "tests.execution.lsf.emulated_lsf"
            script = f'cd {PROJECT} && exec {sys.executable} -S -m {module} {self.folder} {name} "$@"'
            (self.programs / name).write_text(f"#!/bin/sh\n{script}\n")
            (self.programs / name).chmod(0o755)
        hosts = [Host(f"host{number}", 4, gpus=2 if number == 3 else 0) for number in (1, 2, 3)]
        queues = [
            Queue("normal", 30, has_aps=True),
            Queue("plain", 30, hosts=["most/"]),
            Queue("shared", 20, has_fairshare=True),
            Queue("short", 60, has_aps=True, run_limit_min=30),
        ]
        State(hosts, queues, {"most": ["host1", "host2", "host3"]}).save(self.folder)

    def run(self, *words: str) -> str:
        """Runs one of the programs; returns what it prints."""
        done = subprocess.run([self.programs / words[0], *words[1:]], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def submit(self, *words: str, minutes: float = 60, seconds: float = 3600, queue: str = "normal") -> int:
        """Submits a job; returns its id."""
        out = self.run("bsub", "-q", queue, "-W", str(minutes), *words, "sleep", str(seconds))
        match = re.match(r"Job <(\d+)> is submitted", out)
        assert match is not None
        return int(match[1])

    def crowd(self, *minutes: float, queue: str = "normal") -> list[int]:
        """Fills all hosts, and lets further jobs wait in the same queue; returns those."""
        if not any(job.stat == "RUN" for job in self.jobs()):
            self.submit("-n", "12", queue="short", minutes=30)
        return [self.submit(minutes=one, queue=queue) for one in minutes]

    def jobs(self) -> list[Job]:
        """Returns all jobs as they are now."""
        with changing(self.folder) as state:
            advance(state, time.time())
            return state.jobs

    def job(self, id: int, index: int = 0) -> Job:
        """Returns a job."""
        return next(job for job in self.jobs() if (job.id, job.index) == (id, index))

    def line(self, queue: str = "normal") -> list[int]:
        """Returns the jobs that wait in a queue, in the order in which LSF considers them."""
        with changing(self.folder) as state:
            advance(state, time.time())
            return [job.id for job in in_order(state) if job.queue == queue and job.stat == "PEND"]

    def set(self, **said: bool) -> None:
        """Changes what the emulation does: is_paused, is_old, shows_year."""
        with changing(self.folder) as state:
            advance(state, time.time())
            for name, value in said.items():
                setattr(state, name, value)
            advance(state, time.time())

    def trouble(self, kind: str, program: str = "all", **said: object) -> None:
        """Lets programs do something wrong."""
        path = self.folder / f"trouble.{program}"
        temporary = path.with_suffix(".new")
        temporary.write_text(json.dumps({"kind": kind, **said}), encoding="utf-8")
        temporary.replace(path)

    def mend(self) -> None:
        """Lets all programs work again."""
        for path in self.folder.glob("trouble.*"):
            path.unlink()

    def calls(self, *programs: str) -> list[str]:
        """Returns the commands that were run so far."""
        path = self.folder / "calls"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [line for line in lines if not programs or line.split()[0] in programs]

    def changes(self) -> list[str]:
        """Returns the commands so far that would change a job."""
        return self.calls("bmod", "btop", "bbot", "brun", "bstop", "bresume", "bkill")

    def wait(self, is_so: Callable[[], bool], what: str) -> None:
        """Waits until something is so."""
        until = time.monotonic() + WAIT_S
        while not is_so():
            assert time.monotonic() < until, f"waited for {what}"
            time.sleep(0.05)

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which processes find the programs."""
        return {**os.environ, "PATH": f"{self.programs}:{os.environ['PATH']}"}
