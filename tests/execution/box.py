"""A queue in a folder of its own for tests: its daemon can be killed at any moment and started again."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

from shunter.execution.local.client import ask
from shunter.execution.local.folder import QueueFolder

PATIENCE_S = 60.0


class Box:
    """One queue, its daemon, and short words for what tests do with it."""

    def __init__(self, path: Path, **changes: Any) -> None:  # noqa: ANN401 - settings of a queue
        self.folder = QueueFolder(path, str(path))
        self.changes = {"cores": 2, **changes}
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts the daemon and waits until it serves."""
        import json

        self.folder.make()
        words = [
            "-m",
            "shunter.execution.local.daemon",
            str(self.folder.path),
            self.folder.text,
            json.dumps(self.changes),
        ]
        with self.folder.open_log() as log:
            self.process = subprocess.Popen([sys.executable, *words], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + PATIENCE_S
        while (connection := self.folder.connect()) is None:
            said = self.folder.log.read_text()
            assert self.process.poll() is None, said
            assert time.monotonic() < deadline, said
            time.sleep(0.01)
        connection.close()

    def kill(self) -> None:
        """Kills the daemon."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """Stops the daemon if it runs, and ends what its jobs have left."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            self.process.wait(timeout=PATIENCE_S)
        for claim in self.folder.attempts.glob("*.claim"):
            words = [] if claim.is_symlink() else claim.read_text().split()
            if len(words) == 3:
                # Its session is that of the supervisor.
                subprocess.run(["pkill", "-KILL", "-s", words[0]], check=False)

    def submit(self, *commands: str | list[str], **words: Any) -> list[int]:  # noqa: ANN401 - fields of a job
        """Submits commands, texts for the shell; returns their ids when they are acknowledged."""
        jobs = [
            {"command": ["/bin/sh", "-c", one] if isinstance(one, str) else one, "folder": "/tmp", **words}
            for one in commands
        ]
        path = {"PATH": os.environ["PATH"]}
        answer = ask(self.folder, "submit", jobs=jobs, environment=path, umask=0o022, token=uuid.uuid4().hex)
        ids: list[int] = answer["jobs"]
        return ids

    def ask(self, verb: str, **words: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON values
        """Asks the daemon for something."""
        return ask(self.folder, verb, **words)

    def wait(self, *jobs: int) -> dict[int, dict[str, Any]]:
        """Waits until jobs are over (none: all); returns how each ended, of all only those that ended meanwhile."""
        ended = self.ask("wait", **({"jobs": list(jobs)} if jobs else {"jobs": None}))["jobs"]
        return {one["id"]: one for one in ended}

    def show(self, job: int) -> dict[str, Any]:
        """Returns all that is known of a job."""
        return self.ask("show", job=job)

    def until(self, job: int, *states: str) -> dict[str, Any]:
        """Waits until a job is in one of some states."""
        deadline = time.monotonic() + PATIENCE_S
        while (told := self.show(job))["state"] not in states:
            assert time.monotonic() < deadline, told
            time.sleep(0.02)
        return told

    def supervisor(self, job: int) -> int:
        """Returns the process that supervises a running job."""
        attempt = self.show(job)["tried"][-1]["id"]
        deadline = time.monotonic() + PATIENCE_S
        while True:
            with suppress(FileNotFoundError):
                words = self.folder.claim(attempt).read_text().split()
                if len(words) == 3:
                    return int(words[0])
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def is_intact(self) -> bool:
        """Returns whether SQLite finds no fault in the journal."""
        connection = sqlite3.connect(self.folder.database)
        try:
            return bool(connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok")
        finally:
            connection.close()


def wait_for(path: Path) -> None:
    """Waits until a file is there."""
    deadline = time.monotonic() + PATIENCE_S
    while not path.exists():
        assert time.monotonic() < deadline, path
        time.sleep(0.01)


def is_alive(process: int) -> bool:
    """Returns whether a process runs; one that has ended and was not waited for does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except FileNotFoundError:
        return False
