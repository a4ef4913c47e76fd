"""What a simulation is asked to do, from the user's words to the core's numbers."""

from __future__ import annotations

import math
from typing import Any, Final

from shunter.errors import InputError
from shunter.model.schedule import Settings
from shunter.native import ffi
from shunter.simulate.names import DISPATCHES, ESTIMATES, PLACEMENTS, POLICIES, RESERVE_BY, check_name
from shunter.simulate.policy_file import check_policy_file, policy_path

_POLICY_CODES: Final = {
    "fcfs": 0, "fifo": 0, "first-available": 0,
    "sjf": 1, "smallest": 2, "f1": 3, "f2": 4, "f3": 5, "f4": 6, "random": 7,
}  # fmt: skip
GIVEN_SCORES: Final = 8
"""The core's number for a policy that brings its own scores."""
_PLACEMENT_CODES: Final = {name: code for code, name in enumerate(PLACEMENTS)}
_ESTIMATE_CODES: Final = {name: code for code, name in enumerate(ESTIMATES)}
_ALL_RESERVE: Final = 2**32 - 1
_DISPATCH_CODES: Final = {
    "strict": (0, 0), "greedy": (1, 0), "easy": (1, 1), "conservative": (1, _ALL_RESERVE),
    "committed": (2, 0), "committed-backfill": (3, 0),
}  # fmt: skip
_LONGEST_S: Final = 1e9


def check_settings(
    *,
    policy: str = "fcfs",
    dispatch: str | int = "easy",
    placement: str | None = None,
    estimate: str = "requested",
    missing_request: str | float = "run-time",
    reserve_by: str = "requested",
    kill_at_request: bool = False,
    max_wait_s: float | None = None,
    scan_depth: int = 1000,
    seed: int = 0,
    own_policy: bool = False,
) -> Settings:
    """Checks the user's words, whose meaning is written at `shunter.simulate.simulate`.

    The name of a policy of the user's own (`own_policy`) is not looked up among ours.

    Raises:
        InputError: A name is unknown, a number is out of range, or two of them contradict each other.
    """
    if not own_policy:
        _check_policy(policy)
    if policy == "first-available" and placement not in (None, "first-fit"):
        raise InputError(
            f"policy 'first-available' places first-fit, but placement is {placement!r}; use policy 'fcfs' with it"
        )
    if not 1 <= scan_depth < 2**32:
        raise InputError(f"--scan-depth (scan_depth) is {scan_depth}; expected 1 to {2**32 - 1}")
    if not 0 <= seed < 2**64:
        raise InputError(f"--seed (seed) is {seed}; expected 0 to {2**64 - 1}")
    if max_wait_s is not None and not 0 <= max_wait_s <= _LONGEST_S:
        raise InputError(f"--max-wait (max_wait_s) is {max_wait_s}; expected 0 to {_LONGEST_S:.0f} seconds")
    return Settings(
        policy=policy,
        dispatch=_check_dispatch(str(dispatch)),
        placement=check_name("placement", placement or "first-fit", PLACEMENTS),
        estimate=check_name("estimate", estimate, ESTIMATES),
        missing_request=_check_missing_request(str(missing_request)),
        reserve_by=check_name("reserve-by", reserve_by, RESERVE_BY),
        kill_at_request=kill_at_request,
        max_wait_s=max_wait_s,
        scan_depth=scan_depth,
        seed=seed,
    )


def _check_policy(policy: str) -> None:
    if policy_path(policy):
        check_policy_file(policy)
    else:
        check_name("policy", policy, POLICIES, also=", or a file FILE.py with a policy of your own")


def _check_dispatch(dispatch: str) -> str:
    if dispatch.isascii() and dispatch.isdigit():
        if int(dispatch) > _ALL_RESERVE:
            raise InputError(f"dispatch {dispatch} is too deep; expected 0 to {_ALL_RESERVE}, or 'conservative'")
        return dispatch
    return check_name("dispatch", dispatch, DISPATCHES, also=", or a number of reservations")


def _check_missing_request(value: str) -> str:
    if value == "run-time":
        return value
    try:
        seconds = float(value)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds <= _LONGEST_S:
        expected = f"'run-time', or 0 to {_LONGEST_S:.0f} seconds"
        raise InputError(f"--missing-request (missing_request) is {value!r}; expected {expected}")
    return value


def core_config(settings: Settings, *, own_scores: bool, keep_progress: bool, preemption_overhead_s: float) -> Any:  # noqa: ANN401
    """Returns the core's configuration for checked settings."""
    dispatch, depth = _DISPATCH_CODES.get(settings.dispatch) or (1, int(settings.dispatch))
    missing = settings.missing_request
    return ffi.new(
        "ShunterConfig *",
        {
            "policy": GIVEN_SCORES if own_scores else _POLICY_CODES.get(settings.policy, 0),
            "dispatch": dispatch,
            "reservation_depth": depth,
            "placement": _PLACEMENT_CODES[settings.placement],
            "estimate": _ESTIMATE_CODES[settings.estimate],
            "reserve_by_estimate": settings.reserve_by == "estimate",
            "kill_at_request": settings.kill_at_request,
            "keep_progress": keep_progress,
            "missing_request_ms": -1 if missing == "run-time" else round(float(missing) * 1000),
            "max_wait_ms": -1 if settings.max_wait_s is None else round(settings.max_wait_s * 1000),
            "preemption_overhead_ms": round(preemption_overhead_s * 1000),
            "scan_depth": settings.scan_depth,
            "seed": settings.seed,
        },
    )
