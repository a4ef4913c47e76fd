"""What takes long runs on a few threads, with a short line before them; the loop goes on answering."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from shunter.service.limits import Limits
from shunter.service.refusals import RefusedError

T = TypeVar("T")


class Work:
    """Threads for long requests."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._pool = ThreadPoolExecutor(limits.threads, thread_name_prefix="serving")
        self.under_way = 0
        """How many tasks run or wait for a thread, also such as nobody waits for any more."""

    async def run(self, task: Callable[[], T]) -> T:
        """Runs a task on a thread; returns what it returns.

        Raises:
            RefusedError: There is too much to do, or it took too long. A thread cannot be stopped, so that a task that
                took too long goes on, and counts as under way until it ends.
        """
        limits = self._limits
        if self.under_way >= limits.threads + limits.in_line:
            raise RefusedError(503, f"{self.under_way} requests are being worked on; ask again in a moment")
        self.under_way += 1
        future = asyncio.get_running_loop().run_in_executor(self._pool, task)
        future.add_done_callback(self._done)
        try:
            return await asyncio.wait_for(asyncio.shield(future), limits.answer_s)
        except asyncio.TimeoutError:
            raise RefusedError(504, f"there is no answer after {limits.answer_s:g} s; ask for less") from None

    def _done(self, future: asyncio.Future[T]) -> None:
        self.under_way -= 1
        # Where nobody waits any more, nobody else would look at the error.
        if not future.cancelled():
            future.exception()

    def close(self) -> None:
        """Begins nothing new. What runs is not waited for."""
        self._pool.shutdown(wait=False, cancel_futures=True)
