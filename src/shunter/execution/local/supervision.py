"""The attempts that run: starting their supervisors, hearing of their ends, and finding them again."""

from __future__ import annotations

import os
import selectors
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shunter.execution.local.folder import QueueFolder
from shunter.execution.local.machine import Share
from shunter.execution.local.processes import end_all
from shunter.execution.local.records import EndRecord, read_claim, read_end, revoke
from shunter.execution.local.spawner import Spawner, SpawnRequest

PATIENCE_S: Final = 2.0
"""How long a supervisor may take from making its claim to writing its name into it."""


@dataclass
class Run:
    """An attempt that is not known to have ended."""

    attempt: int
    job: int
    share: Share
    descriptor: int | None = None
    """Becomes readable when its supervisor ends; None until the spawner has told who that is."""
    leader: int | None = None
    """The process number of its supervisor."""
    cgroup: Path | None = None
    is_cancelled: bool = False


@dataclass(frozen=True)
class Ending:
    """What has become of an attempt."""

    was_started: bool
    """Whether a supervisor has claimed it; if not, none ever will."""
    record: EndRecord | None
    """How it ended; None if its supervisor did not live to tell."""


class Supervision:
    """All attempts of a queue that run, and the process that starts them."""

    def __init__(
        self, folder: QueueFolder, mark: str, selector: selectors.BaseSelector, tell: Callable[[Run, Ending], None]
    ) -> None:
        """Starts a spawner.

        Args:
            folder: Of the queue.
            mark: What all processes of this queue carry in their environment, before the number of the attempt.
            selector: Calls what is registered with a descriptor when that is readable.
            tell: Called with each attempt that is over.
        """
        self.runs: dict[int, Run] = {}
        self._folder = folder
        self._mark = mark
        self._selector = selector
        self._tell = tell
        self._start_spawner()

    def _start_spawner(self) -> None:
        self._spawner = Spawner()
        self._selector.register(self._spawner.socket, selectors.EVENT_READ, self._hear)

    def close(self) -> None:
        """Ends the spawner; what it has started goes on."""
        self._spawner.close()

    def forget(self) -> list[Run]:
        """Lets go of all attempts without ending them; returns them."""
        for run in self.runs.values():
            self._let_go(run)
        gone, self.runs = list(self.runs.values()), {}
        return gone

    def start(self, requests: Iterable[SpawnRequest]) -> None:
        """Asks for supervisors; who they are is heard later."""
        # If the spawner is gone, its socket tells so, and what it was asked is looked at then.
        with suppress(OSError):
            self._spawner.ask(requests)

    def ask_to_end(self, run: Run) -> None:
        """Asks a supervisor to end its job: now, or as soon as it is known."""
        run.is_cancelled = True
        if run.descriptor is not None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(run.descriptor, signal.SIGTERM)

    def find_again(self, run: Run) -> None:
        """Finds out what has become of an attempt of which nobody has told."""
        path = self._folder.claim(run.attempt)
        deadline = time.monotonic() + PATIENCE_S
        # A supervisor makes the file first and writes its name into it a moment later.
        while (claimed := read_claim(path)) is None and path.exists() and time.monotonic() < deadline:
            time.sleep(0.005)
        descriptor = None
        if claimed is not None:
            run.leader = claimed.process
            descriptor = claimed.watch()
        if descriptor is None:
            self._collect(run)
        else:
            self._watch(run, descriptor)

    def _hear(self) -> None:
        """Takes the spawner's answers."""
        try:
            answers = self._spawner.answers()
        except OSError:
            self._selector.unregister(self._spawner.socket)
            self._spawner.close()
            self._start_spawner()
            # What the old one was asked and has not answered may have been started, or not.
            for run in [one for one in self.runs.values() if one.descriptor is None]:
                self.find_again(run)
            return
        for attempt, process in answers:
            if attempt not in self.runs:
                continue
            run = self.runs[attempt]
            run.leader = process
            try:
                descriptor = os.pidfd_open(process) if process else None
            except ProcessLookupError:
                descriptor = None
            if descriptor is None:
                self._collect(run)
            else:
                self._watch(run, descriptor)

    def _watch(self, run: Run, descriptor: int) -> None:
        run.descriptor = descriptor
        self._selector.register(descriptor, selectors.EVENT_READ, lambda: self._collect(run))
        if run.is_cancelled:
            self.ask_to_end(run)

    def _let_go(self, run: Run) -> None:
        if run.descriptor is not None:
            self._selector.unregister(run.descriptor)
            os.close(run.descriptor)
            run.descriptor = None

    def _collect(self, run: Run) -> None:
        """Takes up the end of an attempt whose supervisor has ended, or was never there."""
        self._let_go(run)
        self.runs.pop(run.attempt, None)
        record = read_end(self._folder.record(run.attempt))
        was_started = True
        # If nobody has claimed it, from now on nobody can. A supervisor that ended in this very moment has turned its
        # claim into a record.
        if record is None and revoke(self._folder.claim(run.attempt)):
            record = read_end(self._folder.record(run.attempt))
            was_started = record is not None
        if record is None and was_started:
            end_all(f"{self._mark}:{run.attempt}", run.leader or None)
        self._tell(run, Ending(was_started, record))
