"""Tasks in processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic

from shunter.engines.base import Done, Failed, Result, Task, Told, Value, answer
from shunter.interruption import interruption

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

GRACE_S: Final = 120.0
"""So long a task that is asked to stop may take: a training ends its update and saves."""
POLL_S: Final = 0.2
"""So often the engine looks whether the user has interrupted."""


@dataclass
class LocalEngine:
    """Runs each task in a fresh process, so many at a time.

    A process for each task costs the seconds of its imports. It buys that a task has all memory back when it ends, and
    that nothing of an earlier task can change the next: a training gives the same weights as if it ran alone.
    """

    workers: int = 1
    """How many tasks run at a time."""
    retries: int = 1
    """How often a task is begun again whose process died without a word."""
    is_here: ClassVar[bool] = True
    _running: list[_Worker] = field(default_factory=list, init=False, repr=False)

    def map(
        self,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        told: Told[Result] | None = None,
        *,
        alone: bool = True,
    ) -> list[Done[Result] | Failed]:
        """Runs a function on each task; `shunter.engines.base.Engine` says how. Each always has a fresh process."""
        outcomes: dict[int, Done[Result] | Failed] = {}
        waiting = deque(_Worker(place, function, task) for place, task in enumerate(tasks))
        try:
            with interruption() as interrupted:
                while waiting or self._running:
                    while waiting and len(self._running) < self.workers:
                        worker = waiting.popleft()
                        worker.start()
                        self._running.append(worker)
                    for worker in self._ended():
                        outcome = worker.outcome(self.retries)
                        if outcome is None:
                            waiting.appendleft(worker)
                            continue
                        outcomes[worker.place] = outcome
                        if told is not None:
                            told(worker.place, outcome)
                    if interrupted.is_set():
                        raise KeyboardInterrupt
        finally:
            self._stop()
        return [outcomes[place] for place in range(len(tasks))]

    def share(self, value: Value, send: Callable[[Value], Value] | None = None) -> Held[Value]:
        """Returns what tasks can hold in the place of something large; a fresh process has to be sent it anyway."""
        return Held(str(id(value)), value if send is None else send(value))

    def _ended(self) -> list[_Worker]:
        """Waits a moment, and returns the workers that have answered or died; they run no more."""
        ready = set(wait([worker.ear for worker in self._running], POLL_S))
        ended = [worker for worker in self._running if worker.ear in ready]
        self._running = [worker for worker in self._running if worker.ear not in ready]
        return ended

    def _stop(self) -> None:
        """Asks all workers to stop, and ends those that do not."""
        for worker in self._running:
            worker.process.terminate()
        until = time.monotonic() + GRACE_S
        for worker in self._running:
            worker.end(until)
        self._running = []


@dataclass(frozen=True)
class Held(Generic[Value]):
    """A thing that goes with each task."""

    key: str
    value: Value

    def get(self) -> Value:
        """Returns the thing."""
        return self.value


@dataclass
class _Worker:
    """A task, and the process that runs it."""

    place: int
    function: Callable[[Any], Any]
    task: Any
    deaths: int = 0

    def start(self) -> None:
        """Begins the task in a new process."""
        # Not fork: Polars and PyTorch hold locks and threads that a forked child would wait for without end.
        context = multiprocessing.get_context("spawn")
        self.ear, mouth = context.Pipe(duplex=False)
        theirs, self._alive = context.Pipe(duplex=False)
        self.process: SpawnProcess = context.Process(target=_work, args=(mouth, theirs, self.function, self.task))
        self.process.start()
        # The end of a pipe that only the child holds: it closes when the child ends, however it ends.
        mouth.close()
        theirs.close()

    def outcome(self, retries: int) -> Done[Any] | Failed | None:
        """Returns what came of the task whose process has answered or died; None: it is to be begun again."""
        try:
            answer: Done[Any] | Failed = self.ear.recv()
        except (EOFError, OSError):
            self.end(time.monotonic() + GRACE_S)
            self.deaths += 1
            if self.deaths <= retries:
                return None
            code = self.process.exitcode
            how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
            return Failed(f"its process died {self.deaths} times, the last time with {how}; is there memory enough?")
        self.end(time.monotonic() + GRACE_S)
        return answer

    def end(self, until: float) -> None:
        """Waits for the process until a time, and kills it then."""
        # Closed first: a process that is asked to stop must not wait for somebody to take its answer.
        self.ear.close()
        self.process.join(max(0.0, until - time.monotonic()))
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self._alive.close()


def _work(mouth: Connection, theirs: Connection, function: Callable[[Any], Any], task: object) -> None:
    """Runs a task in its own process, and tells what came of it."""
    # Ctrl-C goes to all processes of a terminal's group; only the engine decides what it means for its workers.
    with suppress(OSError, AttributeError):
        os.setpgrp()
    threading.Thread(target=_die_with_the_engine, args=(theirs,), daemon=True).start()
    found = answer(function, task)
    # Nobody listens any more where the engine has been interrupted.
    with suppress(BrokenPipeError):
        mouth.send(found)


def _die_with_the_engine(theirs: Connection) -> None:
    """Ends this process when the one that started it is gone, so that whoever begins anew finds no folder locked."""
    with suppress(EOFError, OSError):
        theirs.recv()
    os._exit(1)
