"""The soak: jobs are submitted by many clients, while daemon, clients and supervisors are killed at random moments.

The test of the suite and ``benchmarks/local_queue_kills.py`` run it with different numbers of kills.
"""

from __future__ import annotations

import math
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from shunter.errors import InputError
from tests.execution.box import Box

CLIENT = """
import os, sys, time, uuid
from pathlib import Path
from shunter.execution.local.client import ask
from shunter.execution.local.folder import QueueFolder

path, lines, first, batches, batch = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
folder = QueueFolder(Path(path), path)
for begin in range(first, first + batches * batch, batch):
    numbers = range(begin, begin + batch)
    jobs = [
        {"command": ["/bin/sh", "-c", f"echo {n} >> {lines}; sleep 0.0{n % 4}; exit {n % 3}"], "folder": "/tmp"}
        for n in numbers
    ]
    while (connection := folder.connect()) is None:
        time.sleep(0.02)
    connection.close()
    words = {"environment": {"PATH": os.environ["PATH"]}, "umask": 18, "token": uuid.uuid4().hex}
    ids = ask(folder, "submit", jobs=jobs, **words)["jobs"]
    # One write: an acknowledgement is told whole, or not at all.
    os.write(1, (" ".join(f"{number} {job}" for number, job in zip(numbers, ids)) + "\\n").encode())
    time.sleep(1.0)
"""
"""A client that submits batch after batch; job n ends with the exit code n mod 3."""
BATCHES, BATCH = 20, 3


@dataclass
class Told:
    """What came of a soak."""

    kills: Counter[str] = field(default_factory=Counter)
    acknowledged: dict[int, int] = field(default_factory=dict)
    """By the job's own number: its id."""


class Client:
    """A process that submits jobs and prints their ids."""

    def __init__(self, box: Box, lines: Path, first: int) -> None:
        words = [str(box.folder.path), str(lines), str(first), str(BATCHES), str(BATCH)]
        self.process = subprocess.Popen(
            [sys.executable, "-c", CLIENT, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    def take(self, told: Told) -> None:
        """Takes up what the client was told until it ended."""
        out, _ = self.process.communicate(timeout=120)
        words = out.split()
        told.acknowledged |= {int(number): int(job) for number, job in zip(words[::2], words[1::2], strict=True)}


def soak(box: Box, lines: Path, kills: int, seed: int, most_s: float = math.inf) -> Told:
    """Submits jobs and kills daemon and clients until so many kills are done; then lets all jobs end.

    Args:
        box: A queue whose daemon runs.
        lines: Each job appends a line with its number to this file.
        kills: How many.
        seed: Of the moments.
        most_s: On a machine that is too busy, fewer kills are done in this time.
    """
    told = Told()
    clients: list[Client] = []
    try:
        _kill(box, lines, kills, random.Random(seed), told, clients, time.monotonic() + most_s)
    finally:
        for client in clients:
            client.process.kill()
            client.take(told)
    box.wait()
    return told


def _kill(
    box: Box, lines: Path, kills: int, draw: random.Random, told: Told, clients: list[Client], deadline: float
) -> None:
    first, size = 0, 0
    while sum(told.kills.values()) < kills and time.monotonic() < deadline:
        while len(clients) < 3:
            clients.append(Client(box, lines, first))
            first += BATCHES * BATCH
        # A daemon that has done nothing yet is no worthy victim.
        patience = time.monotonic() + 5.0
        while time.monotonic() < patience and _size(lines) == size:
            time.sleep(0.005)
        time.sleep(draw.uniform(0.0, 0.1))
        size = _size(lines)
        if draw.random() < 0.5:
            box.kill()
            told.kills["daemon"] += 1
            box.start()
        else:
            draw.choice(clients).process.send_signal(signal.SIGKILL)
            told.kills["client"] += 1
        for client in [one for one in clients if one.process.poll() is not None]:
            client.take(told)
            clients.remove(client)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def kill_supervisors(box: Box, lines: Path, count: int, seed: int) -> dict[int, str]:
    """Kills supervisors of running jobs; returns the state of each job then, by id."""
    draw = random.Random(seed)
    found = {}
    for number in range(count):
        on_lost = draw.choice(("fail", "requeue"))
        [job] = box.submit(f"echo {number} >> {lines}; exec sleep 600", on_lost=on_lost)
        box.until(job, "running")
        time.sleep(draw.uniform(0.0, 0.1))
        with suppress(ProcessLookupError):
            os.kill(box.supervisor(job), signal.SIGKILL)
        deadline = time.monotonic() + 60
        while len(box.show(job)["tried"]) == 1 and box.show(job)["state"] == "running":
            assert time.monotonic() < deadline
            time.sleep(0.01)
        found[job] = f"{on_lost} {box.show(job)['state']}"
        with suppress(InputError):
            box.ask("cancel", jobs=[job])
        box.wait(job)
    return found
