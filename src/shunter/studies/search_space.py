"""What a search for settings draws from, and in which rungs it is run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from shunter.checks import check_fields, check_name, declared, from_table, number
from shunter.errors import InputError

RANDOM, HALVING = "random", "halving"
METHODS: Final = {
    RANDOM: "every trial is trained for all steps",
    HALVING: "all trials are trained for few steps, the best part of them for more, and so on",
}
OPTIONS: Final = "options"
"""The table of ``[search]`` that has what is searched."""


@dataclass(frozen=True)
class Range:
    """A number between two others; a whole one if both are."""

    low: int | float
    high: int | float
    log: bool = False
    """Whether the logarithm is drawn evenly, so that 0.001 to 0.01 is as likely as 0.01 to 0.1."""

    @property
    def is_whole(self) -> bool:
        """Whether only whole numbers are drawn."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    def draw(self, random: np.random.Generator) -> float | int:
        """Returns a number."""
        # Of whole numbers both ends are drawn as often as any between them.
        low, high = (self.low - 0.5, self.high + 0.5) if self.is_whole else (self.low, self.high)
        value = math.exp(random.uniform(math.log(low), math.log(high))) if self.log else random.uniform(low, high)
        inside = min(max(value, self.low), self.high)
        return round(inside) if self.is_whole else float(inside)


@dataclass(frozen=True)
class Choice:
    """One of several values."""

    values: tuple[Any, ...]

    def draw(self, random: np.random.Generator) -> Any:  # noqa: ANN401 - whatever a key holds
        """Returns one of them."""
        return self.values[int(random.integers(len(self.values)))]


@dataclass(frozen=True)
class SearchWords:
    """The plain keys of ``[search]``."""

    method: str = declared(RANDOM, "How trials are chosen and run.", choices=METHODS)
    trials: int = declared(10, "How many settings are drawn.", low=1, high=10_000)
    eta: int = declared(3, "halving: one trial in so many goes on, for so many times the steps.", low=2, high=100)
    base: str | None = declared(None, "The variant whose settings are changed; none: the first.")
    seeds: int = declared(1, "With how many seeds of the study each trial is trained.", low=1, high=10_000)
    seed: int = declared(0, "For what is drawn.", low=0, high=2**63 - 1)

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class SearchOptions:
    """The table ``[search]``."""

    words: SearchWords
    base: str
    space: dict[tuple[str, str], Range | Choice]
    """By section and key of a training file."""

    @property
    def keys(self) -> dict[str, list[str]]:
        """The keys that are searched, by section."""
        found: dict[str, list[str]] = {}
        for section, key in self.space:
            found.setdefault(section, []).append(key)
        return found

    def settings(self, trial: int) -> dict[str, dict[str, Any]]:
        """Returns what is drawn for a trial, by section and key; the same however many trials there are."""
        random = np.random.default_rng([self.words.seed, trial])
        drawn: dict[str, dict[str, Any]] = {}
        for (section, key), one in self.space.items():
            drawn.setdefault(section, {})[key] = one.draw(random)
        return drawn

    def rungs(self, steps: int) -> list[tuple[int, int]]:
        """Returns for each rung how many trials are trained, and for how many steps.

        Args:
            steps: Of the last rung, whose trainings are as long as those of the study.
        """
        words = self.words
        if words.method == RANDOM:
            return [(words.trials, steps)]
        counts = [words.trials]
        while counts[-1] > 1:
            counts.append(max(1, counts[-1] // words.eta))
        # A last rung of one would only train the winner again; the study does that with all its seeds.
        counts = counts[:-1] or counts
        return [(count, max(1, steps // words.eta ** (len(counts) - 1 - rung))) for rung, count in enumerate(counts)]


def search_from(table: object, where: str, variants: Sequence[str]) -> SearchOptions:
    """Returns what a table ``[search]`` says.

    Args:
        table: What was read.
        where: Begins every error: the file, and the table in it.
        variants: The variants that there are.

    Raises:
        InputError: A key is unknown, or a value is wrong.
    """
    if not isinstance(table, Mapping):
        raise InputError(f"{where} is {table!r}; expected a table of keys and values")
    plain = {key: value for key, value in table.items() if key != OPTIONS}
    words = from_table(SearchWords, plain, where)
    if words.base is not None:
        check_name("variant", words.base, variants, where=f"{where} base: ")
    space: dict[tuple[str, str], Range | Choice] = {}
    place = f"{where.removesuffix(']')}.{OPTIONS}]"
    options = table.get(OPTIONS)
    for section, keys in options.items() if isinstance(options, Mapping) else ():
        if not isinstance(keys, Mapping):
            raise InputError(f"{place} {section} is {keys!r}; expected section.key, as in ppo.learning_rate")
        for key, given in keys.items():
            space[section, key] = _drawn_from(given, f"{place} {section}.{key}")
    if not space:
        raise InputError(f"{place} has nothing to search; add options, as in ppo.entropy = [0.0, 0.01]")
    return SearchOptions(words, words.base or variants[0], space)


def _drawn_from(given: object, where: str) -> Range | Choice:
    if isinstance(given, list) and given:
        return Choice(tuple(given))
    if not isinstance(given, Mapping):
        expected = "a list of values, or {low = 1e-4, high = 1e-2, log = true}"
        raise InputError(f"{where} is {given!r}; expected {expected}")
    found = from_table(Range, given, where)
    for end in ("low", "high"):
        number(f"{where} {end}", getattr(found, end), -math.inf)
    if not found.low < found.high:
        raise InputError(f"{where}: low is {found.low!r} and high {found.high!r}; expected the smaller one first")
    if found.log and found.low <= 0:
        raise InputError(f"{where}: low is {found.low!r}, which has no logarithm; take one above 0, or leave log out")
    return found
