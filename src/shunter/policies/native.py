"""What the core runs by name: policies, and the estimates of run times that they see.

Each is given as a name, a name with parameters (``hybrid?aging=0.5``), or a TOML file that holds both, and resolved
once into an object.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from shunter.checks import check_name, read_query, timed, typed
from shunter.errors import InputError
from shunter.files import read_toml
from shunter.model.access import partition_factors
from shunter.model.settings import CORES_ALONE, LONGEST_S, SIZE_BY
from shunter.policies.catalog import (
    ESTIMATE_CODES,
    ESTIMATE_PARAMETERS,
    ESTIMATES,
    GIVEN,
    INFINITE,
    KNOWN_POLICIES,
    LEARNED_ESTIMATES,
    MAY_BE_INFINITE,
    OF_BEFORE,
    ORIGINS,
    OUTLIVED,
    POLICIES,
    POSITIVE,
    RANGES,
    RENAMED_PARAMETERS,
    SYNONYMS,
    WITH_ORIGIN,
    WORDS,
    KnownPolicy,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.model.cluster import Cluster
    from shunter.model.workload import Workload
    from shunter.policies.prior import Prior

REQUESTED: Final = "requested"
"""The estimate of those who name none."""

_SIZE_BY: Final = "size_by"
FILE_SETTINGS: Final[dict[str, type]] = {"dispatch": str, "max_wait_s": float}
"""The settings that the file of a policy may bring, with their types."""

Parameters = Mapping[str, Mapping[str, float]]
"""For each name that has parameters, their defaults."""
_COLUMNS: Final = {"shares": "user", "partitions": "partition"}
"""The column of a workload that has the names of each table; for queues see `_qos`."""


@dataclass(frozen=True)
class Spec:
    """What a user asked for: a name, its parameters, and what a file gives beside them."""

    kind: str
    parameters: dict[str, float]
    tables: dict[str, Any] = field(default_factory=dict)
    where: str = ""
    """What errors call it."""
    size_by: str | None = None
    """What a policy's file says that sizes are counted in; None: it says nothing."""
    settings: dict[str, Any] = field(default_factory=dict)
    """What its file says under ``[settings]``: of `FILE_SETTINGS`, for those who ask for nothing else."""

    @property
    def written(self) -> dict[str, float | str]:
        """The parameters as a file has them: a word where a number stands for one."""
        words = {name: {number: word for word, number in known.items()} for name, known in WORDS.items()}
        return {name: words[name][value] if name in words else value for name, value in self.parameters.items()}

    def numbers(self, table: str) -> dict[str, float]:
        """Returns a table of names and numbers from the file: the shares of users, for instance."""
        values = self.tables.get(table, {})
        if not isinstance(values, dict):
            raise InputError(f"{self.where}: {table} is not a table; write it as [policy.{table}]")
        numbers = {name: _to_number(value, f"{self.where}: {table}.{name}") for name, value in values.items()}
        for name, value in numbers.items():
            if math.isinf(value):
                raise InputError(f"{self.where}: {table}.{name} is {value:g}; expected a finite number")
        return numbers


def spec_file(text: str) -> Path | None:
    """Returns the TOML file that a spec names; None if it names none."""
    return Path(text) if text.endswith(".toml") else None


def read_spec(what: str, text: str, names: Mapping[str, str], parameters: Parameters, also: str = "") -> Spec:
    """Returns what a spec asks for. Parameters of earlier versions have their names of today.

    Args:
        what: What the spec describes, and the section of a file in which it stands: ``policy``.
        text: The spec: a name, a name with parameters, or a TOML file.
        names: The names that are known, with a line on each.
        parameters: For each of them that has parameters, their defaults.
        also: What else a user may give, for the error message.

    Raises:
        InputError: The name or a parameter is unknown, or the file cannot be read.
    """
    path = spec_file(text)
    if path is not None:
        return _from_file(what, path, names, parameters)
    name, _, query = text.partition("?")
    check_name(what, name, names, also=also, synonyms=SYNONYMS)
    where = f"{what} {text!r}"
    texts = read_query(query, where, "name?aging=0.5&other=1")
    given = {key: _read(key, value, f"{where}: {key}", _parsed) for key, value in texts.items()}
    renamed = _renamed(name, given)
    size_by = CORES_ALONE if renamed != given else None
    return Spec(name, _filled(what, name, renamed, parameters, where), where=where, size_by=size_by)


def _from_file(what: str, path: Path, names: Mapping[str, str], parameters: Parameters) -> Spec:
    document = read_toml(path)
    section = document.get(what)
    if not isinstance(section, dict):
        raise InputError(f'{path}: has no section [{what}]; add one with kind = "..."')
    # One file may hold a policy and an estimate, each in its section: tuning writes both.
    kind = section.pop("kind", None)
    if not isinstance(kind, str):
        raise InputError(f'{path}: [{what}] has no kind; add a line such as kind = "{next(iter(parameters))}"')
    check_name(what, kind, names, where=f"{path}: ")
    tables = {key: value for key, value in section.items() if isinstance(value, dict | list)}
    size_by = section.pop(_SIZE_BY, None) if what == "policy" else None
    if size_by is not None:
        check_name(_SIZE_BY, typed(size_by, str, f"{path}: {_SIZE_BY}"), SIZE_BY, where=f"{path}: ")
    plain = {key: value for key, value in section.items() if key not in tables}
    given = {key: _read(key, value, f"{path}: {key}", _to_number) for key, value in plain.items()}
    renamed = _renamed(kind, given)
    # Files that tuning wrote say what sizes are counted in since there is a choice.
    if size_by is None and what == "policy" and ("tuned" in document or renamed != given):
        size_by = CORES_ALONE
    filled, settings = _filled(what, kind, renamed, parameters, str(path)), _file_settings(document, path)
    return Spec(kind, filled, tables, where=str(path), size_by=size_by, settings=settings)


def _renamed(kind: str, given: dict[str, float]) -> dict[str, float]:
    """Returns parameters, with those that earlier versions called otherwise under their names of today."""
    renamed = RENAMED_PARAMETERS.get(kind, {})
    # Beside a name of today, an old one is a slip.
    if set(given) & set(renamed.values()):
        return given
    return {renamed.get(key, key): value for key, value in given.items()}


def _file_settings(document: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Returns the settings that a file brings, by name; whether their values are right is checked with the others."""
    section, where = document.get("settings", {}), f"{path}: [settings]"
    if not isinstance(section, dict):
        raise InputError(f'{where} is no section; write it as [settings], with lines such as dispatch = "easy"')
    for name in section:
        check_name("setting", name, FILE_SETTINGS, where=f"{where}: ")
    plain = {name: timed(name, value, f"{where}: {name}") for name, value in section.items()}
    return {name: typed(value, FILE_SETTINGS[name], f"{where}: {name}") for name, value in plain.items()}


def _filled(what: str, kind: str, given: dict[str, float], parameters: Parameters, where: str) -> dict[str, float]:
    defaults = parameters.get(kind, {})
    for key in given:
        if key not in defaults:
            known = f"it knows {', '.join(defaults)}" if defaults else "it has none"
            raise InputError(f"{where}: {what} {kind!r} has no parameter {key!r}; {known}")
    if not given and kind in KNOWN_POLICIES and KNOWN_POLICIES[kind].parameters_together:
        return {}
    return {**defaults, **given}


def of_before(text: str, *, with_origin: bool = False) -> str:
    """Returns a policy as a file of an earlier version means it.

    Args:
        text: As the file has it.
        with_origin: Whether the version already counted from the log's beginning; f1 to f4 took absolute times before.
    """
    if text in WITH_ORIGIN and not with_origin:
        return f"{text}?origin=absolute"
    return OF_BEFORE.get(text, text)


def _read(key: str, value: Any, where: str, to_number: Callable[[Any, str], float]) -> float:  # noqa: ANN401
    """Returns a parameter as a number: a word has one, and a time may have a unit."""
    if key in WORDS:
        check_name(where, str(value), WORDS[key])
        return WORDS[key][str(value)]
    return to_number(timed(key, value, where), where)


def _parsed(value: object, where: str) -> float:
    try:
        return _to_number(float(value) if isinstance(value, str) else value, where)
    except ValueError:
        raise InputError(f"{where} is {value!r}; expected a number") from None


def _to_number(value: object, where: str) -> float:
    """Returns a number; infinity is one, for a bound that never binds."""
    # TOML has whole numbers of any length; a float cannot hold all of them.
    try:
        number = float(value) if isinstance(value, bool | int | float) else math.nan
    except OverflowError:
        number = math.nan
    if math.isnan(number):
        raise InputError(f"{where} is {value!r}; expected a number")
    return number


@dataclass(frozen=True)
class Named:
    """Something that the core knows by a name, with its parameters."""

    text: str
    """What the user wrote."""
    spec: Spec

    @property
    def kind(self) -> str:
        """Its name in the catalog."""
        return self.spec.kind

    @property
    def label(self) -> str:
        """What tables call it: a file by its name alone."""
        return PurePath(self.text).name

    @property
    def file(self) -> Path | None:
        """The TOML file that it comes from, if it does."""
        return spec_file(self.text)


@dataclass(frozen=True)
class CorePolicy:
    """What the core is told of a policy on a workload."""

    code: int
    parameters: NDArray[np.float64]
    scores: NDArray[np.float64]
    """A number for each job of the workload, where the policy wants them; otherwise none."""

    @staticmethod
    def given(scores: NDArray[np.float64] | None) -> CorePolicy:
        """Returns what the core is told of a policy in Python: its scores, or nothing if it orders at each pass."""
        if scores is None:
            # The order that comes with each pass replaces the policy, so that any policy without scores will do here.
            return CorePolicy(KNOWN_POLICIES["fcfs"].code, np.empty(0), np.empty(0))
        return CorePolicy(GIVEN, np.empty(0), np.ascontiguousarray(scores, dtype=np.float64))


@dataclass(frozen=True)
class NativePolicy(Named):
    """A policy that the core runs: the order of the queue."""

    @property
    def known(self) -> KnownPolicy:
        """What the catalog says of it."""
        return KNOWN_POLICIES[self.spec.kind]

    @property
    def order(self) -> NativePolicy:
        """The policy that sorts the queue: itself."""
        return self

    def stand_ins(self) -> dict[str, str]:
        """Returns the columns that it reads and a log may leave empty, each with what the ledger says of it then."""
        rules = {}
        if self.kind == "priority" or self.spec.parameters.get("priority"):
            rules["priority"] = "no priority: 0 stands in"
        if "shares" in self.known.tables or self.kind == "gittins":
            rules["user"] = "no user: all such jobs count as one user's"
        return rules

    def names_without_jobs(self, workload: Workload) -> dict[str, list[str]]:
        """Returns, for each table of its file, the names that no job of the workload has: they change nothing."""
        unused = {}
        for table in self.spec.tables:
            names = _qos(workload.jobs) if table == "queues" else workload.jobs[_COLUMNS[table]]
            known = set(names.drop_nulls())
            unused[table] = [name for name in self.spec.numbers(table) if name not in known]
        return {table: names for table, names in unused.items() if names}

    def for_core(self, workload: Workload, cluster: Cluster) -> CorePolicy:
        """Returns what the core is told of it on a workload and a cluster."""
        none, code, parameters = np.empty(0), self.known.code, self.spec.parameters
        if self.kind == "priority":
            # The core takes the lowest score first; in a log the highest priority is.
            return CorePolicy(code, none, -_priority(workload))
        if self.kind == "multifactor":
            # The order of the core's own parameters; those left out here are in the constant part.
            names = ("age", "max_age_s", "size", "favor_small", "fair_share", "half_life_s")
            fixed = [parameters[name] for name in names]
            return CorePolicy(code, np.array(fixed + self._shares(workload)), self._constant(workload, cluster))
        if self.kind in WITH_ORIGIN:
            # With a parameter the core counts from the log's beginning, without one it takes absolute times.
            since = [one for one in parameters.values() if one == ORIGINS["log"]]
            return CorePolicy(code, np.array(since, dtype=np.float64), none)
        if self.kind == "srtf":
            # As above: without a parameter nothing is left of an estimate that is outlived.
            doubles = [one for one in parameters.values() if one == OUTLIVED["doubles"]]
            return CorePolicy(code, np.array(doubles, dtype=np.float64), none)
        if self.kind == "las":
            # A level that nobody reaches is none.
            return CorePolicy(code, np.array([one for one in parameters.values() if one < INFINITE]), none)
        shares = self._shares(workload) if "shares" in self.known.tables else []
        return CorePolicy(code, np.array([*parameters.values(), *shares], dtype=np.float64), none)

    def _constant(self, workload: Workload, cluster: Cluster) -> NDArray[np.float64]:
        """Returns the part of each job's multifactor priority that does not change with time."""
        jobs, parameters = workload.jobs, self.spec.parameters
        constant = parameters["partition"] * partition_factors(jobs, cluster, self.spec.numbers("partitions"))
        constant = constant + parameters["qos"] * _looked_up(_qos(jobs), self.spec.numbers("queues"))
        return np.asarray(constant + parameters["priority"] * _priority(workload), dtype=np.float64)

    def _shares(self, workload: Workload) -> list[float]:
        """Returns a share for each user as the core numbers them, jobs without a user last; none if all are equal."""
        given = self.spec.numbers("shares")
        if not given:
            return []
        users = workload.jobs["user"]
        # As in user_numbers of the simulation: users are numbered in the order of their names.
        numbered = users.drop_nulls().unique().sort().to_list()
        return [given.get(user, 1.0) for user in numbered] + [1.0] * bool(users.null_count())


def resolve_native(text: str) -> NativePolicy:
    """Returns the policy that a name, a name with parameters or a TOML file means, checked.

    Raises:
        InputError: The name, a parameter or the file is wrong.
    """
    also = ", a file FILE.toml, or a file FILE.py with a policy of your own"
    # Names without parameters are left out, so that an error can say that they have none.
    parameters = {name: known.parameters for name, known in KNOWN_POLICIES.items() if known.parameters}
    spec = read_spec("policy", text, POLICIES, parameters, also)
    for name, value in spec.parameters.items():
        if name in POSITIVE and not 0 < value < INFINITE:
            raise InputError(f"{spec.where}: {name} is {value:g}; expected a positive number")
        if abs(value) == INFINITE and name not in MAY_BE_INFINITE:
            raise InputError(f"{spec.where}: {name} is {value:g}; expected a finite number")
        low, high = RANGES.get(name, (-INFINITE, INFINITE))
        if not low <= value <= high or (name == "bins" and not value.is_integer()):
            kind = "whole number" if name == "bins" else "number"
            raise InputError(f"{spec.where}: {name} is {value:g}; expected a {kind} from {low:g} to {high:g}")
    _check_tables(spec)
    # Infinity is allowed for both: one level, or two.
    if spec.kind == "las" and spec.parameters and not spec.parameters["second_s"] > spec.parameters["first_s"]:
        first_s, second_s = spec.parameters.values()
        raise InputError(f"{spec.where}: second_s is {second_s:g}; expected more than first_s, which is {first_s:g}")
    if spec.kind == "gittins":
        _check_bins(spec)
    return NativePolicy(text, spec)


def _check_bins(spec: Spec) -> None:
    bins, shortest_s, growth = (spec.parameters[name] for name in ("bins", "shortest_s", "growth"))
    if math.log(shortest_s) + (bins - 1) * math.log(growth) > math.log(LONGEST_S):
        what = f"{bins:g} bins from {shortest_s:g} s on, each {growth:g} times as long, reach beyond {LONGEST_S:g} s"
        raise InputError(f"{spec.where}: {what}; take fewer, or a smaller growth")


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


def _qos(jobs: pl.DataFrame) -> pl.Series:
    """Returns the QOS of each job, or what its log calls a queue where it tells no QOS."""
    # Logs of Slurm have a column for the QOS; others know queues alone.
    return jobs["qos"].fill_null(jobs["queue"]) if "qos" in jobs.columns else jobs["queue"]


def _looked_up(names: pl.Series, values: dict[str, float]) -> NDArray[np.float64]:
    if not values:
        return np.zeros(len(names))
    found = names.replace_strict(list(values), list(values.values()), default=0.0, return_dtype=pl.Float64)
    return found.fill_null(0.0).to_numpy()


@dataclass(frozen=True)
class Estimate(Named):
    """The run time that a policy may see."""

    @property
    def is_learned(self) -> bool:
        """Whether it changes as jobs end."""
        return self.kind in LEARNED_ESTIMATES

    @property
    def code(self) -> int:
        """The core's number."""
        return ESTIMATE_CODES[self.kind]

    @cached_property
    def prior(self) -> Prior:
        """The prior of a posterior: what the file holds, or the one for no site in particular."""
        # Few simulations use the posterior, and nothing else has a prior.
        from shunter.policies.prior import prior_from_tables

        return prior_from_tables(self.spec.parameters, self.spec.tables, self.spec.where)

    @cached_property
    def parameters(self) -> NDArray[np.float64]:
        """The numbers that the core takes."""
        if self.kind == "posterior":
            return self.prior.numbers()
        return np.array(list(self.spec.parameters.values()), dtype=np.float64)

    def stand_ins(self) -> dict[str, str]:
        """Returns the columns that it reads and a log may leave empty, with what the ledger says of it then."""
        if self.kind != "history":
            return {}
        return {"user": "no user: history goes by the jobs of the same size, or by all"}


def resolve_estimate(given: str | Estimate) -> Estimate:
    """Returns the estimate that a text means, checked; what is resolved already is returned.

    Raises:
        InputError: The name, a parameter or the file is wrong.
    """
    if isinstance(given, Estimate):
        return given
    if not isinstance(given, str):
        raise InputError(f"estimate is {given!r}; expected a name, or a file FILE.toml")
    spec = read_spec("estimate", given, ESTIMATES, ESTIMATE_PARAMETERS, also=", or a file FILE.toml")
    sigma = spec.parameters.get("sigma", 0.0)
    if not 0 <= sigma <= 100:
        raise InputError(f"{spec.where}: sigma is {sigma:g}; expected 0 to 100")
    estimate = Estimate(given, spec)
    if spec.kind == "posterior":
        # It is cached: reading it here tells a mistake now, and costs nothing later.
        _ = estimate.prior
    elif spec.tables:
        raise InputError(f"{spec.where}: [estimate.{next(iter(spec.tables))}] is unknown for {spec.kind!r}")
    return estimate


def posterior_with(prior: Prior) -> Estimate:
    """Returns the posterior that starts from a prior which stands in no file."""
    return Estimate("posterior", Spec("posterior", prior.strengths(), prior.tables(), where="the prior"))
