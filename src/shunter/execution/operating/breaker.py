"""A circuit breaker: after some failures within a window nobody asks for a while, and then one attempt decides."""

from __future__ import annotations

from collections import deque


class Breaker:
    """Opens after failures, lets one probe through from time to time, and closes when a probe succeeds."""

    def __init__(self, most_failures: int, window_s: float, probe_s: float) -> None:
        self.set_limits(most_failures, window_s, probe_s)
        self.opened = 0
        """How often it has opened."""
        self.last_failure = ""
        self._failures: deque[float] = deque()
        self._probe_at: float | None = None

    def set_limits(self, most_failures: int, window_s: float, probe_s: float) -> None:
        """Takes over limits that have changed."""
        self._most_failures, self._window_s, self._probe_s = most_failures, window_s, probe_s

    @property
    def is_open(self) -> bool:
        """Whether it is open; then only probes pass."""
        return self._probe_at is not None

    def allows(self, now_s: float) -> bool:
        """Returns whether to ask now: always while it is closed, and for a probe when that is due."""
        return self._probe_at is None or now_s >= self._probe_at

    def succeed(self) -> None:
        """Says that an attempt went well."""
        self._failures.clear()
        self._probe_at = None

    def fail(self, now_s: float, why: str) -> None:
        """Says that an attempt failed."""
        self.last_failure = why
        self._failures.append(now_s)
        while self._failures and self._failures[0] < now_s - self._window_s:
            self._failures.popleft()
        if self._probe_at is None and len(self._failures) < self._most_failures:
            return
        self.opened += self._probe_at is None
        self._probe_at = now_s + self._probe_s
