"""Signals that end an operation, caught from the first moment on: what is heavy is imported after that."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class Stopping:
    """Remembers that it was asked to stop, and tells whoever works by then."""

    def __init__(self) -> None:
        self.is_asked = False
        self._stop: Callable[[], None] | None = None
        self._wake: Callable[[], None] | None = None

    def attach(self, stop: Callable[[], None], wake: Callable[[], None]) -> None:
        """Names what is called at a signal from now on; a stop that was asked for before is told at once."""
        self._stop, self._wake = stop, wake
        if self.is_asked:
            stop()

    def stop(self, number: int, frame: FrameType | None) -> None:
        """Takes SIGTERM and SIGINT."""
        self.is_asked = True
        if self._stop is not None:
            self._stop()

    def wake(self, number: int, frame: FrameType | None) -> None:
        """Takes SIGHUP."""
        if self._wake is not None:
            self._wake()


@contextmanager
def signals_caught() -> Iterator[Stopping]:
    """Lets SIGTERM and SIGINT end what is attached in good order, and SIGHUP wake it."""
    stopping = Stopping()
    before = {number: signal.signal(number, stopping.stop) for number in (signal.SIGTERM, signal.SIGINT)}
    before[signal.SIGHUP] = signal.signal(signal.SIGHUP, stopping.wake)
    try:
        yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
