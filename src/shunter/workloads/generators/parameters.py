"""Parameters of generators, written like a web address's query: ``lublin?seed=42&jobs=10000``.

A generator declares what it takes as the fields of a dataclass::

    cores: int = declared(256, "The cores of the machine.", low=1, high=CORES_LIMIT)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, TypeVar, get_args, get_type_hints

from shunter.checks import MOST_SEED, check_field, check_name, declarations, declared, read_query, timed
from shunter.errors import InputError
from shunter.model.cluster import CORES_LIMIT
from shunter.workloads.generators.kinds import KINDS, NO_KINDS
from shunter.workloads.load import LOAD_RANGE

if TYPE_CHECKING:
    import polars as pl

    from shunter.model.cluster import Node

REQUESTS: Final = ("none", "accurate", "factor")
GAPS_S: Final = {"low": 0.001, "high": 1e6}
"""The bounds of a mean time between arrivals."""

J = TypeVar("J", bound="JobParameters")


class Generator(NamedTuple):
    """What the module of a generator has, as ``GENERATOR``."""

    parameters: type[JobParameters]
    draw_jobs: Callable[[Any], pl.DataFrame]
    """Returns the jobs that the parameters ask for."""
    draws_at_load: bool = False
    """Whether it follows ``load`` by itself; the arrivals of the others are stretched."""
    draw_nodes: Callable[[Any], tuple[Node, ...]] | None = None
    """Returns the nodes of the cluster that the jobs are made for; None: that cluster is a pool of cores."""
    node_parameters: tuple[str, ...] = ("nodes",)
    """The parameters on which the nodes depend."""

    def cluster_spec(self, parameters: Any, where: str) -> str:  # noqa: ANN401 - its own kind of parameters
        """Returns the cluster that the jobs are made for, as `shunter.read_cluster` takes it."""
        if self.draw_nodes is None:
            return str(parameters.cores)
        return f"{where}?{parameters.canonical(self.node_parameters)}"


@dataclass(frozen=True)
class JobParameters:
    """What every generator of jobs takes."""

    SET_BY_LOAD: ClassVar[tuple[str, ...]] = ()
    """The parameters that say how fast jobs arrive, and so mean nothing beside a load."""

    jobs: int = declared(10_000, "How many jobs.", low=1, high=100_000_000)
    seed: int = declared(0, "The seed of everything that is drawn.", low=0, high=MOST_SEED)
    load: float | None = declared(
        None, "Offered load on the generator's own cluster.", low=LOAD_RANGE[0], high=LOAD_RANGE[1]
    )
    """None: arrivals stay as they are drawn."""
    requests: str = declared("none", "Requested times: none, the run time, or a multiple of it.", choices=REQUESTS)
    factor: float = declared(4.0, "With requests=factor: 1 to 1 + factor times the run time.", low=0.0, high=1000.0)
    site: str | None = declared(
        None, "Policy and dispatch rule of the site, as fcfs/easy: jobs have the waits that a log of it would have."
    )
    """None: the jobs have no past."""

    @classmethod
    def parse(cls: type[J], query: str, where: str, known: Iterable[str] | None = None) -> J:
        """Returns the parameters that a query gives, the others being defaults.

        Args:
            query: What stands behind the question mark.
            where: How errors call the spec.
            known: The parameters that the query may give; None: all.

        Raises:
            InputError: A parameter is unknown or given twice, or a value is not what it takes.
        """
        texts = read_query(query, where, "seed=42&jobs=1000")
        hints, said = get_type_hints(cls), declarations(cls)
        given: dict[str, Any] = {}
        try:
            for name, text in texts.items():
                check_name("parameter", name, said if known is None else known)
                given[name] = _value(timed(name, text), hints[name])
                check_field(name, given[name], hints[name], said[name])
        except InputError as error:
            raise InputError(f"{where}: {error}") from None
        return cls(**given).completed(given, where)

    def completed(self: J, given: Mapping[str, object], where: str) -> J:
        """Returns the parameters with what depends on others filled in, having checked that a load can be had.

        Args:
            given: The values that the query has.
            where: How errors call the spec.

        Raises:
            InputError: Two of them contradict each other.
        """
        if self.load is None:
            return self
        if self.jobs < 2:
            raise InputError(f"{where}: load needs a span between arrivals; ask for at least 2 jobs")
        # Only what the user gave contradicts the load; a default gives way to it.
        for name in self.SET_BY_LOAD:
            if name in given:
                raise InputError(f"{where}: load and {name} both say how fast jobs arrive; give one of them")
        return self

    def canonical(self, names: Iterable[str] | None = None) -> str:
        """Returns parameters as a query, in one spelling; all of them, unless names are given."""
        # What is left out changes no hash where it is not used.
        unused = (("kinds", NO_KINDS), ("site", None))
        known = [each.name for each in fields(self) if (each.name, getattr(self, each.name)) not in unused]
        names = known if names is None else names
        return "&".join(f"{name}={getattr(self, name)}" for name in names)


@dataclass(frozen=True)
class GpuParameters(JobParameters):
    """What a generator of jobs with GPUs takes."""

    kinds: str = declared(
        NO_KINDS,
        "Which kinds of jobs are drawn: none, or those of the preset of this name.",
        choices=(NO_KINDS, *KINDS),
    )


@dataclass(frozen=True)
class PoolParameters(JobParameters):
    """What a generator takes if its machine is one pool of cores."""

    cores: int = declared(256, "The cores of the machine.", low=1, high=CORES_LIMIT)

    def largest(self, n_max: int | None, where: str) -> int:
        """Returns the size of the largest job: that of the machine, unless a smaller one is asked for."""
        if n_max is not None and n_max > self.cores:
            raise InputError(f"{where}: n_max is {n_max}, but cores is {self.cores}; no job may be larger than that")
        return self.cores if n_max is None else n_max


def _value(text: object, hint: Any) -> object:  # noqa: ANN401 - any type hint
    """Returns a text as a number where a number is wanted; other texts stay as they are, for the check to refuse."""
    if not isinstance(text, str):
        return text
    kinds = get_args(hint) or (hint,)
    # int() alone would accept underscores, blanks and digits of other scripts.
    if int in kinds and re.fullmatch(r"-?[0-9]{1,25}", text):
        return int(text)
    if float in kinds:
        try:
            return float(text)
        except ValueError:
            return text
    return text
