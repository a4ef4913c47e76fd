"""Work beside the cycle: one task at a time, in a thread of its own, whose failures disturb nobody."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from typing import Any


class Aside:
    """Runs a task while cycles go on; the cycle takes what comes of it when it looks."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._answer: tuple[str, Any] | None = None
        self.cpu_s = 0.0
        """The processor time of all tasks that have ended."""

    @property
    def is_busy(self) -> bool:
        """Whether a task runs, or nobody has taken what came of it."""
        return self._thread is not None

    def start(self, name: str, task: Callable[[], Any]) -> None:
        """Begins a task; whoever calls has seen that nothing is being done."""

        def work() -> None:
            try:
                self._answer = name, task()
            # Whatever goes wrong here, the cycle goes on.
            except Exception as error:
                self._answer = name, error
            self.cpu_s += time.thread_time()

        # A daemon thread: it does not keep the process from ending.
        self._thread = threading.Thread(target=copy_context().run, args=(work,), name=name, daemon=True)
        self._thread.start()

    def take(self, wait_s: float = 0.0) -> tuple[str, Any] | None:
        """Returns the name of a task that has ended, and what came of it or the error; None: none has.

        Args:
            wait_s: How long to wait for it.
        """
        if self._thread is None:
            return None
        self._thread.join(wait_s)
        if self._thread.is_alive():
            return None
        answer, self._thread, self._answer = self._answer, None, None
        return answer
