"""What takes long to work out is worked out again only when it would come out differently, and not all the time."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

T = TypeVar("T")
LEAST_S: Final = 2.0
REST: Final = 5.0
"""After so long as it took, times this, it is worked out again: a sixth of one core at most."""
STALE_S: Final = 60.0
"""What has not changed for so long is worked out again: time has passed."""


class Seldom(Generic[T]):
    """One result that is kept."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._key: Hashable = None
        self._is_known = False
        self._again_s = 0.0
        self._stale_s = 0.0
        self.latest: T | None = None

    def value(self, key: Hashable, now_s: float) -> T | None:
        """Returns the result for what the key stands for, or an earlier one where it is too soon for another."""
        is_wanted = not self._is_known or key != self._key or now_s >= self._stale_s
        if is_wanted and now_s >= self._again_s:
            began = time.perf_counter()
            self.latest = self._work()
            took_s = time.perf_counter() - began
            self._key, self._is_known = key, True
            self._again_s = now_s + max(LEAST_S, REST * took_s)
            self._stale_s = now_s + max(STALE_S, REST * took_s)
        return self.latest
