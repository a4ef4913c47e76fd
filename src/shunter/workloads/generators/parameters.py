"""Parameters in a spec, written like a web address's query: ``lublin?seed=42&jobs=10000``.

A class of parameters is a dataclass whose fields say what they take::

    cores: int = whole(256, 1, CORES_LIMIT)
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import ClassVar, Final, TypeVar

from shunter.errors import InputError
from shunter.query import read_query

LOAD_RANGE: Final = (0.001, 1000.0)
"""The offered loads that can be asked for."""

REQUESTS: Final = ("none", "accurate", "factor")

T = TypeVar("T")
Q = TypeVar("Q", bound="QueryParameters")

_RULE: Final = "rule"


@dataclass(frozen=True)
class _Rule:
    """What a parameter takes."""

    expected: str
    read: Callable[[str], object]
    """Returns the value of a text, or raises ValueError."""


def whole(default: T, low: int, high: int) -> T:
    """Declares a parameter that takes whole numbers."""

    def read(text: str) -> int:
        # int() alone would accept underscores, blanks and digits of other scripts.
        if not (text.isascii() and text.removeprefix("-").isdigit() and low <= int(text[:25]) <= high):
            raise ValueError
        return int(text)

    return field(default=default, metadata={_RULE: _Rule(f"a whole number from {low} to {high}", read)})


def number(default: T, low: float, high: float) -> T:
    """Declares a parameter that takes numbers."""

    def read(text: str) -> float:
        value = float(text)
        if not (low <= value <= high and math.isfinite(value)):
            raise ValueError
        return value

    return field(default=default, metadata={_RULE: _Rule(f"a number from {low:g} to {high:g}", read)})


def word(default: T, known: Iterable[str]) -> T:
    """Declares a parameter that takes one of some words."""
    words = tuple(known)

    def read(text: str) -> str:
        if text not in words:
            raise ValueError
        return text

    return field(default=default, metadata={_RULE: _Rule(f"one of {', '.join(words)}", read)})


@dataclass(frozen=True)
class QueryParameters:
    """Parameters that can be read from a query."""

    @classmethod
    def parse(cls: type[Q], query: str, where: str) -> Q:
        """Returns the parameters that a query gives, the others being defaults.

        Raises:
            InputError: A parameter is unknown or given twice, or a value is not what it takes.
        """
        given = read_query(query, where, "seed=42&jobs=1000")
        rules = {each.name: each.metadata[_RULE] for each in fields(cls)}
        values = {}
        for name, text in given.items():
            if name not in rules:
                raise InputError(f'{where}: unknown parameter "{name}"; {suggest(name, rules)}')
            try:
                values[name] = rules[name].read(text)
            except ValueError:
                raise InputError(f'{where}: {name} is "{text}"; expected {rules[name].expected}') from None
        return cls(**values).completed(values, where)

    def completed(self: Q, given: Mapping[str, object], where: str) -> Q:
        """Returns the parameters with what depends on others filled in.

        Args:
            given: The values that the query has.
            where: How errors call the spec.

        Raises:
            InputError: Two of them contradict each other.
        """
        return self

    def canonical(self) -> str:
        """Returns every parameter, in one spelling."""
        return "&".join(f"{each.name}={getattr(self, each.name)}" for each in fields(self))


@dataclass(frozen=True)
class JobParameters(QueryParameters, ABC):
    """What every generator of jobs takes."""

    SET_BY_LOAD: ClassVar[tuple[str, ...]] = ()
    """The parameters that say how fast jobs arrive, and so mean nothing beside a load."""

    jobs: int = whole(10_000, 1, 100_000_000)
    seed: int = whole(0, 0, 2**64 - 1)
    load: float | None = number(None, *LOAD_RANGE)
    """Offered load on the generator's own cluster; None leaves the arrivals as they are drawn."""
    requests: str = word("none", REQUESTS)
    """No requested times, the run time, or the run time times a random factor."""
    factor: float = number(4.0, 0.0, 1000.0)
    """With ``requests=factor``, a request lies uniformly between once and (1 + factor) times the run time."""

    @property
    @abstractmethod
    def cluster_spec(self) -> str:
        """The cluster that the jobs are made for, as `shunter.read_cluster` takes it."""

    def completed(self: J, given: Mapping[str, object], where: str) -> J:
        """Returns the parameters, having checked that a load can be had."""
        if self.load is None:
            return self
        if self.jobs < 2:
            raise InputError(f"{where}: load needs a span between arrivals; ask for at least 2 jobs")
        for name in self.SET_BY_LOAD:
            if name in given:
                raise InputError(f"{where}: load and {name} both say how fast jobs arrive; give one of them")
        return self


J = TypeVar("J", bound=JobParameters)


@dataclass(frozen=True)
class PoolParameters(JobParameters):
    """What generators take whose machine is one pool of cores."""

    cores: int = whole(256, 1, 10**9)

    @property
    def cluster_spec(self) -> str:
        """The pool."""
        return str(self.cores)

    def largest(self, n_max: int | None, where: str) -> int:
        """Returns the size of the largest job: that of the machine, unless a smaller one is asked for."""
        if n_max is not None and n_max > self.cores:
            raise InputError(f"{where}: n_max is {n_max}, but cores is {self.cores}; no job may be larger than that")
        return self.cores if n_max is None else n_max


def suggest(name: str, known: Iterable[str]) -> str:
    """Returns the remedy for an unknown name: the nearest one, or all of them."""
    names = list(known)
    close = get_close_matches(name, names, n=1, cutoff=0.4)
    return f'did you mean "{close[0]}"?' if close else f"known: {', '.join(names)}"
