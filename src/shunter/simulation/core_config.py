"""Checked settings in the core's terms: numbers for names, and arrays of parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shunter.model.failures import given_failures
from shunter.native import ffi, pointer
from shunter.policies.native_estimate import NativeEstimate, native_estimate
from shunter.policies.native_policy import CODES, GIVEN, NativePolicy, native_policy
from shunter.policies.settings import MOST_RESERVATIONS
from shunter.simulation.placers import AskedPlacer, asked_placer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.model.cluster import Cluster
    from shunter.model.schedule import Settings
    from shunter.model.workload import Workload
    from shunter.policies.placements.placer import Placer

PLACEMENT_CODES: Final = {
    "first-fit": 0, "best-fit": 1, "worst-fit": 2, "pack": 3, "spread": 4, "random": 5, "fastest": 6,
    "slowest-that-fits": 7, "tiered-defrag": 8, "tiered-balance": 9, "tiered-lex": 10, "fgd": 11, "topology": 12,
}  # fmt: skip
"""The core's numbers for placements."""
EXTERNAL: Final = 13
"""The core's number for a placement that lives in Python."""
DISPATCH_CODES: Final = {
    "strict": (0, 0), "greedy": (1, 0), "easy": (1, 1), "conservative": (1, MOST_RESERVATIONS),
    "committed": (2, 0), "committed-backfill": (3, 0),
}  # fmt: skip
"""The core's numbers for dispatch rules, and how many jobs hold reservations."""


@dataclass(frozen=True)
class CoreConfig:
    """The core's configuration; the arrays that it points to live as long as this object does."""

    pointer: Any
    policy: NativePolicy
    estimate: NativeEstimate
    node_events: tuple[NDArray[Any], ...]
    asked: AskedPlacer | None
    """The placement that lives in Python, if there is one."""

    @property
    def scores(self) -> NDArray[np.float64]:
        """A number for each job of the workload, where the policy wants them."""
        return self.policy.scores


def own_policy(scores: NDArray[np.float64] | None) -> NativePolicy:
    """Returns what the core is told of a policy of the user's own: its scores; nothing if it decides at each pass."""
    if scores is None:
        return NativePolicy(CODES["fcfs"], np.empty(0), np.empty(0))
    return NativePolicy(GIVEN, np.empty(0), np.ascontiguousarray(scores, dtype=np.float64))


def core_config(
    settings: Settings,
    workload: Workload,
    cluster: Cluster,
    *,
    policy: NativePolicy | None = None,
    estimate: NativeEstimate | None = None,
    placer: Placer | None = None,
) -> CoreConfig:
    """Returns the core's configuration for checked settings on a workload.

    Args:
        settings: Checked settings, from `shunter.policies.settings`.
        workload: The jobs that the core is handed.
        cluster: The nodes that it is handed.
        policy: What takes the place of the settings' policy, if anything does.
        estimate: What takes the place of their estimate.
        placer: What takes the place of their placement.
    """
    dispatch, depth = DISPATCH_CODES.get(settings.dispatch) or (1, int(settings.dispatch))
    missing = settings.missing_request
    policy = policy or native_policy(settings.policy, workload)
    estimate = estimate or native_estimate(settings.estimate)
    asked = asked_placer(settings.placement, placer, workload, cluster)
    events = _node_events(settings, cluster)
    config = ffi.new(
        "ShunterConfig *",
        {
            "policy": policy.code,
            "dispatch": dispatch,
            "reservation_depth": depth,
            "placement": PLACEMENT_CODES[settings.placement] if asked is None else EXTERNAL,
            "estimate": estimate.code,
            "reserve_by_estimate": settings.reserve_by == "estimate",
            "kill_at_request": settings.kill_at_request,
            "keep_progress": settings.preempted_progress == "kept",
            "missing_request_ms": -1 if missing == "run-time" else round(float(missing) * 1000),
            "max_wait_ms": -1 if settings.max_wait_s is None else round(settings.max_wait_s * 1000),
            "preemption_overhead_ms": round(settings.preemption_overhead_s * 1000),
            "scan_depth": settings.scan_depth,
            "seed": settings.seed,
            "policy_parameters": pointer(policy.parameters),
            "policy_parameters_length": len(policy.parameters),
            "estimate_parameters": pointer(estimate.parameters),
            "estimate_parameters_length": len(estimate.parameters),
            "minimum_run_ms": round(settings.min_run_s * 1000),
            "mtbf_ms": _milliseconds(settings.mtbf_s),
            "mttr_ms": _milliseconds(settings.mttr_s),
            "failure_keeps_progress": settings.failed_progress == "kept",
            "node_event_ms": pointer(events[0]),
            "node_event_node": pointer(events[1]),
            "node_event_up": pointer(events[2]),
            "node_events_length": len(events[0]),
            "placer": ffi.NULL if asked is None else asked.callback,
        },
    )
    return CoreConfig(config, policy, estimate, events, asked)


def _milliseconds(seconds: float | None) -> int:
    return -1 if seconds is None else max(1, round(seconds * 1000))


def _node_events(settings: Settings, cluster: Cluster) -> tuple[NDArray[Any], ...]:
    """Returns when which nodes go down or come up."""
    if settings.failures is None:
        return np.empty(0, np.int64), np.empty(0, np.uint32), np.empty(0, np.uint8)
    failures = given_failures(settings.failures, cluster)
    return failures.time_ms, failures.node.astype(np.uint32), failures.up.astype(np.uint8)
