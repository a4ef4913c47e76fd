"""A local queue that this process runs itself, without a daemon: `shunter run`, and learning on real executions.

It is the same queue: the same loop decides, the same supervisors run the jobs, the same journal is kept.
"""

from __future__ import annotations

import os
import selectors
import shutil
import tempfile
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from shunter.execution.local.folder import QueueFolder
from shunter.execution.local.spec import JobSpec
from shunter.execution.local.verbs import open_queue

LOOK_S: Final = 0.1
"""So often it is looked whether the user has interrupted."""


class Foreground:
    """An open queue, driven round by round."""

    def __init__(self, folder: QueueFolder, changes: Mapping[str, Any]) -> None:
        """Opens the queue.

        Args:
            folder: Where it is; no other process may be running it.
            changes: Settings of the queue that are new, as in `open_queue`.

        Raises:
            InputError: A daemon runs it, or its journal cannot be used.
        """
        folder.make()
        folder.take()
        self._selector = selectors.DefaultSelector()
        self.verbs = open_queue(folder, changes, self._selector)
        self.queue, self.loop = self.verbs.queue, self.verbs.loop
        self.queue.on_change = self._change
        self._is_changed = True
        self.loop.decider.warm_up(self.queue.view().cluster)

    def _change(self) -> None:
        self._is_changed = True
        self.loop.wake()

    def take_change(self) -> bool:
        """Returns whether something has happened, since this was last asked, that may let a job start."""
        was_changed, self._is_changed = self._is_changed, False
        return was_changed

    def submit(self, specs: Sequence[JobSpec]) -> list[int]:
        """Adds jobs with the environment of this process; returns their ids.

        Raises:
            InputError: One of them can never run here.
        """
        mask = os.umask(0)
        os.umask(mask)
        jobs = [spec.to_json() for spec in specs]
        ids: list[int] = self.verbs.submit(jobs, dict(os.environ), mask, uuid.uuid4().hex)["jobs"]
        self.queue.flush()
        self._is_changed = True
        return ids

    def is_over(self, jobs: Collection[int]) -> bool:
        """Returns whether none of some jobs waits or runs."""
        return not any(job in self.queue.board.entries for job in jobs)

    def hear(self, timeout: float) -> None:
        """Waits for something to happen, not long, and takes it up."""
        for key, _ in self._selector.select(min(timeout, LOOK_S)):
            key.data()
        self.queue.trim_outputs()

    def run(self, jobs: Collection[int], is_asked: Callable[[], bool], tell: Callable[[int, int], None]) -> None:
        """Has jobs run until all of them are over; those that are left when the user interrupts are cancelled.

        Args:
            jobs: Their ids.
            is_asked: Returns whether the user has interrupted.
            tell: Called with how many are over, and of how many.

        Raises:
            JournalError: The disk is full; running jobs have been asked to end.
        """
        wait_s = 0.0
        with self.ending_jobs():
            while not self.is_over(jobs):
                self.hear(wait_s)
                if is_asked():
                    self.cancel(jobs)
                wait_s = self.loop.turn()
                self.queue.flush()
                tell(sum(job not in self.queue.board.entries for job in jobs), len(jobs))

    def cancel(self, jobs: Collection[int]) -> None:
        """Ends jobs: those that wait will not start, those that run get SIGTERM, and later SIGKILL."""
        running = {run.job for run in self.queue.supervision.runs.values() if run.is_cancelled}
        left = [job for job in jobs if job in self.queue.board.entries and job not in running]
        if left:
            self.verbs.cancel(left)

    @contextmanager
    def ending_jobs(self) -> Iterator[None]:
        """Surrounds work with jobs that must not go on if it ends badly."""
        try:
            yield
        except BaseException:
            # Their supervisors end them, whatever becomes of this process.
            for run in self.queue.supervision.runs.values():
                self.queue.supervision.ask_to_end(run)
            raise

    def close(self) -> None:
        """Lets go of the queue."""
        self.queue.close()
        self._selector.close()


@contextmanager
def temporary_queue() -> Iterator[QueueFolder]:
    """Yields the folder of a queue that is gone afterwards."""
    path = Path(tempfile.mkdtemp(prefix="shunter-run-"))
    try:
        yield QueueFolder(path, str(path))
    finally:
        shutil.rmtree(path, ignore_errors=True)
