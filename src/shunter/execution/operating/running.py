"""An operation as a process: signals end it, and what was changed is undone before it does."""

from __future__ import annotations

import signal
from types import FrameType

from shunter.execution.operating.operation import Operation


def run_until_stopped(operation: Operation, *, once: bool) -> bool:
    """Runs an operation until SIGTERM or SIGINT, SIGHUP begins a cycle at once; returns whether all is undone."""

    def stop(number: int, frame: FrameType | None) -> None:
        operation.stop()

    def wake(number: int, frame: FrameType | None) -> None:
        operation.wake()

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    before[signal.SIGHUP] = signal.signal(signal.SIGHUP, wake)
    try:
        return operation.run(once=once)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
