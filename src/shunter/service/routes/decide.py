"""``/v1/decide``, ``/v1/eta`` and ``/v1/explain``: what is asked about a snapshot or a log."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from shunter.service.refusals import json_bytes
from shunter.service.requests import DecideRequest, EtaRequest, ExplainRequest, parse_body
from shunter.service.routes import replies
from shunter.service.routes.replies import SNAPSHOT_SCHEMA, body_of, described, reply, service_of, worked_out
from shunter.simulation.asked_job import AskedJob

router = replies.router()
SMALL: Final = 4096
"""A body up to this many bytes is read at once; it can only name a snapshot that is held already."""
WITH_SNAPSHOT: Final = {"snapshot": SNAPSHOT_SCHEMA}
NEW_JOB: Final = described(AskedJob)["requestBody"]["content"]["application/json"]["schema"]


@router.post(
    "/v1/decide",
    summary="What a policy decides: order, placements, reasons",
    openapi_extra=described(DecideRequest, WITH_SNAPSHOT, ("snapshot",)),
)
async def decide(request: Request) -> Response:
    """Returns who would start now and where, the order of those that wait, and why each waits."""
    body, service = await body_of(request), service_of(request)
    if len(body) <= SMALL:
        content = parse_body(body)
        answer = service.decide_quickly(content)
        if answer is not None:
            return reply(answer)
    told = await service.work.run(lambda: json_bytes(service.decide(parse_body(body))))
    return Response(told, media_type="application/json")


@router.post(
    "/v1/eta",
    summary="When waiting jobs start",
    openapi_extra=described(EtaRequest, {**WITH_SNAPSHOT, "new": NEW_JOB}),
)
async def eta(request: Request) -> Response:
    """Returns the median and an 80 % interval for each job that waits, and for one that is not submitted yet."""
    return await worked_out(request, service_of(request).eta)


@router.post(
    "/v1/explain", summary="Why a job waits, or waited", openapi_extra=described(ExplainRequest, WITH_SNAPSHOT)
)
async def explain(request: Request) -> Response:
    """Returns a job's place in line and what it waits for; of a job of a log, who kept it waiting."""
    return await worked_out(request, service_of(request).explain)
