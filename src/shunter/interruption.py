"""Being interrupted by Ctrl-C or SIGTERM at a moment that suits the work."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType


_open: list[threading.Event] = []
"""What is set when the user interrupts, while somebody wants to know."""


@contextmanager
def interruption() -> Iterator[threading.Event]:
    """Yields what is set when the user interrupts, so that no work is cut in two; a second time is at once.

    Inside of such a block, another one yields the same.
    """
    if _open:
        yield _open[-1]
        return
    asked = threading.Event()
    # Python handles signals in the main thread alone.
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    signals = (signal.SIGINT, signal.SIGTERM)
    previous = [signal.signal(one, handle) for one in signals]
    _open.append(asked)
    try:
        yield asked
    finally:
        _open.remove(asked)
        for one, handler in zip(signals, previous, strict=True):
            signal.signal(one, handler)
