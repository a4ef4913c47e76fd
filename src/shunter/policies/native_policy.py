"""Policies in the core's terms: a number, parameters, and what the core cannot know by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from shunter.errors import InputError
from shunter.policies.names import POLICIES
from shunter.policies.specs import Spec, read_spec

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.model.workload import Workload

WEEK_S: Final = 604_800.0
INFINITE: Final = float("inf")

PARAMETERS: Final[dict[str, dict[str, float]]] = {
    "hybrid": {"aging": 1.0},
    "fair-share": {"half_life_s": WEEK_S},
    "multifactor": {
        "age": 1000.0,
        "size": 1000.0,
        "fair_share": 1000.0,
        "partition": 0.0,
        "qos": 0.0,
        "priority": 0.0,
        "max_age_s": WEEK_S,
        "half_life_s": WEEK_S,
        "favor_small": 0.0,
    },
    "linear": {
        "estimate": 1.0,
        "cores": 0.0,
        "wait": 0.0,
        "wait_ratio": 0.0,
        "free_estimate": 0.0,
        "free_cores": 0.0,
        "queue_estimate": 0.0,
        "queue_cores": 0.0,
        "reserve_below": INFINITE,
        "hold_share": 0.0,
        "hold_from_s": 3600.0,
        "hold_patience_s": INFINITE,
    },
    "las": {"first_s": 3600.0, "second_s": 36_000.0},
}
"""The parameters of the policies that have some, with their defaults; their meaning is in ``docs/policies.md``."""

POSITIVE: Final = ("half_life_s", "max_age_s", "hold_from_s", "first_s")
MAY_BE_INFINITE: Final = ("reserve_below", "hold_patience_s", "second_s")
TABLES: Final[dict[str, tuple[str, ...]]] = {
    "fair-share": ("shares",),
    "multifactor": ("partitions", "queues", "shares"),
}

CODES: Final = {
    "fcfs": 0, "fifo": 0, "first-available": 0, "sjf": 1, "smallest": 2, "f1": 3, "f2": 4, "f3": 5, "f4": 6,
    "random": 7, "lcfs": 9, "ljf": 10, "largest": 11, "saf": 12, "laf": 13, "srf": 14, "lrf": 15, "hybrid": 16,
    "sexp": 17, "lexp": 18, "wfp3": 19, "unicef": 20, "fair-share": 21, "multifactor": 22, "random-feasible": 23,
    "linear": 24, "qssf": 25, "srtf": 26, "las": 27,
}  # fmt: skip
"""The core's numbers for policies."""
GIVEN: Final = 8
"""The core's number for a policy that brings its own scores."""

USES_SHARES: Final = ("fair-share", "multifactor")
PREEMPTS: Final = ("srtf", "las")
"""Policies that stop running jobs."""


@dataclass(frozen=True)
class NativePolicy:
    """What the core is told of a policy."""

    code: int
    parameters: NDArray[np.float64]
    scores: NDArray[np.float64]
    """A number for each job of the workload, where the policy wants them; otherwise none."""


def policy_spec(text: str) -> Spec:
    """Returns what a policy's spec asks for, checked.

    Raises:
        InputError: The name, a parameter or the file is wrong.
    """
    also = ", a file FILE.toml, or a file FILE.py with a policy of your own"
    spec = read_spec("policy", text, POLICIES, PARAMETERS, also)
    for name, value in spec.parameters.items():
        if name in POSITIVE and not 0 < value < INFINITE:
            raise InputError(f"{spec.where}: {name} is {value:g}; expected a positive number")
        if abs(value) == INFINITE and name not in MAY_BE_INFINITE:
            raise InputError(f"{spec.where}: {name} is {value:g}; expected a finite number")
    for table in spec.tables:
        if table not in TABLES.get(spec.kind, ()):
            known = ", ".join(TABLES.get(spec.kind, ())) or "none"
            raise InputError(f"{spec.where}: [policy.{table}] is unknown for {spec.kind!r}; it knows {known}")
        spec.numbers(table)
    if spec.kind == "las" and not spec.parameters["second_s"] > spec.parameters["first_s"]:
        first_s, second_s = spec.parameters.values()
        raise InputError(f"{spec.where}: second_s is {second_s:g}; expected more than first_s, which is {first_s:g}")
    for user, share in spec.numbers("shares").items():
        if share <= 0:
            raise InputError(f"{spec.where}: shares.{user} is {share:g}; expected a positive number")
    return spec


def stand_ins(text: str) -> dict[str, str]:
    """Returns the columns that a policy reads and a log may leave empty, each with what the ledger says of it then."""
    try:
        spec = policy_spec(text)
    except InputError:  # a policy of the user's own
        return {}
    rules = {}
    if spec.kind == "priority" or spec.parameters.get("priority"):
        rules["priority"] = "no priority: 0 stands in"
    if spec.kind in USES_SHARES:
        rules["user"] = "no user: all such jobs count as one user's"
    return rules


def names_without_jobs(text: str, workload: Workload) -> dict[str, list[str]]:
    """Returns, for each table of a policy's file, the names that no job of the workload has: they change nothing."""
    try:
        spec = policy_spec(text)
    except InputError:  # a policy of the user's own
        return {}
    columns = {"shares": "user", "partitions": "partition", "queues": "queue"}
    unused = {}
    for table in spec.tables:
        known = set(workload.jobs[columns[table]].drop_nulls())
        unused[table] = [name for name in spec.numbers(table) if name not in known]
    return {table: names for table, names in unused.items() if names}


def native_policy(text: str, workload: Workload) -> NativePolicy:
    """Returns what the core is told of a policy on a workload."""
    spec = policy_spec(text)
    none = np.empty(0)
    if spec.kind == "priority":
        return NativePolicy(GIVEN, none, -_priority(workload))
    parameters = spec.parameters
    if spec.kind == "multifactor":
        names = ("age", "max_age_s", "size", "favor_small", "fair_share", "half_life_s")
        fixed = [parameters[name] for name in names]
        return NativePolicy(CODES[spec.kind], np.array(fixed + _shares(spec, workload)), _constant(spec, workload))
    if spec.kind == "las":
        # A level that nobody reaches is none.
        return NativePolicy(CODES[spec.kind], np.array([one for one in parameters.values() if one < INFINITE]), none)
    shares = _shares(spec, workload) if spec.kind in USES_SHARES else []
    return NativePolicy(CODES[spec.kind], np.array([*parameters.values(), *shares], dtype=np.float64), none)


def _priority(workload: Workload) -> NDArray[np.float64]:
    return workload.jobs["priority"].fill_null(0.0).to_numpy()


def _constant(spec: Spec, workload: Workload) -> NDArray[np.float64]:
    """Returns the part of each job's priority that does not change with time."""
    jobs = workload.jobs
    parameters = spec.parameters
    constant = parameters["partition"] * _looked_up(jobs["partition"], spec.numbers("partitions"))
    constant = constant + parameters["qos"] * _looked_up(jobs["queue"], spec.numbers("queues"))
    return np.asarray(constant + parameters["priority"] * _priority(workload), dtype=np.float64)


def _looked_up(names: pl.Series, values: dict[str, float]) -> NDArray[np.float64]:
    if not values:
        return np.zeros(len(names))
    found = names.replace_strict(list(values), list(values.values()), default=0.0, return_dtype=pl.Float64)
    return found.fill_null(0.0).to_numpy()


def _shares(spec: Spec, workload: Workload) -> list[float]:
    """Returns a share for each user as the core numbers them, jobs without a user last; none if all have the same."""
    given = spec.numbers("shares")
    if not given:
        return []
    users = workload.jobs["user"]
    numbered = users.drop_nulls().unique().sort().to_list()
    return [given.get(user, 1.0) for user in numbered] + [1.0] * bool(users.null_count())
