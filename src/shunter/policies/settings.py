"""What a simulation is asked to do, in the user's words, checked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from shunter.errors import InputError
from shunter.model.failures import FailureEvent, check_given
from shunter.model.schedule import Settings
from shunter.policies.checkpoint_path import checkpoint_settings, is_checkpoint
from shunter.policies.names import DISPATCHES, PLACEMENTS, PROGRESS, PYTHON_PLACEMENTS, RESERVE_BY, check_name
from shunter.policies.native_estimate import estimate_spec
from shunter.policies.native_policy import PREEMPTS, policy_spec
from shunter.policies.policy_file import check_policy_file, python_path
from shunter.policies.specs import spec_file

NEVER_WAITS: Final = "random-feasible"
GREEDY: Final = {NEVER_WAITS: "never waits", **dict.fromkeys(PREEMPTS, "starts whatever fits, and stops others for it")}
"""The policies that go with one dispatch rule alone, and why."""
MOST_RESERVATIONS: Final = 2**32 - 1
_LONGEST_S: Final = 1e9
_SHORTEST_S: Final = 0.001
"""The core counts milliseconds."""


def check_settings(
    *,
    policy: str = "fcfs",
    dispatch: str | int | None = None,
    placement: str | None = None,
    estimate: str | None = None,
    missing_request: str | float = "run-time",
    reserve_by: str = "requested",
    kill_at_request: bool = False,
    max_wait_s: float | None = None,
    scan_depth: int = 1000,
    seed: int = 0,
    preemption_overhead_s: float = 0.0,
    preempted_progress: str = "kept",
    min_run_s: float = 0.0,
    failures: str | Sequence[FailureEvent] | None = None,
    mtbf_s: float | None = None,
    mttr_s: float | None = None,
    failed_progress: str = "lost",
    own_policy: bool = False,
    own_placement: bool = False,
) -> Settings:
    """Checks the user's words, whose meaning is written at `shunter.simulation.simulate`.

    The names of a policy and of a placement of the user's own (`own_policy`, `own_placement`) are not looked up among
    ours.

    Raises:
        InputError: A name is unknown, a number is out of range, or two of them contradict each other.
    """
    stops = {
        "preemption_overhead_s": preemption_overhead_s,
        "preempted_progress": preempted_progress,
        "min_run_s": min_run_s,
        "failures": failures,
        "mtbf_s": mtbf_s,
        "mttr_s": mttr_s,
        "failed_progress": failed_progress,
    }
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
        return checkpoint_settings(policy, given | _checked_stops(stops))
    kind = None if own_policy else policy_kind(policy)
    if kind == "first-available" and placement not in (None, "first-fit"):
        raise InputError(
            f"policy 'first-available' places first-fit, but placement is {placement!r}; use policy 'fcfs' with it"
        )
    if kind in GREEDY and dispatch not in (None, "greedy"):
        raise InputError(f"policy {kind!r} {GREEDY[kind]}, but dispatch is {str(dispatch)!r}; use 'greedy' with it")
    if not 1 <= scan_depth < 2**32:
        raise InputError(f"--scan-depth (scan_depth) is {scan_depth}; expected 1 to {2**32 - 1}")
    if not 0 <= seed < 2**64:
        raise InputError(f"--seed (seed) is {seed}; expected 0 to {2**64 - 1}")
    _check_seconds("max_wait_s", max_wait_s)
    return Settings(
        policy=policy,
        dispatch=_check_dispatch(str(_default_dispatch(kind) if dispatch is None else dispatch)),
        placement=placement if placement and own_placement else _check_placement(placement or "first-fit"),
        estimate=_check_estimate(_default_estimate(kind) if estimate is None else estimate),
        missing_request=_check_missing_request(str(missing_request)),
        reserve_by=check_name("reserve-by", reserve_by, RESERVE_BY),
        kill_at_request=kill_at_request,
        max_wait_s=max_wait_s,
        scan_depth=scan_depth,
        seed=seed,
        **_checked_stops(stops),
    )


def _checked_stops(given: dict[str, Any]) -> dict[str, Any]:
    """Returns what is said of jobs that are stopped, by a policy or by failures, having checked it."""
    for name in ("preempted_progress", "failed_progress"):
        check_name(name.replace("_", "-"), given[name], PROGRESS)
    for name in ("preemption_overhead_s", "min_run_s"):
        _check_seconds(name, given[name])
    for name, other in (("mtbf_s", "mttr_s"), ("mttr_s", "mtbf_s")):
        _check_seconds(name, given[name], low=_SHORTEST_S)
        if given[name] is not None and given[other] is None:
            raise InputError(
                f"{_option(name)} is {given[name]:g}, but {_option(other)} is not given; give both or none"
            )
    failures = given["failures"]
    return given | {"failures": None if failures is None else check_given(failures)}


def _check_seconds(name: str, value: float | None, low: float = 0.0) -> None:
    if value is not None and not low <= value <= _LONGEST_S:
        raise InputError(f"{_option(name)} is {value}; expected {low:g} to {_LONGEST_S:.0f} seconds")


def _option(name: str) -> str:
    """Returns what errors call a setting: as an option, and as Python calls it."""
    return f"--{name.removesuffix('_s').replace('_', '-')} ({name})"


def _default_dispatch(kind: str | None) -> str:
    return "greedy" if kind in GREEDY else "easy"


def _default_estimate(kind: str | None) -> str:
    return "history" if kind == "qssf" else "requested"


def _check_placement(placement: str) -> str:
    path = python_path(placement)
    if path is not None:
        if not path.is_file():
            raise InputError(f"placement {placement!r}: there is no such file; expected FILE.py or FILE.py:CLASS")
        return placement
    name, asks, _ = placement.partition("?")
    check_name("placement", name, PLACEMENTS, also=", or a file FILE.py with a placement of your own")
    if name in PYTHON_PLACEMENTS:
        from shunter.policies.placements.specs import placement_spec

        placement_spec(placement)
    elif asks:
        raise InputError(f"placement {placement!r}: {name!r} has no parameters; leave out what follows the name")
    return placement


def policy_kind(policy: str) -> str | None:
    """Returns which of our policies is meant, however it was given; None for a file of the user's own.

    Raises:
        InputError: There is no such policy, or no such file.
    """
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
