"""A pod and candidate nodes, as kube-scheduler tells an extender of them (``ExtenderArgs`` of its v1 interface).

The nodes are those on which the pod fits: kube-scheduler has looked at what runs there. It tells how large they are and
not what is free, so that the scores rank them by size and type, as the placement of the policy would choose.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from shunter.errors import InputError
from shunter.model.cluster import Cluster, Node
from shunter.model.fitting import can_ever_fit
from shunter.model.schedule import Phase
from shunter.model.snapshot import LiveJob, Snapshot
from shunter.model.state import State
from shunter.model.workload import CORES_LIMIT, Workload
from shunter.service.snapshots import Held

if TYPE_CHECKING:
    from shunter.service.referee import Referee

WHERE: Final = "ExtenderArgs"
MOST_SCORE: Final = 10
"""The best score of a node, by the interface."""
MOST_NODES: Final = 20_000
GPU: Final = "nvidia.com/gpu"
GPU_TYPE: Final = "nvidia.com/gpu.product"
_QUANTITY: Final = re.compile(r"([0-9]{1,18}(?:\.[0-9]{0,9})?)(m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi|)")
_UNITS: Final = {
    "m": 1e-3, "": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15,
    **{f"{letter}i": 2.0 ** (10 * place) for place, letter in enumerate("KMGTP", start=1)},
}  # fmt: skip
_DAY_S: Final = 86_400.0
"""How long a pod is taken to run; a placement of one job does not look at it."""


def prioritize(content: Mapping[str, Any], referee: Referee) -> list[dict[str, Any]]:
    """Returns a ``HostPriorityList``: the placement's first choice has 10, its next 9, and so on.

    Raises:
        InputError: It is no ``ExtenderArgs``.
    """
    # Go's decoder does not mind the case of keys, and versions differ in it.
    told = {name.lower(): value for name, value in content.items()}
    nodes = [_node(one) for one in _items(told)]
    held = _held(_needs(_object(told.get("pod"), "Pod")), nodes)
    ranked = [] if held is None else _ranking(held, referee)
    scores = {node: MOST_SCORE - place for place, node in enumerate(ranked)}
    return [{"Host": node.name, "Score": scores.get(place, 0)} for place, node in enumerate(nodes)]


def _items(told: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    if told.get("nodes") is None:
        raise InputError(f"{WHERE}: there are no Nodes; set nodeCacheCapable: false, so that nodes are told with sizes")
    items = _object(told["nodes"], "Nodes").get("items")
    if not isinstance(items, list) or not 0 < len(items) <= MOST_NODES:
        raise InputError(f"{WHERE}: Nodes.items is no list of 1 to {MOST_NODES} nodes")
    return [_object(one, "a node") for one in items]


def _node(told: Mapping[str, Any]) -> Node:
    about = _object(told.get("metadata"), "a node's metadata")
    has = _object(_object(told.get("status"), "a node's status").get("allocatable"), "a node's allocatable")
    labels = about.get("labels")
    gpus = int(_amount(has, GPU))
    gpu_type = labels.get(GPU_TYPE) if isinstance(labels, dict) else None
    name = about.get("name")
    if not isinstance(name, str) or not name:
        raise InputError(f"{WHERE}: a node has no name")
    return Node(
        name=name,
        cores=min(_amount(has, "cpu"), CORES_LIMIT),
        memory_mb=int(_amount(has, "memory") / 1e6) or None,
        gpus=gpus,
        gpu_type=gpu_type if gpus and isinstance(gpu_type, str) and gpu_type else None,
    )


def _needs(pod: Mapping[str, Any]) -> dict[str, float]:
    """Returns what a pod asks for: all its containers together, or the largest that runs before them."""
    spec = _object(pod.get("spec"), "Pod.spec")

    def asked(key: str, name: str) -> list[float]:
        several = spec.get(key) or []
        if not isinstance(several, list):
            raise InputError(f"{WHERE}: Pod.spec.{key} is no list")
        wanted = [_object(_object(one, "a container").get("resources") or {}, "resources") for one in several]
        return [_amount(_object(one.get("requests") or one.get("limits") or {}, "requests"), name) for one in wanted]

    return {
        name: max([sum(asked("containers", name)), *asked("initContainers", name)]) for name in ("cpu", "memory", GPU)
    }


def _held(needs: Mapping[str, float], nodes: Sequence[Node]) -> Held | None:
    """Returns empty nodes and one job that waits; None if it fits on none, as a pod that waits for room may not."""
    row = {
        "job_id": 1,
        "submit_s": 0.0,
        "run_s": 0.0,
        "requested_s": _DAY_S,
        "tasks": 1,
        "cores_per_task": min(needs["cpu"], CORES_LIMIT),
        "memory_mb_per_task": needs["memory"] / 1e6,
        "gpus_per_task": min(needs[GPU], CORES_LIMIT),
    }
    workload = Workload.from_frame(pl.DataFrame([row]), name="pod", content_sha256="pod")
    cluster = Cluster.from_nodes(tuple(nodes), "candidates")
    if not can_ever_fit(workload.jobs, cluster)[0]:
        return None
    snapshot = Snapshot.live(0.0, [LiveJob(Phase.WAITING)], [False] * len(nodes))
    return Held(State(workload, cluster, snapshot))


def _ranking(held: Held, referee: Referee) -> list[int]:
    """Returns the nodes that the placement chooses, each without those before it, as many as get a score."""
    found: list[int] = []
    state = held.state
    while len(found) < min(MOST_SCORE, len(held.node_names)):
        down = state.snapshot.down.copy()
        down[found] = 1
        left = Held(replace(state, snapshot=replace(state.snapshot, down=down)))
        ruling = referee.rule(left)
        if ruling.decided is None or not ruling.decided.arrays.starts:
            break
        found.append(int(np.asarray(ruling.decided.arrays.nodes)[0]))
    return found


def _amount(told: Mapping[str, Any], name: str) -> float:
    """Returns a quantity: ``500m`` is 0.5, ``4Gi`` is 2³²."""
    given = told.get(name, 0)
    match = _QUANTITY.fullmatch(str(given))
    if match is None:
        raise InputError(f"{WHERE}: {name} is {str(given)[:40]!r}; expected a quantity such as 500m or 4Gi")
    return float(match[1]) * _UNITS[match[2]]


def _object(value: object, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{WHERE}: {what} is no object")
    return value
