"""One way to schedule in the core's terms: numbers for names, and arrays of parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shunter.model.failures import given_failures
from shunter.native import ffi, pointer
from shunter.policies.native import CorePolicy
from shunter.simulation.placers import AskedPlacer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.model.cluster import Cluster
    from shunter.model.settings import Settings
    from shunter.model.workload import Workload
    from shunter.policies.estimates import Estimate
    from shunter.policies.scheduler import Scheduler


@dataclass(frozen=True)
class CoreConfig:
    """The core's configuration; the arrays that it points to live as long as this object does."""

    pointer: Any
    policy: CorePolicy
    estimate: Estimate
    node_events: tuple[NDArray[Any], ...]
    asked: AskedPlacer | None
    """The placement that lives in Python, if there is one."""

    @property
    def scores(self) -> NDArray[np.float64]:
        """A number for each job of the workload, where the policy wants them."""
        return self.policy.scores


def core_config(
    scheduler: Scheduler, workload: Workload, cluster: Cluster, *, policy: CorePolicy | None = None
) -> CoreConfig:
    """Returns the core's configuration for one way to schedule a workload.

    Args:
        scheduler: From `shunter.policies.scheduler.resolve_scheduler`.
        workload: The jobs that the core is handed.
        cluster: The nodes that it is handed.
        policy: What takes the place of the scheduler's policy, if anything does: scores of the user's own.
    """
    if policy is None:
        order = scheduler.policy.order
        policy = CorePolicy.given(None) if order is None else order.for_core(workload)
    estimate, make_placer = scheduler.estimate, scheduler.placement.make_placer
    asked = None if make_placer is None else AskedPlacer(make_placer(), workload, cluster)
    events = _node_events(scheduler.settings, cluster)
    config = ffi.new(
        "ShunterConfig *",
        {
            **scheduler.settings.core_fields(),
            "policy": policy.code,
            "policy_parameters": pointer(policy.parameters),
            "policy_parameters_length": len(policy.parameters),
            "dispatch": scheduler.dispatch.code,
            "reservation_depth": scheduler.dispatch.reservations,
            "placement": scheduler.placement.code,
            "estimate": estimate.code,
            "estimate_parameters": pointer(estimate.parameters),
            "estimate_parameters_length": len(estimate.parameters),
            "node_event_ms": pointer(events[0]),
            "node_event_node": pointer(events[1]),
            "node_event_up": pointer(events[2]),
            "node_events_length": len(events[0]),
            "placer": ffi.NULL if asked is None else asked.callback,
        },
    )
    return CoreConfig(config, policy, estimate, events, asked)


def _node_events(settings: Settings, cluster: Cluster) -> tuple[NDArray[Any], ...]:
    """Returns when which nodes go down or come up."""
    if settings.failures is None:
        return np.empty(0, np.int64), np.empty(0, np.uint32), np.empty(0, np.uint8)
    failures = given_failures(settings.failures, cluster)
    return failures.time_ms, failures.node.astype(np.uint32), failures.up.astype(np.uint8)
