"""A service in a thread of this process, and a client that can also talk nonsense."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from shunter.service.app import create_app
from shunter.service.guard import LOOPBACK_NAMES, Door
from shunter.service.limits import Limits
from shunter.service.live.hub import Hub
from shunter.service.running import Address, server_of
from shunter.service.service import Loaded, Service

TOKEN = b"a-token-of-thirty-two-signs-or-more-0123456789"
SLOW_S = 20.0


class _Connection(HTTPConnection):
    """HTTP over a Unix socket, or over TCP."""

    def __init__(self, where: Path | int) -> None:
        super().__init__("localhost", 80 if isinstance(where, Path) else where, timeout=SLOW_S)
        self._where = where

    def connect(self) -> None:
        self.sock = connected(self._where)


def connected(where: Path | int) -> socket.socket:
    """Returns an open connection to a service."""
    if isinstance(where, int):
        return socket.create_connection(("127.0.0.1", where), timeout=SLOW_S)
    opened = socket.socket(socket.AF_UNIX)
    opened.settimeout(SLOW_S)
    opened.connect(str(where))
    return opened


@dataclass
class Reply:
    """An answer."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def content(self) -> Any:  # noqa: ANN401 - whatever JSON holds
        """What it holds."""
        return json.loads(self.body)

    @property
    def error(self) -> str:
        """The message of a refusal, having checked that it is one."""
        told = self.content
        assert list(told) == ["error"]
        assert list(told["error"]) == ["code", "message"]
        return str(told["error"]["message"])


@dataclass
class Talk:
    """A client of a service."""

    where: Path | int
    service: Service
    token: bytes | None = None
    hub: Hub = field(default_factory=Hub)
    stop: Callable[[], None] = lambda: None
    """Has the service end, and waits for that."""

    def ask(self, method: str, path: str, content: Any = None, **headers: str) -> Reply:  # noqa: ANN401 - any JSON
        """Sends one request; bytes go as they are, anything else as JSON."""
        connection = _Connection(self.where)
        body = content if isinstance(content, bytes) or content is None else json.dumps(content).encode()
        if self.token is not None:
            headers.setdefault("Authorization", f"Bearer {self.token.decode()}")
        try:
            # Who refuses a body by its length may have closed before all of it was sent; the answer is there.
            with suppress(BrokenPipeError):
                connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return Reply(answer.status, answer.read(), {name.lower(): value for name, value in answer.getheaders()})
        finally:
            connection.close()

    def post(self, path: str, content: Any) -> Reply:  # noqa: ANN401 - any JSON
        """Sends one POST."""
        return self.ask("POST", path, content)

    def decide(self, snapshot: Any, policy: str = "sjf") -> dict[str, Any]:  # noqa: ANN401 - a name or a snapshot
        """Returns a decision, having checked that there is one."""
        reply = self.post("/v1/decide", {"policy": policy, "snapshot": snapshot})
        assert reply.status == 200, reply.body
        found: dict[str, Any] = reply.content
        return found

    def raw(self, sent: bytes) -> bytes:
        """Sends bytes and returns all that comes back until the service closes."""
        with connected(self.where) as opened:
            opened.sendall(sent)
            return until_closed(opened)

    def is_alive(self) -> bool:
        """Returns whether the service answers."""
        return self.ask("GET", "/healthz").status == 200


def until_closed(opened: socket.socket) -> bytes:
    """Returns all that comes from a connection until it is closed."""
    pieces = []
    try:
        while piece := opened.recv(65536):
            pieces.append(piece)
    except ConnectionResetError:
        pass
    return b"".join(pieces)


@contextmanager
def serving(
    loaded: Loaded | None = None,
    limits: Limits | None = None,
    *,
    socket_path: Path | None = None,
    token: bytes | None = None,
    hosts: tuple[str, ...] = LOOPBACK_NAMES,
    logs_requests: bool = False,
    hub: Hub | None = None,
    port: int = 0,
) -> Iterator[Talk]:
    """Yields a client of a service that runs meanwhile: on a Unix socket, or on a free port."""
    # Tests decide on a busy machine: nobody is late unless that is what is tested.
    limits = limits or Limits(deadline_s=30.0)
    service = Service(loaded or Loaded({"sjf": {"policy": "sjf"}, "fcfs": {"policy": "fcfs"}}), limits)
    opened = Address(socket_path, port=port).open()
    hub = hub or Hub()
    server = server_of(create_app(service, Door(hosts, token, logs_requests), hub), limits)
    thread = threading.Thread(target=lambda: server.run(sockets=[opened]), daemon=True)
    thread.start()
    end = time.monotonic() + SLOW_S
    while not server.started:
        assert time.monotonic() < end, "the service does not start"
        time.sleep(0.01)

    def stop() -> None:
        server.should_exit = True
        thread.join(SLOW_S)

    try:
        yield Talk(socket_path or opened.getsockname()[1], service, token, hub, stop)
    finally:
        stop()
        opened.close()
        assert not thread.is_alive(), "the service does not end"
