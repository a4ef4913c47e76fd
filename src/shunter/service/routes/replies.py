"""What all routes share: reading a body, working on it, and answering in JSON."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any, Final, get_args, get_type_hints

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from shunter.checks import declarations
from shunter.service.refusals import RefusedError, json_bytes
from shunter.service.requests import parse_body

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from shunter.service.service import Service

JSON: Final = "application/json"
_TYPES: Final = {int: "integer", float: "number", str: "string", bool: "boolean", type(None): "null"}
SNAPSHOT_SCHEMA: Final[dict[str, Any]] = {
    "description": "The name of a posted snapshot, or a snapshot: a state (GET /v1/schema), or an object with 'format' "
    "and what a scheduler's programs print (docs/serving.md).",
    "oneOf": [{"type": "string"}, {"type": "object"}],
}


class PlainRoute(APIRoute):
    """A route whose function takes the request itself: nothing is worked out for it, and it is described by hand."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Returns the function."""
        return self.endpoint


def router() -> APIRouter:
    """Returns a router of such routes."""
    return APIRouter(route_class=PlainRoute)


def service_of(request: Request) -> Service:
    """Returns the service that a request is for."""
    service: Service = request.app.state.service
    return service


async def body_of(request: Request) -> bytes:
    """Returns the body of a request.

    Raises:
        RefusedError: The client is gone.
    """
    pieces: list[bytes] = []
    while True:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise RefusedError(400, "the connection was closed in the middle of the request")
        pieces.append(message.get("body", b""))
        if not message.get("more_body", False):
            return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def reply(content: Any, status: int = 200) -> Response:  # noqa: ANN401 - whatever JSON holds
    """Returns an answer in JSON."""
    return Response(json_bytes(content), status, media_type=JSON)


async def worked_out(request: Request, answer: Callable[[dict[str, Any]], Any]) -> Response:
    """Answers with what a function makes of the body; reading it, working and writing go on on another thread."""
    body = await body_of(request)
    told = await service_of(request).work.run(lambda: json_bytes(answer(parse_body(body))))
    return Response(told, media_type=JSON)


def described(
    kind: type[DataclassInstance], more: Mapping[str, Any] | None = None, needs: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Returns what OpenAPI is told of a route whose body is an object with the fields of a dataclass."""
    said, hints = declarations(kind), get_type_hints(kind)
    properties: dict[str, dict[str, Any]] = {name: {"type": _types(hints[name])} for name in hints}
    for name, one in said.items():
        properties[name] |= {"description": one.help}
    needed = [one.name for one in fields(kind) if one.default is MISSING and one.default_factory is MISSING]
    schema = {"type": "object", "properties": {**properties, **(more or {})}, "required": [*needed, *needs]}
    return body_described({**schema, "additionalProperties": False})


def body_described(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what OpenAPI is told of a route whose body fits a schema."""
    return {"requestBody": {"required": True, "content": {JSON: {"schema": dict(schema)}}}}


def _types(hint: Any) -> list[str]:  # noqa: ANN401 - any type hint
    return [_TYPES.get(one, "object") for one in get_args(hint) or (hint,)]
