"""Progress on standard error: shown after a second, silent where standard error is not a terminal."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

DELAY_S = 1.0
"""Steps that are done sooner show nothing."""


class Step:
    """One step of the work, whose bar appears once the step has taken a second."""

    def __init__(self, description: str) -> None:
        """Remembers what is done; nothing is shown yet."""
        self._description = description
        self._lock = threading.Lock()
        self._over = False
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def __call__(self, done: int, total: int) -> None:
        """Moves the bar: so many of so many jobs are done."""
        with self._lock:
            if self._progress is not None and self._task is not None:
                self._progress.update(self._task, completed=done, total=total)

    def show(self) -> None:
        """Shows the bar, unless the step is over."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        with self._lock:
            if self._over:
                return
            # A file's name may look like markup.
            text = TextColumn("{task.description}", markup=False)
            columns = (text, BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
            console = Console(stderr=True)
            # Standard output stays what it is: a JSON object must never end up among the bars.
            self._progress = Progress(*columns, console=console, transient=True, redirect_stdout=False)
            self._task = self._progress.add_task(self._description, total=None)
            self._progress.start()

    def finish(self) -> None:
        """Takes the bar away."""
        with self._lock:
            self._over = True
            if self._progress is not None:
                self._progress.stop()


@contextmanager
def step(description: str) -> Iterator[Step]:
    """Yields a step that is called with (done, total) as the work goes on."""
    shown = Step(description)
    timer = threading.Timer(DELAY_S, shown.show)
    timer.daemon = True
    if sys.stderr is not None and sys.stderr.isatty():
        timer.start()
    try:
        yield shown
    finally:
        timer.cancel()
        shown.finish()
