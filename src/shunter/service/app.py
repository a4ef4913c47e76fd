"""The application: routers by file, one way to tell errors, and the guard before all of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match

from shunter import __version__
from shunter.errors import ShunterError
from shunter.service.guard import Door, Guard
from shunter.service.live.hub import Hub
from shunter.service.live.sessions import Sessions
from shunter.service.refusals import HEADERS, RefusedError, refusal_body
from shunter.service.routes import about, decide, extender, live, snapshots
from shunter.service.service import Service

ROUTERS: Final[tuple[APIRouter, ...]] = (decide.router, snapshots.router, about.router, extender.router, live.router)
LOGGER: Final = logging.getLogger("shunter.serve")


def create_app(service: Service, door: Door, hub: Hub | None = None) -> Guard:
    """Returns the application of a service, behind its guard.

    Args:
        service: What answers.
        door: Who is let in.
        hub: What the live page shows; None: nothing.
    """
    looked_at = Hub() if hub is None else hub

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        watching = asyncio.create_task(_watch(service))
        looked_at.start()
        yield
        watching.cancel()
        looked_at.close()
        service.close()

    # The pages that FastAPI brings load scripts from elsewhere: `about.py` has one that does not.
    app = FastAPI(
        title="Shunter", version=__version__, lifespan=life, docs_url=None, redoc_url=None, redirect_slashes=False
    )
    app.state.service, app.state.hub, app.state.sessions = service, looked_at, Sessions(door.token)
    for router in ROUTERS:
        app.include_router(router)
    app.add_exception_handler(ShunterError, _bad_input)
    app.add_exception_handler(HTTPException, _not_there)
    app.add_exception_handler(RefusedError, _refused)
    app.add_exception_handler(Exception, _failed)
    return Guard(app, door, service.limits, service.metrics)


async def _watch(service: Service) -> None:
    """Looks at the files of policies from time to time, on a thread of its own."""
    while True:
        await asyncio.sleep(service.limits.reload_s)
        try:
            await asyncio.to_thread(service.look_at_files)
        except Exception:
            LOGGER.exception("looking at the files of policies failed")


def _told(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    told = {**HEADERS.get(status, {}), **(headers or {})}
    return Response(refusal_body(status, message), status, told, media_type="application/json")


async def _bad_input(request: Request, error: Exception) -> Response:
    return _told(400, str(error))


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedError)
    return _told(error.status, str(error))


async def _not_there(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = ", ".join(_methods(request))
        return _told(405, f"this address takes another method: {allowed}", {"allow": allowed})
    known = {404: "there is nothing at this address; GET /docs lists all"}
    return _told(error.status_code, known.get(error.status_code, str(error.detail)))


def _methods(request: Request) -> list[str]:
    """Returns the methods that an address takes: one address may have several routes."""
    found: set[str] = set()
    for router in ROUTERS:
        for route in router.routes:
            if isinstance(route, APIRoute) and route.matches(request.scope)[0] != Match.NONE:
                found |= route.methods or set()
    return sorted(found)


async def _failed(request: Request, error: Exception) -> Response:
    # What went wrong is in the log, with the place in the code; a client is told nothing of the inside.
    return _told(500, f"the service failed ({type(error).__name__}); its log says more")
