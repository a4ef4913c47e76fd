"""``/extender/prioritize``: kube-scheduler asks which of its candidate nodes a pod should get."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from shunter.service.kubernetes import prioritize as prioritized
from shunter.service.routes import replies
from shunter.service.routes.replies import body_described, service_of, worked_out

router = replies.router()
ARGUMENTS = {
    "type": "object",
    "properties": {
        "Pod": {"type": "object", "description": "The pod, a v1.Pod."},
        "Nodes": {"type": "object", "description": "The candidates, a v1.NodeList; set nodeCacheCapable: false."},
    },
    "required": ["Pod", "Nodes"],
}


@router.post(
    "/extender/prioritize", summary="Scores of nodes for kube-scheduler", openapi_extra=body_described(ARGUMENTS)
)
async def prioritize(request: Request) -> Response:
    """Takes ExtenderArgs and returns a HostPriorityList, by the placement of the first policy."""
    service = service_of(request)
    first = next(iter(service.referees.values()))
    return await worked_out(request, lambda content: prioritized(content, first))
