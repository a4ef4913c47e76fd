"""``/v1/snapshots``: snapshots that are posted once and decided on by name."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from shunter.service.routes import replies
from shunter.service.routes.replies import body_described, reply, service_of, worked_out
from shunter.service.snapshots import Held, check_snapshot_name

router = replies.router()


@router.put(
    "/v1/snapshots/{name}",
    summary="Keep a snapshot under a name",
    openapi_extra=body_described({"type": "object"}),
)
async def put(request: Request) -> Response:
    """Reads a snapshot and keeps it ready, so that deciding on it takes next to no time."""
    service, name = service_of(request), check_snapshot_name(request.path_params["name"])

    def keep(content: dict[str, Any]) -> dict[str, Any]:
        held = service.hold(content)
        told = _about(name, held)
        service.store.put(name, held)
        return told

    return await worked_out(request, keep)


@router.delete("/v1/snapshots/{name}", summary="Forget a snapshot")
async def delete(request: Request) -> Response:
    """Forgets a snapshot."""
    service_of(request).store.remove(check_snapshot_name(request.path_params["name"]))
    return Response(status_code=204)


@router.get("/v1/snapshots", summary="The snapshots that are kept")
async def listed(request: Request) -> Response:
    """Returns what is kept, the longest unused first."""
    found = service_of(request).store.listed()
    return reply({"snapshots": [_about(name, held) for name, held in found.items()]})


def _about(name: str, held: Held) -> dict[str, Any]:
    return {
        "name": name,
        "now_s": held.now_s,
        "jobs": len(held.ids),
        "waiting": len(held.waiting),
        "masked": len(held.masked),
        "nodes": len(held.node_names),
        "sha256": held.sha256,
    }
