"""Sound requests of every kind, for tests and for fuzzing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from shunter.service.kubernetes import prioritize
from shunter.service.service import Service

STATE: Final[dict[str, Any]] = {
    "schema": "shunter.state/1",
    "now_s": 1000,
    "cluster": '[[nodes]]\ncount = 2\ncores = 8\ngpus = 2\ngpu_type = "a"\n',
    "jobs": [
        {"job_id": 1, "state": "running", "submit_s": 0, "start_s": 0, "requested_s": 2000, "tasks": 8,
         "placed": [[0, 8]]},
        {"job_id": 5, "state": "running", "submit_s": 0, "start_s": 10, "requested_s": 2000, "gpus_per_task": 1,
         "placed": [[1, 1]], "devices": [[2, 1000]]},
        {"job_id": 2, "state": "waiting", "submit_s": 700, "requested_s": 900, "tasks": 2, "user": "a", "priority": 3},
        {"job_id": 6, "state": "completed", "submit_s": 100, "start_s": 110, "end_s": 300, "requested_s": 900},
        {"job_id": 3, "state": "waiting", "submit_s": 800, "requested_s": 500, "memory_mb_per_task": 5},
        {"job_id": 4, "state": "held", "submit_s": 800, "requested_s": 500, "depends_on": "afterok:1"},
    ],
    "down": [],
    "stops": [{"job": 2, "start_s": 720, "end_s": 730, "by_failure": True}],
}  # fmt: skip
"""Of everything that a state may hold, a little."""
SQUEUE: Final[dict[str, Any]] = {
    "jobs": [
        {"job_id": 1, "job_state": "RUNNING", "submit_time": 900, "start_time": 1000, "time_limit": 60, "cpus": 4,
         "nodes": "n1", "node_count": 1, "priority": 1, "partition": "main", "user_name": "ann"},
        {"job_id": 2, "job_state": "PENDING", "submit_time": 1000, "eligible_time": 1000, "time_limit": 60, "cpus": 4,
         "node_count": 1, "priority": 9, "partition": "main", "user_name": "ann", "state_reason": "Resources"},
        {"job_id": 3, "job_state": "PENDING", "submit_time": 1100, "eligible_time": 1100, "time_limit": 5, "cpus": 1,
         "node_count": 1, "priority": 8, "partition": "main", "user_name": "bob", "state_reason": "Priority"},
        {"job_id": 4, "job_state": "PENDING", "submit_time": 1100, "eligible_time": 1100, "time_limit": 5, "cpus": 1,
         "node_count": 1, "priority": 0, "partition": "main", "user_name": "bob", "state_reason": "JobHeldUser"},
        {"job_id": 5, "job_state": "PENDING", "submit_time": 1100, "eligible_time": 1100, "time_limit": 5, "cpus": 99,
         "node_count": 1, "priority": 7, "partition": "main", "user_name": "bob", "state_reason": "Resources"},
    ]
}  # fmt: skip
SINFO: Final[dict[str, Any]] = {
    "nodes": [
        {"name": name, "cpus": 4, "real_memory": 1000, "partitions": ["main"], "state": "idle"} for name in ("n1", "n2")
    ]
}


def node(name: str, cpu: str = "4", memory: str = "16Gi", gpus: int = 0) -> dict[str, Any]:
    """Returns a v1.Node as the API server writes one, with the fields that matter here and some others."""
    has = {"cpu": cpu, "memory": memory, "pods": "110", "ephemeral-storage": "95551679124", "hugepages-1Gi": "0"}
    more = {"nvidia.com/gpu": str(gpus)} if gpus else {}
    labels = {"kubernetes.io/hostname": name, **({"nvidia.com/gpu.product": "NVIDIA-A100"} if gpus else {})}
    return {
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": labels, "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"podCIDR": "10.244.0.0/24", "taints": None},
        "status": {
            "capacity": {**has, **more},
            "allocatable": {**has, **more},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def pod(*requests: dict[str, str], before: tuple[dict[str, str], ...] = ()) -> dict[str, Any]:
    """Returns a v1.Pod whose containers ask for this."""

    def containers(asked: tuple[dict[str, str], ...]) -> list[dict[str, Any]]:
        return [{"name": f"c{place}", "image": "x", "resources": {"requests": one}} for place, one in enumerate(asked)]

    return {
        "metadata": {"name": "web-0", "namespace": "default", "uid": "7b"},
        "spec": {"containers": containers(requests), "initContainers": containers(before) or None},
        "status": {"phase": "Pending", "qosClass": "Burstable"},
    }


def requests_to(service: Service) -> dict[str, tuple[Callable[[dict[str, Any]], object], dict[str, Any]]]:
    """Returns, by name, what answers a kind of request, and a sound one."""
    slurm = {"format": "slurm", "squeue": SQUEUE, "sinfo": SINFO, "now_s": 2000}
    arguments = {"Pod": pod({"cpu": "1"}), "Nodes": {"items": [node("a"), node("b", gpus=2)]}, "NodeNames": None}
    return {
        "decide": (service.decide, {"policy": "sjf", "snapshot": STATE}),
        "decide slurm": (service.decide, {"policy": "sjf", "snapshot": slurm}),
        "explain": (service.explain, {"policy": "sjf", "snapshot": STATE, "job": 2, "top": 3}),
        "eta": (
            service.eta,
            {"policy": "sjf", "snapshot": STATE, "futures": 3, "seed": 1, "new": {"time_s": 60, "cores": 2}},
        ),
        "extender": (lambda content: prioritize(content, service.referee("sjf")), arguments),
    }
