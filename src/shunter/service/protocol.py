"""HTTP/1.1 by uvicorn, with a limit on how long a client may take and how much it may say before it asks anything.

Uvicorn waits for the head and the body of a request for as long as a client likes: a few idle connections could keep
everybody else out.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, ClassVar, Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from shunter.service.limits import Limits
from shunter.service.refusals import refusal_body

if TYPE_CHECKING:
    from asyncio import TimerHandle

MOST_HEAD: Final = 32_768
"""The longest head of a request, in bytes."""
LINGER: Final = "shunter.linger"
"""In the scope of a request: what an answer without an end calls whenever the client has taken a piece of it."""


class TimedProtocol(HttpToolsProtocol):
    """One connection. `timed` makes a class of it that has limits."""

    limits: ClassVar[Limits]
    _timer: TimerHandle | None = None
    _reads_head = True
    _is_asked = False
    """Whether a request has come as a whole, and its answer has not left."""
    _head_bytes = 0
    _lingers = False
    """Whether the answer goes on for as long as the client takes it."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begins to wait for a request."""
        super().connection_made(transport)
        if len(self.connections) > self.limits.connections:
            self._refuse(503, f"there are {self.limits.connections} connections already; ask again in a moment")
            return
        self._wait(self.limits.head_s, "the head of the request")

    def connection_lost(self, exc: Exception | None) -> None:
        """Forgets the connection."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Takes what has come."""
        # What follows a refusal is nobody's business.
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self._reads_head:
            self._head_bytes += len(data)
            if self._head_bytes > MOST_HEAD:
                self._refuse_head()

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._reads_head, self._head_bytes = True, 0
        self._wait(self.limits.head_s, "the head of the request")

    def on_headers_complete(self) -> None:
        """The head is there."""
        self._reads_head = False
        said = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if said > MOST_HEAD:
            self._refuse_head()
            # The parser stops at errors alone, and would go on with the body.
            raise ValueError("the head of the request is too long")
        self._wait(self.limits.body_s, "the body of the request")
        self.scope[LINGER] = self._linger  # type: ignore[typeddict-unknown-key]
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is there; whoever does not take the answer is not waited for either."""
        self._is_asked = True
        self._wait(self.limits.answer_s + self.limits.body_s, "")
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """The answer has left. If the rest of a refused request has not come, its time runs on."""
        self._lingers = False
        if self._is_asked:
            self._is_asked = False
            self._stop_waiting()
        super().on_response_complete()

    def shutdown(self) -> None:
        """Ends the connection in order: an answer that goes on and on ends here."""
        super().shutdown()
        # What a slow client has not taken yet would keep the service from ending.
        if self._lingers:
            self.transport.abort()

    def send_400_response(self, msg: str) -> None:
        """Refuses what is no HTTP."""
        self._refuse(400, "this is no HTTP request")

    def _linger(self) -> None:
        """Says that the client has taken what there was of an answer that goes on: its time begins anew."""
        self._lingers = True
        if not self.transport.is_closing():
            self._wait(self.limits.answer_s + self.limits.body_s, "")

    def _wait(self, seconds: float, what: str) -> None:
        self._stop_waiting()
        self._timer = self.loop.call_later(seconds, self._give_up, seconds, what)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self, seconds: float, what: str) -> None:
        if what:
            self._refuse(408, f"{what} did not come within {seconds:g} s")
        else:
            self.transport.abort()

    def _refuse_head(self) -> None:
        self._refuse(431, f"the head of the request has more than {MOST_HEAD} bytes; send less")

    def _refuse(self, status: int, message: str) -> None:
        """Answers without asking anybody, and closes."""
        self._stop_waiting()
        if self.transport.is_closing():
            return
        # In the middle of another answer nothing can be said.
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            body = refusal_body(status, message)
            head = b"content-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(body)
            self.transport.write(STATUS_LINE[status] + head + body)
        self.transport.close()


def timed(limits: Limits) -> type[Any]:
    """Returns the class of connections with these limits."""
    return type("LimitedProtocol", (TimedProtocol,), {"limits": limits})
