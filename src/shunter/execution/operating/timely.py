"""A question that must be answered in time: a deadline, and a breaker that spares whoever fails again and again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from typing import TypeVar

from shunter.errors import failure_text
from shunter.execution.operating.breaker import Breaker

T = TypeVar("T")


class NotNowError(Exception):
    """There is no answer; the message says why."""


class Timely:
    """Asks somebody who may fail, be late, or never come back."""

    def __init__(self, breaker: Breaker, deadline_s: float) -> None:
        self.breaker = breaker
        self.deadline_s = deadline_s
        self._busy: threading.Thread | None = None

    def ask(self, question: Callable[[], T]) -> T:
        """Returns the answer, if it comes before the deadline.

        Raises:
            NotNowError: It did not, the question failed, or the breaker is open.
        """
        return self._behind_the_breaker(lambda: self._in_time(question))

    def ask_here(self, question: Callable[[], T]) -> T:
        """Returns the answer to a question that is known to be quick: it is asked on this thread, without a deadline.

        Raises:
            NotNowError: The question failed, or the breaker is open.
        """
        return self._behind_the_breaker(question)

    def _behind_the_breaker(self, question: Callable[[], T]) -> T:
        if not self.breaker.allows(time.monotonic()):
            raise NotNowError(f"the breaker is open: {self.breaker.last_failure}")
        try:
            answer = question()
        # Whatever is wrong with a policy, the site must not suffer.
        except Exception as error:
            why = str(error) if isinstance(error, NotNowError) else failure_text(error)
            self.breaker.fail(time.monotonic(), why)
            raise NotNowError(why) from None
        self.breaker.succeed()
        return answer

    def _in_time(self, question: Callable[[], T]) -> T:
        if self._busy is not None and self._busy.is_alive():
            raise NotNowError("still busy with an earlier decision")
        answers: list[T] = []
        failures: list[Exception] = []

        def answer_now() -> None:
            try:
                answers.append(question())
            except Exception as error:
                failures.append(error)

        # A daemon thread: a policy that never comes back does not keep the process from ending.
        self._busy = threading.Thread(target=copy_context().run, args=(answer_now,), name="deciding", daemon=True)
        self._busy.start()
        self._busy.join(self.deadline_s)
        if failures:
            raise failures[0]
        if not answers:
            raise NotNowError(f"no decision within {self.deadline_s * 1000:g} ms")
        return answers[0]
