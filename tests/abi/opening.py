"""Small clusters, tables and configurations, handed to the core without the checks of the Python layers above it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shunter._core import ffi, lib
from shunter.native import Handle, check, opened, pointer

UNKNOWN = -1
STRICT, RESERVE, COMMITTED, COMMITTED_BACKFILL = range(4)
FULL_SPEED = 1000
EXTERNAL = 13
LEARNED = 14


def integers(values: Sequence[int]) -> NDArray[np.int64]:
    """Returns a column of the core's."""
    return np.array(values, dtype=np.int64)


def open_cluster(
    cores_milli: Sequence[int],
    memory_mb: Sequence[int] | None = None,
    gpus: Sequence[int] | None = None,
    partition: Sequence[int] | None = None,
    *,
    gpu_type: Sequence[int] | None = None,
    speed_milli: Sequence[int] | None = None,
    rack: Sequence[int] | None = None,
    switch: Sequence[int] | None = None,
    mix: int = 0,
    kind_micro: Sequence[Sequence[int]] | None = None,
) -> Handle:
    """Opens a cluster; what is not given is untracked, not there, or of full speed."""
    nodes = len(cores_milli)
    columns = [
        integers(cores_milli),
        integers(memory_mb or [UNKNOWN] * nodes),
        integers(gpus or [0] * nodes),
        integers(partition or [UNKNOWN] * nodes),
        integers(gpu_type or [UNKNOWN] * nodes),
        integers(speed_milli or [FULL_SPEED] * nodes),
        integers(rack or [UNKNOWN] * nodes),
        integers(switch or [UNKNOWN] * nodes),
    ]
    speeds = ffi.NULL
    if kind_micro is not None:
        micro = np.array(kind_micro, dtype=np.int64)
        kinds, types = micro.shape
        speeds = ffi.new("ShunterSpeeds *", {"kind_micro": pointer(micro), "kinds": kinds, "types": types})
    return opened(lib.shunter_cluster_open, *map(pointer, columns), nodes, mix, speeds, ffi.NULL)


def open_jobs(
    submit_ms: Sequence[int],
    run_ms: Sequence[int],
    cores_milli: Sequence[int],
    *,
    tasks: Sequence[int] | None = None,
    gpu_milli: Sequence[int] | None = None,
    partition: Sequence[int] | None = None,
    user: Sequence[int] | None = None,
    logged_wait_ms: Sequence[int] | None = None,
    gpu_types: Sequence[int] | None = None,
    kind: Sequence[int] | None = None,
    conditions: Any = ffi.NULL,  # noqa: ANN401 - a structure of the core's
) -> Handle:
    """Opens a table of jobs that request what they run; what is not given is 1 task, unknown, nothing, or any."""
    jobs = len(submit_ms)
    columns = [
        integers(submit_ms),
        integers(run_ms),
        integers(run_ms),
        integers(tasks or [1] * jobs),
        integers(cores_milli),
        integers([UNKNOWN] * jobs),
        integers(gpu_milli or [0] * jobs),
        integers(partition or [UNKNOWN] * jobs),
        integers(user or [UNKNOWN] * jobs),
        integers(logged_wait_ms or [UNKNOWN] * jobs),
        integers(gpu_types or [0] * jobs),
    ]
    kinds = ffi.NULL if kind is None else pointer(integers(kind))
    return opened(lib.shunter_jobs_open, *map(pointer, columns), kinds, ffi.NULL, ffi.NULL, conditions, jobs)


def open_policy(kind: str, hosts: int = 2) -> Handle:
    """Opens a policy that chooses jobs or hosts, with some weights."""
    layout: dict[str, object] = {"kind": kind, "num_hosts": hosts, "window": 2}
    network = {"kind": "hosts" if kind == "pick-host" else "kernel", "hidden": [2]}
    about = json.dumps({"layout": layout, "network": network}).encode()
    policy = opened(lib.shunter_policy_open, about, len(about))
    sizes = [ffi.new("uintptr_t *") for _ in range(3)]
    check(lib.shunter_policy_sizes(policy.number, *sizes))
    weights = np.sin(np.arange(sizes[2][0])).astype(np.float32)
    check(lib.shunter_policy_set(policy.number, pointer(weights), len(weights), pointer(np.array([0.0, 0.0, 1.0]))))
    return policy


PLAIN = {
    "dispatch": RESERVE,
    "reservation_depth": 1,
    "keep_progress": 1,
    "missing_request_ms": UNKNOWN,
    "max_wait_ms": UNKNOWN,
    "scan_depth": 1000,
    "mtbf_ms": UNKNOWN,
    "mttr_ms": UNKNOWN,
}
"""First come, first served, EASY; nothing fails."""

Answer = Sequence[tuple[int, int]]
"""Nodes, and how many tasks each gets."""
PLACER = "uintptr_t(uint64_t, struct ShunterScene const *, uint32_t *, uint32_t *, uintptr_t)"


class Config:
    """A configuration for the core, and the arrays and the function that it points to."""

    def __init__(
        self,
        policy_parameters: Sequence[float] = (),
        estimate_parameters: Sequence[float] = (),
        node_events: Sequence[tuple[int, int, int]] = (),
        placer: Callable[[Any], Answer] | None = None,
        /,
        **changes: int,
    ) -> None:
        """Makes the plain configuration with these changes; node events are (time, node, whether it is up)."""
        self._parameters = [np.array(values, dtype=np.float64) for values in (policy_parameters, estimate_parameters)]
        policy, estimate = self._parameters
        columns = list(zip(*node_events, strict=True)) or [(), (), ()]
        types = (np.int64, np.uint32, np.uint8)
        self._events = [np.array(column, dtype) for column, dtype in zip(columns, types, strict=True)]
        self._ask = placer
        self._callback = ffi.callback(PLACER, self._answer) if placer else ffi.NULL
        event_ms, event_node, event_up = map(pointer, self._events)
        self.pointer = ffi.new(
            "ShunterConfig *",
            {
                **PLAIN,
                **changes,
                "policy_parameters": pointer(policy),
                "policy_parameters_length": len(policy),
                "estimate_parameters": pointer(estimate),
                "estimate_parameters_length": len(estimate),
                "node_event_ms": event_ms,
                "node_event_node": event_node,
                "node_event_up": event_up,
                "node_events_length": len(node_events),
                "placer": self._callback,
            },
        )

    def _answer(self, _context: int, told: Any, nodes: Any, tasks: Any, capacity: int) -> int:  # noqa: ANN401
        pairs = self._ask(told) if self._ask else ()
        for place, (node, count) in enumerate(pairs[:capacity]):
            nodes[place], tasks[place] = node, count
        return len(pairs)
