"""Sources for tests of the live page, and a plain client of its events."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from shunter.errors import InputError
from shunter.service.live.panels import Fact, facts
from shunter.service.live.sources import Panels
from tests.service.talking import SLOW_S, Talk, connected


class Made:
    """A source that shows what it is given, and fails when it is told to."""

    kind = "made"

    def __init__(self, name: str = "made", period_s: float = 0.02) -> None:
        self.name = name
        self.period_s = period_s
        self.shown: Panels = {"facts": facts("Now", [Fact("Count", 0, "number")])}
        self.trouble = ""
        self.reads = 0
        self.asked: list[Mapping[str, Any]] = []

    def show(self, **values: Any) -> None:  # noqa: ANN401 - whatever JSON holds
        """Shows panels with one figure each, by key."""
        self.shown = {key: facts(key, [Fact("Count", value, "number")]) for key, value in values.items()}

    def read(self) -> Panels:
        """Returns what it was given."""
        self.reads += 1
        if self.trouble:
            raise InputError(self.trouble)
        return self.shown

    def ask(self, question: Mapping[str, Any]) -> Panels:
        """Returns what it was asked."""
        self.asked.append(question)
        return {"answer": facts("The answer", [Fact("Asked", len(question), "number")])}


@dataclass
class Event:
    """One event of a stream."""

    name: str
    content: Any
    id: str = ""


@dataclass
class Listener:
    """A client that reads events as they come."""

    sock: socket.socket
    status: int
    headers: dict[str, str]
    left: bytes = b""
    seen: list[Event] = field(default_factory=list)

    def next(self) -> Event:
        """Returns the next event.

        Raises:
            EOFError: The stream is over.
        """
        while True:
            while b"\n\n" not in self.left:
                self._more()
            text, _, self.left = self.left.partition(b"\n\n")
            fields = dict(line.split(": ", 1) for line in text.decode().split("\n"))
            if "event" in fields:
                event = Event(fields["event"], json.loads(fields["data"]), fields.get("id", ""))
                self.seen.append(event)
                return event

    def panel(self, key: str) -> Any:  # noqa: ANN401 - whatever JSON holds
        """Returns the next state of a panel; None if it is gone."""
        while True:
            event = self.next()
            if event.name == "panel" and event.content["key"] == key:
                return event.content["panel"]

    def value(self, key: str) -> Any:  # noqa: ANN401 - whatever JSON holds
        """Returns the one figure of the next state of a panel."""
        return self.panel(key)["content"]["facts"][0]["value"]

    def until(self, key: str, value: object) -> None:
        """Reads until a panel has a figure."""
        while self.value(key) != value:
            pass

    def _more(self) -> None:
        """Takes one more piece, without the frame that HTTP puts around it."""
        size = int(self._line(), 16)
        if not size:
            raise EOFError
        piece = b""
        while len(piece) < size + 2:
            piece += self._received(size + 2 - len(piece))
        self.left += piece[:-2]

    def _line(self) -> bytes:
        found = b""
        while not found.endswith(b"\r\n"):
            found += self._received(1)
        return found[:-2]

    def _received(self, most: int) -> bytes:
        found = self.sock.recv(most)
        if not found:
            raise EOFError
        return found


@contextmanager
def listening(talk: Talk, **headers: str) -> Iterator[Listener]:
    """Yields a client that has asked for the events."""
    if talk.token is not None:
        headers.setdefault("Authorization", f"Bearer {talk.token.decode()}")
    with connected(talk.where) as opened:
        asked = "".join(f"{name}: {value}\r\n" for name, value in {"Host": "localhost", **headers}.items())
        opened.sendall(f"GET /live/events HTTP/1.1\r\n{asked}\r\n".encode())
        head = b""
        while b"\r\n\r\n" not in head:
            piece = opened.recv(1)
            assert piece, head
            head += piece
        status, *rest = head.decode().strip().split("\r\n")
        found = dict(line.split(": ", 1) for line in rest)
        yield Listener(opened, int(status.split()[1]), {name.lower(): value for name, value in found.items()})


def wait_until(is_so: Any, what: str) -> None:  # noqa: ANN401 - a function
    """Waits until something is so."""
    end = time.monotonic() + SLOW_S
    while not is_so():
        assert time.monotonic() < end, f"waited for {what}"
        time.sleep(0.01)
