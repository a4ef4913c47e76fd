"""The hub: reads each source once for all who look, finds out what has changed, and tells each viewer at its own pace.

A viewer holds the keys of panels that it has not been told of, never their contents: however slow it is, it takes no
more memory than there are panels, and what it is told next is the newest state.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

from shunter.errors import ShunterError, visible
from shunter.service.live.panels import Fact, encoded, facts, to_json_bytes
from shunter.service.live.sources import Source
from shunter.service.refusals import RefusedError

LOGGER: Final = logging.getLogger("shunter.serve")
TROUBLE: Final = "trouble"
"""The key of the panel that says why a source cannot be read."""
GAP_S: Final = 0.1
"""A viewer is told at most so often: nobody reads faster."""
BEAT_S: Final = 10.0
"""How often a viewer is told the time, by which it knows that the service is there."""
MOST_VIEWERS: Final = 64
SLOWEST_S: Final = 15.0
"""How seldom a source is tried that cannot be read."""

Key = tuple[str, str]
"""A source and a panel."""


class Told(NamedTuple):
    """The newest state of a panel."""

    version: int
    frame: bytes
    """As it is sent."""
    body: bytes
    """By which it is seen that it has changed."""


class Viewer:
    """One who looks: the panels that it does not know in their newest state."""

    def __init__(self, keys: Sequence[Key]) -> None:
        self._waiting: dict[Key, None] = dict.fromkeys(keys)
        self._is_waiting = asyncio.Event()
        self.merged = 0
        """How often a panel changed again before it was sent."""
        if keys:
            self._is_waiting.set()

    def mark(self, key: Key) -> None:
        """Says that a panel has changed."""
        self.merged += key in self._waiting
        self._waiting[key] = None
        self._is_waiting.set()

    async def take(self, patience_s: float) -> list[Key]:
        """Returns what has changed, when something has; nothing if that takes longer than so long."""
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._is_waiting.wait(), patience_s)
        keys = list(self._waiting)
        self._waiting.clear()
        self._is_waiting.clear()
        return keys


class Hub:
    """All sources of a service, and all who look at them."""

    def __init__(self, sources: Sequence[Source] = (), *, most_viewers: int = MOST_VIEWERS) -> None:
        self.sources = {source.name: source for source in sources}
        self.viewers: set[Viewer] = set()
        self.epoch = secrets.token_hex(4)
        """Of this process: numbers of another one mean nothing here."""
        self.changes = 0
        """How many changes there have been."""
        self.merged = 0
        """How many of them viewers that have gone were not told one by one, but as a later state."""
        self._most_viewers = most_viewers
        self._told: dict[Key, Told] = {}
        self._someone = asyncio.Event()
        self._locks = {name: threading.Lock() for name in self.sources}
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begins to follow the sources; each is read only while somebody looks."""
        self._tasks = [asyncio.create_task(self._follow(source)) for source in self.sources.values()]

    def close(self) -> None:
        """Follows nothing any more."""
        for task in self._tasks:
            task.cancel()

    # ---- those who look ----

    def enter(self, last_id: str = "") -> Viewer:
        """Returns a new viewer. Whoever was here before is told what has changed since, all others everything.

        Args:
            last_id: The number of the last event that it has seen, as the browser tells it.

        Raises:
            RefusedError: There are too many already.
        """
        if len(self.viewers) >= self._most_viewers:
            raise RefusedError(503, f"{self._most_viewers} pages look already; close one, or try again later")
        epoch, _, number = last_id.partition("-")
        seen = int(number) if epoch == self.epoch and number.isdecimal() and len(number) < 16 else -1
        viewer = Viewer([key for key, told in self._told.items() if told.version > seen])
        self.viewers.add(viewer)
        self._someone.set()
        return viewer

    def leave(self, viewer: Viewer) -> None:
        """Forgets a viewer."""
        self.viewers.discard(viewer)
        self.merged += viewer.merged
        if not self.viewers:
            self._someone.clear()

    def frame(self, key: Key) -> bytes:
        """Returns the newest state of a panel as an event; nothing if it is gone and forgotten."""
        told = self._told.get(key)
        return b"" if told is None else told.frame

    def hello(self) -> bytes:
        """Returns the first event: which sources there are."""
        known = [{"name": source.name, "kind": source.kind} for source in self.sources.values()]
        return event("hello", {"epoch": self.epoch, "now_s": time.time(), "sources": known})

    # ---- what is looked at ----

    async def _follow(self, source: Source) -> None:
        """Reads a source again and again while somebody looks."""
        failures, since_s = 0, 0.0
        while True:
            await self._someone.wait()
            try:
                frames = await asyncio.to_thread(self._read, source)
                failures = 0
            except Exception as error:
                # Whatever is wrong with one source, all others go on.
                if not isinstance(error, (ShunterError, OSError)):
                    LOGGER.exception("reading %s failed", source.name)
                failures, since_s = failures + 1, since_s if failures else time.time()
                self._publish(source.name, encoded({TROUBLE: trouble(error, since_s)}), keep=True)
            else:
                self._publish(source.name, frames)
            await asyncio.sleep(min(SLOWEST_S, source.period_s * 2**failures) if failures else source.period_s)

    def _read(self, source: Source) -> dict[str, bytes]:
        with self._locks[source.name]:
            return encoded(source.read())

    def _publish(self, name: str, found: dict[str, bytes], *, keep: bool = False) -> None:
        """Tells all viewers what has changed of a source.

        Args:
            name: Of the source.
            found: Its panels.
            keep: Whether panels that it does not name stay as they are.
        """
        gone = [] if keep else [panel for source, panel in self._told if source == name and panel not in found]
        for panel, body in [*found.items(), *((panel, b"null") for panel in gone)]:
            key = (name, panel)
            before = self._told.get(key)
            if before is not None and before.body == body:
                continue
            self.changes += 1
            told = b'{"source":%s,"key":%s,"panel":%s}' % (to_json_bytes(name), to_json_bytes(panel), body)
            frame = b"id: %s-%d\nevent: panel\ndata: %s\n\n" % (self.epoch.encode(), self.changes, told)
            self._told[key] = Told(self.changes, frame, body)
            for viewer in self.viewers:
                viewer.mark(key)


def trouble(error: Exception, since_s: float) -> Any:  # noqa: ANN401 - a panel
    """Returns the panel that says why a source cannot be read."""
    words = str(error) if isinstance(error, (ShunterError, OSError)) else f"{type(error).__name__}: see the log"
    found = [Fact("Since", since_s, "clock", tone="bad"), Fact("Why", visible(words)[:500], tone="bad")]
    return facts(
        "This cannot be read now", found, "What is shown below is the latest that is known; it is tried again."
    )


def event(name: str, content: Any) -> bytes:  # noqa: ANN401 - whatever JSON holds
    """Returns an event without a number."""
    return b"event: %s\ndata: %s\n\n" % (name.encode(), to_json_bytes(content))
