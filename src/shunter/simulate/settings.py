"""What a simulation is asked to do, in the user's words, checked."""

from __future__ import annotations

import math
from typing import Final

from shunter.errors import InputError
from shunter.model.schedule import Settings
from shunter.simulate.checkpoint_path import checkpoint_settings, is_checkpoint
from shunter.simulate.names import DISPATCHES, PLACEMENTS, RESERVE_BY, check_name
from shunter.simulate.native_estimate import estimate_spec
from shunter.simulate.native_policy import policy_spec
from shunter.simulate.policy_file import check_policy_file, python_path
from shunter.simulate.specs import spec_file

NEVER_WAITS: Final = "random-feasible"
"""The policy that goes with one dispatch rule alone."""
MOST_RESERVATIONS: Final = 2**32 - 1
_LONGEST_S: Final = 1e9


def check_settings(
    *,
    policy: str = "fcfs",
    dispatch: str | int | None = None,
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
    if not own_policy and is_checkpoint(policy):
        given = {
            "dispatch": dispatch,
            "placement": placement,
            "estimate": estimate,
            "missing_request": missing_request,
            "reserve_by": reserve_by,
            "kill_at_request": kill_at_request,
            "max_wait_s": max_wait_s,
            "scan_depth": scan_depth,
            "seed": seed,
        }
        return checkpoint_settings(policy, given)
    kind = None if own_policy else _policy_kind(policy)
    if kind == "first-available" and placement not in (None, "first-fit"):
        raise InputError(
            f"policy 'first-available' places first-fit, but placement is {placement!r}; use policy 'fcfs' with it"
        )
    if kind == NEVER_WAITS and dispatch not in (None, "greedy"):
        raise InputError(f"policy {NEVER_WAITS!r} never waits, but dispatch is {str(dispatch)!r}; use 'greedy' with it")
    if not 1 <= scan_depth < 2**32:
        raise InputError(f"--scan-depth (scan_depth) is {scan_depth}; expected 1 to {2**32 - 1}")
    if not 0 <= seed < 2**64:
        raise InputError(f"--seed (seed) is {seed}; expected 0 to {2**64 - 1}")
    if max_wait_s is not None and not 0 <= max_wait_s <= _LONGEST_S:
        raise InputError(f"--max-wait (max_wait_s) is {max_wait_s}; expected 0 to {_LONGEST_S:.0f} seconds")
    return Settings(
        policy=policy,
        dispatch=_check_dispatch(str(_default_dispatch(kind) if dispatch is None else dispatch)),
        placement=check_name("placement", placement or "first-fit", PLACEMENTS),
        estimate=_check_estimate(estimate),
        missing_request=_check_missing_request(str(missing_request)),
        reserve_by=check_name("reserve-by", reserve_by, RESERVE_BY),
        kill_at_request=kill_at_request,
        max_wait_s=max_wait_s,
        scan_depth=scan_depth,
        seed=seed,
    )


def _default_dispatch(kind: str | None) -> str:
    return "greedy" if kind == NEVER_WAITS else "easy"


def _policy_kind(policy: str) -> str | None:
    """Returns which of our policies is meant, however it was given; None for a file of the user's own."""
    if python_path(policy):
        check_policy_file(policy)
        return None
    if _is_no_name(policy):
        expected = "the folder of a run or a checkpoint, FILE.toml or FILE.py"
        raise InputError(f"policy {policy!r}: there is no such folder or file; expected a name, {expected}")
    return policy_spec(policy).kind


def _is_no_name(policy: str) -> bool:
    """Returns whether a policy is given by the path of something that is not there."""
    return "/" in policy.partition("?")[0] and spec_file(policy) is None


def _check_estimate(estimate: str) -> str:
    estimate_spec(estimate)
    return estimate


def _check_dispatch(dispatch: str) -> str:
    if dispatch.isascii() and dispatch.isdigit():
        if int(dispatch) > MOST_RESERVATIONS:
            raise InputError(f"dispatch {dispatch} is too deep; expected 0 to {MOST_RESERVATIONS}, or 'conservative'")
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
