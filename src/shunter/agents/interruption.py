"""Ctrl-C at the right moment."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interruption() -> Iterator[threading.Event]:
    """Yields what is set when the user interrupts, so that an update is never cut in two; a second time is at once."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    signals = (signal.SIGINT, signal.SIGTERM)
    previous = [signal.signal(one, handle) for one in signals]
    try:
        yield asked
    finally:
        for one, handler in zip(signals, previous, strict=True):
            signal.signal(one, handler)
