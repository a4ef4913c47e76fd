"""A policy that the core runs: a name, a name with parameters, or a TOML file with one, resolved once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from shunter.errors import InputError
from shunter.policies.catalog import (
    GIVEN,
    INFINITE,
    KNOWN_POLICIES,
    MAY_BE_INFINITE,
    POLICIES,
    POSITIVE,
    KnownPolicy,
)
from shunter.policies.specs import Spec, read_spec, spec_file

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.model.workload import Workload

_COLUMNS: Final = {"shares": "user", "partitions": "partition", "queues": "queue"}
"""The column of a workload that has the names of each table."""


@dataclass(frozen=True)
class CorePolicy:
    """What the core is told of a policy on a workload."""

    code: int
    parameters: NDArray[np.float64]
    scores: NDArray[np.float64]
    """A number for each job of the workload, where the policy wants them; otherwise none."""

    @staticmethod
    def given(scores: NDArray[np.float64] | None) -> CorePolicy:
        """Returns a policy of the user's own: its scores; none if it brings an order at each pass."""
        if scores is None:
            return CorePolicy(KNOWN_POLICIES["fcfs"].code, np.empty(0), np.empty(0))
        return CorePolicy(GIVEN, np.empty(0), np.ascontiguousarray(scores, dtype=np.float64))


@dataclass(frozen=True)
class NativePolicy:
    """A policy of Shunter's own, with its parameters."""

    text: str
    """What the user wrote."""
    spec: Spec

    @property
    def kind(self) -> str:
        """Its name in the catalog."""
        return self.spec.kind

    @property
    def known(self) -> KnownPolicy:
        """What the catalog says of it."""
        return KNOWN_POLICIES[self.spec.kind]

    @property
    def label(self) -> str:
        """What tables call it: a file by its name alone."""
        return PurePath(self.text).name

    @property
    def file(self) -> Path | None:
        """The TOML file that it comes from, if it does."""
        return spec_file(self.text)

    @property
    def order(self) -> NativePolicy:
        """The policy that sorts the queue: itself."""
        return self

    def stand_ins(self) -> dict[str, str]:
        """Returns the columns that it reads and a log may leave empty, each with what the ledger says of it then."""
        rules = {}
        if self.kind == "priority" or self.spec.parameters.get("priority"):
            rules["priority"] = "no priority: 0 stands in"
        if "shares" in self.known.tables:
            rules["user"] = "no user: all such jobs count as one user's"
        return rules

    def names_without_jobs(self, workload: Workload) -> dict[str, list[str]]:
        """Returns, for each table of its file, the names that no job of the workload has: they change nothing."""
        unused = {}
        for table in self.spec.tables:
            known = set(workload.jobs[_COLUMNS[table]].drop_nulls())
            unused[table] = [name for name in self.spec.numbers(table) if name not in known]
        return {table: names for table, names in unused.items() if names}

    def for_core(self, workload: Workload) -> CorePolicy:
        """Returns what the core is told of it on a workload."""
        none, code, parameters = np.empty(0), self.known.code, self.spec.parameters
        if self.kind == "priority":
            return CorePolicy(code, none, -_priority(workload))
        if self.kind == "multifactor":
            names = ("age", "max_age_s", "size", "favor_small", "fair_share", "half_life_s")
            fixed = [parameters[name] for name in names]
            return CorePolicy(code, np.array(fixed + self._shares(workload)), self._constant(workload))
        if self.kind == "las":
            # A level that nobody reaches is none.
            return CorePolicy(code, np.array([one for one in parameters.values() if one < INFINITE]), none)
        shares = self._shares(workload) if "shares" in self.known.tables else []
        return CorePolicy(code, np.array([*parameters.values(), *shares], dtype=np.float64), none)

    def _constant(self, workload: Workload) -> NDArray[np.float64]:
        """Returns the part of each job's multifactor priority that does not change with time."""
        jobs, parameters = workload.jobs, self.spec.parameters
        constant = parameters["partition"] * _looked_up(jobs["partition"], self.spec.numbers("partitions"))
        constant = constant + parameters["qos"] * _looked_up(jobs["queue"], self.spec.numbers("queues"))
        return np.asarray(constant + parameters["priority"] * _priority(workload), dtype=np.float64)

    def _shares(self, workload: Workload) -> list[float]:
        """Returns a share for each user as the core numbers them, jobs without a user last; none if all are equal."""
        given = self.spec.numbers("shares")
        if not given:
            return []
        users = workload.jobs["user"]
        numbered = users.drop_nulls().unique().sort().to_list()
        return [given.get(user, 1.0) for user in numbered] + [1.0] * bool(users.null_count())


def resolve_native(text: str) -> NativePolicy:
    """Returns the policy that a name, a name with parameters or a TOML file means, checked.

    Raises:
        InputError: The name, a parameter or the file is wrong.
    """
    also = ", a file FILE.toml, or a file FILE.py with a policy of your own"
    parameters = {name: known.parameters for name, known in KNOWN_POLICIES.items() if known.parameters}
    spec = read_spec("policy", text, POLICIES, parameters, also)
    for name, value in spec.parameters.items():
        if name in POSITIVE and not 0 < value < INFINITE:
            raise InputError(f"{spec.where}: {name} is {value:g}; expected a positive number")
        if abs(value) == INFINITE and name not in MAY_BE_INFINITE:
            raise InputError(f"{spec.where}: {name} is {value:g}; expected a finite number")
    _check_tables(spec)
    if spec.kind == "las" and not spec.parameters["second_s"] > spec.parameters["first_s"]:
        first_s, second_s = spec.parameters.values()
        raise InputError(f"{spec.where}: second_s is {second_s:g}; expected more than first_s, which is {first_s:g}")
    return NativePolicy(text, spec)


def _check_tables(spec: Spec) -> None:
    tables = KNOWN_POLICIES[spec.kind].tables
    for table in spec.tables:
        if table not in tables:
            known = ", ".join(tables) or "none"
            raise InputError(f"{spec.where}: [policy.{table}] is unknown for {spec.kind!r}; it knows {known}")
        spec.numbers(table)
    for user, share in spec.numbers("shares").items():
        if share <= 0:
            raise InputError(f"{spec.where}: shares.{user} is {share:g}; expected a positive number")


def _priority(workload: Workload) -> NDArray[np.float64]:
    return workload.jobs["priority"].fill_null(0.0).to_numpy()


def _looked_up(names: pl.Series, values: dict[str, float]) -> NDArray[np.float64]:
    if not values:
        return np.zeros(len(names))
    found = names.replace_strict(list(values), list(values.values()), default=0.0, return_dtype=pl.Float64)
    return found.fill_null(0.0).to_numpy()
