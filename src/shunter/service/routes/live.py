"""The live page: its files, signing in, its stream of events, and the questions that it may ask."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.types import Receive, Scope, Send

from shunter.report.page.writing import ASSETS, GANTT_SCRIPTS, STYLE
from shunter.service.live.hub import BEAT_S, GAP_S, Hub, Viewer, event
from shunter.service.live.panels import to_json_bytes
from shunter.service.live.runs_source import RunsSource
from shunter.service.live.sessions import Sessions
from shunter.service.protocol import LINGER
from shunter.service.refusals import RefusedError
from shunter.service.requests import parse_body
from shunter.service.routes import replies
from shunter.service.routes.replies import JSON, body_of, reply, service_of

router = replies.router()
PAGES: Final = Path(__file__).parents[1] / "pages"
PAGE: Final = "index.html"
SHARED: Final = (STYLE, *GANTT_SCRIPTS)
"""Those of reports that this page has too."""
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
FENCED: Final = {
    "content-security-policy": POLICY,
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
"""Nothing is loaded from elsewhere, nothing in the page runs but its own files, and nobody frames it."""
BOXED: Final = {**FENCED, "content-security-policy": "sandbox allow-scripts; frame-ancestors 'none'"}
"""For reports, which say themselves what they load: nothing."""
TYPES: Final = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


@cache
def pages() -> Mapping[str, bytes]:
    """Returns the files of the page by name. What is not among them is not served, whatever a request names."""
    own = [one for one in PAGES.iterdir() if one.suffix in TYPES]
    return {one.name: one.read_bytes() for one in [*own, *(ASSETS / name for name in SHARED)]}


def _file(name: str) -> Response:
    content = pages().get(name)
    if content is None:
        raise RefusedError(404, "the page has no such file")
    return Response(content, headers=FENCED, media_type=TYPES[Path(name).suffix])


@router.get("/live", summary="The live page; needs no token, and asks for one")
async def page(request: Request) -> Response:
    """Returns the page, which holds nothing that is secret."""
    return _file(PAGE)


@router.get("/live/assets/{name}", include_in_schema=False)
async def asset(request: Request) -> Response:
    """Returns a script or a style of the page."""
    return _file(request.path_params["name"])


@router.post(
    "/live/session", summary="Trade the token for a cookie of the live page, and the place for which it counts"
)
async def sign_in(request: Request) -> Response:
    """Gives a browser a cookie: its event stream cannot send the token."""
    sessions: Sessions = request.app.state.sessions
    answer = reply({"place": sessions.place})
    answer.headers["set-cookie"] = sessions.header(is_secure=request.headers.get("origin", "").startswith("https:"))
    return answer


@router.get("/live/{place}/session", include_in_schema=False)
async def session(request: Request) -> Response:
    """Says that whoever asks is let in: the guard has seen to that."""
    return reply({"signed_in": True})


@router.delete("/live/{place}/session", include_in_schema=False)
async def sign_out(request: Request) -> Response:
    """Takes the cookie away."""
    sessions: Sessions = request.app.state.sessions
    answer = reply({"signed_in": False})
    answer.headers["set-cookie"] = sessions.goodbye()
    return answer


@router.get("/live/{place}/events", summary="What the live page shows, as server-sent events")
async def events(request: Request) -> Response:
    """Returns a stream: which sources there are, their panels, and each panel again when it has changed."""
    hub = hub_of(request)
    return EventStream(hub, hub.enter(request.headers.get("last-event-id", "")))


@router.post("/live/{place}/ask", summary="Ask a source of the live page: what if, or what was at a time")
async def ask(request: Request) -> Response:
    """Returns panels. A question names what the source has offered: no text of it is a policy or a path."""
    hub, body = hub_of(request), await body_of(request)

    def answer() -> bytes:
        content = parse_body(body)
        name, question = content.get("source"), content.get("question")
        source = hub.sources.get(name) if isinstance(name, str) else None
        if source is None or not isinstance(question, dict):
            raise RefusedError(404, f"there is no such source; there are: {', '.join(hub.sources) or 'none'}")
        return to_json_bytes({key: panel.to_json() for key, panel in source.ask(question).items()})

    return Response(await service_of(request).work.run(answer), media_type=JSON)


@router.get("/live/{place}/reports/{source}/{run:path}", include_in_schema=False)
async def report(request: Request) -> Response:
    """Returns the report of a run, fenced in: it may run its own scripts, and is nobody to this service."""
    source = hub_of(request).sources.get(request.path_params["source"])
    path = source.report(request.path_params["run"]) if isinstance(source, RunsSource) else None
    if path is None:
        raise RefusedError(404, "there is no such report; the page lists those that there are")
    return FileResponse(path, headers=BOXED, media_type="text/html")


def hub_of(request: Request) -> Hub:
    """Returns what the live page of a service looks at."""
    hub: Hub = request.app.state.hub
    return hub


class EventStream(Response):
    """An answer without an end: it goes on until the viewer has gone."""

    def __init__(self, hub: Hub, viewer: Viewer) -> None:
        super().__init__(None, 200, media_type="text/event-stream")
        # A proxy that collects what it passes on would keep it for itself.
        self.headers.update({**FENCED, "x-accel-buffering": "no"})
        # There is no telling how long it will be.
        del self.headers["content-length"]
        self._hub = hub
        self._viewer = viewer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Tells the viewer what there is, and what changes."""
        telling = asyncio.create_task(self._tell(scope, send))
        leaving = asyncio.create_task(_until_gone(receive))
        try:
            await asyncio.wait((telling, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._hub.leave(self._viewer)
            for task in (telling, leaving):
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    async def _tell(self, scope: Scope, send: Send) -> None:
        linger = scope.get(LINGER, lambda: None)

        async def told(piece: bytes) -> None:
            # This waits while the viewer takes nothing; meanwhile what changes is only marked.
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            linger()

        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await told(b"retry: 2000\n\n" + self._hub.hello())
        # Before Python 3.12 a wait that ends just then swallows that it is cancelled.
        while self._viewer in self._hub.viewers:
            keys = await self._viewer.take(BEAT_S)
            for key in keys:
                await told(self._hub.frame(key))
            if not keys:
                await told(event("clock", {"now_s": time.time()}))
            await asyncio.sleep(GAP_S)


async def _until_gone(receive: Receive) -> None:
    message: Any = await receive()
    while message["type"] != "http.disconnect":
        message = await receive()
