"""What the service tells of itself: health, policies, metrics, the schema of snapshots, and the page of addresses."""

from __future__ import annotations

from html import escape
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from shunter.model.state_schema import state_schema
from shunter.service.routes import replies
from shunter.service.routes.replies import reply, service_of

router = replies.router()
NOTHING_FROM_OUTSIDE: Final = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
_STYLE: Final = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}"
    "code{font-family:ui-monospace,monospace}dt{margin-top:1.2rem}table{border-collapse:collapse;margin:.4rem 0}"
    "td{border-top:1px solid #8884;padding:.2rem .8rem .2rem 0;vertical-align:top}"
)


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz", summary="Whether the service answers; needs no token")
async def healthz(request: Request) -> Response:
    """Says that the service is there, and nothing else."""
    return reply({"status": "ok"})


@router.get("/v1/policies", summary="The policies, clusters and logs that requests may name")
async def policies(request: Request) -> Response:
    """Returns what there is by name."""
    return reply(service_of(request).described())


@router.get("/v1/schema", summary="The JSON Schema of a snapshot in Shunter's own form")
async def schema(request: Request) -> Response:
    """Returns the schema of ``shunter.state/1``."""
    return reply(state_schema())


@router.get("/metrics", summary="Numbers for Prometheus")
async def metrics(request: Request) -> Response:
    """Returns all metrics as text."""
    return Response(service_of(request).metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


@router.get("/", include_in_schema=False)
@router.get("/docs", include_in_schema=False)
async def page(request: Request) -> Response:
    """Shows all addresses with what they take; the page loads nothing, from anywhere."""
    content = request.app.openapi()
    entries = [
        _entry(method, path, about) for path, methods in content["paths"].items() for method, about in methods.items()
    ]
    title = escape(f"{content['info']['title']} {content['info']['version']}")
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
    text = f'{head}<h1>{title}</h1><p>The same for programs: <a href="/openapi.json">openapi.json</a></p><dl>'
    return HTMLResponse(f"{text}{''.join(entries)}</dl></html>", headers=NOTHING_FROM_OUTSIDE)


def _entry(method: str, path: str, about: dict[str, Any]) -> str:
    body = about.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    rows = [
        f"<tr><td><code>{escape(name)}</code><td>{escape(str(one.get('description', '')))}"
        for name, one in body.get("properties", {}).items()
    ]
    table = f"<table>{''.join(rows)}</table>" if rows else ""
    said = f"{escape(about.get('summary', ''))}. {escape(about.get('description', ''))}"
    return f"<dt><code><b>{method.upper()}</b> {escape(path)}</code><dd>{said}{table}"
