"""Checked settings in the core's terms: numbers for names, and arrays of parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shunter.native import ffi, pointer
from shunter.simulate.names import PLACEMENTS
from shunter.simulate.native_estimate import NativeEstimate, native_estimate
from shunter.simulate.native_policy import CODES, GIVEN, NativePolicy, native_policy
from shunter.simulate.settings import MOST_RESERVATIONS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.model.schedule import Settings
    from shunter.model.workload import Workload

PLACEMENT_CODES: Final = {name: code for code, name in enumerate(PLACEMENTS)}
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
    *,
    policy: NativePolicy | None = None,
    estimate: NativeEstimate | None = None,
    keep_progress: bool = True,
    preemption_overhead_s: float = 0.0,
) -> CoreConfig:
    """Returns the core's configuration for checked settings on a workload.

    Args:
        settings: Checked settings, from `shunter.simulate.check_settings`.
        workload: The jobs that the core is handed.
        policy: What takes the place of the settings' policy, if anything does.
        estimate: What takes the place of their estimate.
        keep_progress: Whether a preempted job goes on from where it was.
        preemption_overhead_s: What each start after a preemption costs.
    """
    dispatch, depth = DISPATCH_CODES.get(settings.dispatch) or (1, int(settings.dispatch))
    missing = settings.missing_request
    policy = policy or native_policy(settings.policy, workload)
    estimate = estimate or native_estimate(settings.estimate)
    config = ffi.new(
        "ShunterConfig *",
        {
            "policy": policy.code,
            "dispatch": dispatch,
            "reservation_depth": depth,
            "placement": PLACEMENT_CODES[settings.placement],
            "estimate": estimate.code,
            "reserve_by_estimate": settings.reserve_by == "estimate",
            "kill_at_request": settings.kill_at_request,
            "keep_progress": keep_progress,
            "missing_request_ms": -1 if missing == "run-time" else round(float(missing) * 1000),
            "max_wait_ms": -1 if settings.max_wait_s is None else round(settings.max_wait_s * 1000),
            "preemption_overhead_ms": round(preemption_overhead_s * 1000),
            "scan_depth": settings.scan_depth,
            "seed": settings.seed,
            "policy_parameters": pointer(policy.parameters),
            "policy_parameters_length": len(policy.parameters),
            "estimate_parameters": pointer(estimate.parameters),
            "estimate_parameters_length": len(estimate.parameters),
        },
    )
    return CoreConfig(config, policy, estimate)
