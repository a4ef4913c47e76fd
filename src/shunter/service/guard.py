"""The guard before all addresses: host, origin, token, rate and size are looked at before anything is read."""

from __future__ import annotations

import hmac
import logging
import time
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from dataclasses import dataclass
from typing import Any, Final

from shunter.service.limits import Limits
from shunter.service.live import sessions
from shunter.service.live.sessions import Sessions
from shunter.service.metrics import Metrics
from shunter.service.refusals import HEADERS, RefusedError, refusal_body

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

OPEN_PATHS: Final = ("/healthz", "/live")
OPEN_FOLDER: Final = "/live/assets/"
"""What is answered without a token; nothing there is secret: the live page asks for one itself."""
LOOPBACK_NAMES: Final = ("localhost", "127.0.0.1", "::1")
BEARER: Final = b"bearer "
LOGGER: Final = logging.getLogger("shunter.serve")


@dataclass(frozen=True)
class Door:
    """Who is let in."""

    hosts: Collection[str] = LOOPBACK_NAMES
    """The names by which clients may call this service: a page elsewhere that has its own name point here may not."""
    token: bytes | None = None
    """None: whoever may open the socket is let in."""
    logs_requests: bool = False


class Bucket:
    """Lets so many through a second, and a second's worth at once."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._left = self._most = max(1.0, rate)
        self._at = time.monotonic()

    def takes(self) -> bool:
        """Returns whether one more may pass now."""
        now = time.monotonic()
        self._left = min(self._most, self._left + (now - self._at) * self._rate)
        self._at = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True


class Guard:
    """Stands before an application."""

    def __init__(self, app: App, door: Door, limits: Limits, metrics: Metrics) -> None:
        self._app = app
        self._door = door
        self._limits = limits
        self._metrics = metrics
        self._bucket = Bucket(limits.rate)
        self._sessions = Sessions(door.token)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answers one request, or refuses it."""
        if scope["type"] != "http":
            # There is nothing else here than HTTP, and the start and the end of the process.
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            self._check(scope)
            await self._app(scope, _bounded(receive, self._limits.body_bytes), watched)
        except RefusedError as refused:
            await _refuse(refused, watched)
        finally:
            # What stands in an address may be anything: the pattern that it fits is told, and never the address.
            route = getattr(scope.get("route"), "path", "none")
            self._metrics.request(route, status)
            if self._door.logs_requests:
                took_ms = (time.perf_counter() - began) * 1000
                LOGGER.info("%s %s %d %.1f ms", scope["method"], route, status, took_ms)

    def _check(self, scope: Message) -> None:
        """Raises a `RefusedError` for whoever may not come in."""
        headers: dict[bytes, bytes] = {}
        for name, value in scope["headers"]:
            # Which of two would count is a question that only attackers ask.
            if name in headers and name in (b"host", b"origin", b"authorization", b"content-length", b"cookie"):
                raise RefusedError(400, f"{name.decode()} is given twice; give it once")
            headers[name] = value
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if _name_of(host) not in self._door.hosts:
            raise RefusedError(421, f"this is not {host[:80]!r}; call it localhost, or start it with --allow-host NAME")
        origin = headers.get(b"origin")
        if origin is not None and origin.decode("latin-1").lower() not in (f"http://{host}", f"https://{host}"):
            raise RefusedError(403, "pages of another origin may not ask here")
        # Whoever has no token cannot use up what those may ask who have one.
        path: str = scope["path"]
        if path not in OPEN_PATHS and not path.startswith(OPEN_FOLDER):
            cookies = headers.get(b"cookie", b"") if path.startswith(f"{sessions.PATH}/") else b""
            if b"authorization" in headers or not self._sessions.holds(cookies):
                self._check_token(headers.get(b"authorization", b""))
            if not self._bucket.takes():
                raise RefusedError(429, f"more than {self._limits.rate:g} requests a second; ask again in a moment")
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length[:20]) > self._limits.body_bytes:
            raise RefusedError(413, f"the body has more than {self._limits.body_mb:g} MB; send less")

    def _check_token(self, given: bytes) -> None:
        token = self._door.token
        if token is None:
            return
        is_bearer = given[: len(BEARER)].lower() == BEARER
        # How many signs are right must not show in the time that this takes.
        if not hmac.compare_digest(given[len(BEARER) :].strip() if is_bearer else b"", token):
            raise RefusedError(401, "a token is needed; send it as 'Authorization: Bearer TOKEN'")


def _name_of(host: str) -> str:
    """Returns the name in a Host header, without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _bounded(receive: Receive, most: int) -> Receive:
    """Returns what receives a body up to a size: one that comes in pieces does not say how long it is."""
    left = most

    async def bounded() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        if left < 0:
            raise RefusedError(413, f"the body has more than {most / 1e6:g} MB; send less")
        return message

    return bounded


async def _refuse(refused: RefusedError, send: Send) -> None:
    body = refusal_body(refused.status, str(refused))
    told = {"content-type": "application/json", "content-length": str(len(body)), **HEADERS.get(refused.status, {})}
    headers = [(name.encode(), value.encode()) for name, value in told.items()]
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
