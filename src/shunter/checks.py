"""One way to check what comes from outside: names, numbers, and dataclasses whose fields say what they may hold.

A dataclass whose fields are made by `declared` says once, for each of them, its type, default, range and meaning.
`check_fields` checks an object of it, `from_table` reads one from TOML or JSON, `to_table` writes one, and the command
line takes the help of its options from the same place. Every error is one line that says what to do.
"""

from __future__ import annotations

import math
import re
import types
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from datetime import date, time
from functools import cache
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints
from urllib.parse import parse_qsl

from shunter.errors import InputError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")

MOST_SEED: Final = 2**64 - 1
NOTHING: Final = "none"
"""What stands for None in a table: TOML has no word of its own for it."""

TIME: Final = "TIME"
"""What the help of an option calls a time; `seconds_of` says how one may be written."""

RANGE: Final = "A:B"
"""What the help of an option calls a range: two numbers with a colon between them."""

_AMOUNT: Final = r"(\d+(?:\.\d*)?|\.\d+)"
_UNITS_S: Final = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_DURATION: Final = re.compile("".join(f"(?:{_AMOUNT}{unit}{'(?:in)?' if unit == 'm' else ''})?" for unit in _UNITS_S))

_KEY: Final = "declared"
_WORDS: Final = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text in quotes",
    types.NoneType: repr(NOTHING),
}
_LISTS: Final = {str: "a list of names in quotes, as in ['ann', 'bob']", float: "a list of numbers"}


def check_name(
    kind: str,
    value: str,
    names: Iterable[str],
    also: str = "",
    where: str = "",
    synonyms: Mapping[str, str] | None = None,
) -> str:
    """Returns the value if it is one of the names, and otherwise raises an error with the nearest of them.

    Args:
        kind: What the value is, as the user calls it: ``policy``.
        value: What the user gave.
        names: The values allowed.
        also: What else is allowed, for the error message.
        where: Begins the error message: the file or the option, with a colon and a blank.
        synonyms: Other words for some of the names, which are suggested but not taken.
    """
    names = list(names)
    if value in names:
        return value
    from difflib import get_close_matches

    written = str(value).lower().replace("_", "-")
    nearest = get_close_matches(written, names, n=5)
    # Letters are often swapped: sfj is sjf, though srf is as near.
    nearest.sort(key=lambda name: sorted(name) != sorted(written))
    meant = [name for word, name in (synonyms or {}).items() if word == written and name in names] + nearest
    hint = f"did you mean {meant[0]!r}? The" if meant else "the"
    raise InputError(f"{where}unknown {kind} {value!r}; {hint} known ones are {', '.join(names)}{also}")


def whole(name: str, value: object, low: int, high: int) -> int:
    """Returns a whole number within its bounds."""
    # A bool is an int to Python, but nobody means 1 by true.
    if isinstance(value, bool) or not isinstance(value, Integral) or not low <= int(value) <= high:
        raise InputError(f"{name} is {value!r}; expected a whole number from {low} to {high}")
    return int(value)


def number(
    name: str, value: object, low: float, high: float = math.inf, *, above: bool = False, unit: str = ""
) -> float:
    """Returns a finite number from `low` to `high`; with `above`, one that is larger than `low`."""
    try:
        given = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    # An int may have more digits than a float can hold.
    except OverflowError:
        given = math.nan
    # NaN is refused here without being asked for: it lies within no bounds.
    if low <= given <= high and math.isfinite(given) and not (above and given == low):
        return given
    if math.isfinite(high):
        expected = f"a number {'above' if above else 'from'} {low:g} to {high:.10g}"
    elif above:
        expected = f"a finite number above {low:g}"
    else:
        expected = "a finite number" + (f" of {low:g} or more" if math.isfinite(low) else "")
    raise InputError(f"{name} is {value!r}; expected {expected}{unit and ' ' + unit}")


def seconds_of(text: str) -> float | None:
    """Returns the seconds that a text means: ``1d``, ``36h``, ``90m``, ``2h30m``, or a number; None: it means none."""
    try:
        return float(text)
    except ValueError:
        match = _DURATION.fullmatch(text.strip().lower())
    amounts = zip(match.groups() if match else (), _UNITS_S.values(), strict=False)
    parts = [float(amount) * size for amount, size in amounts if amount is not None]
    return math.fsum(parts) if parts else None


def timed(name: str, value: object, called: str = "") -> Any:  # noqa: ANN401 - the value itself, mostly
    """Returns the seconds where a time is given as text, such as ``36h``; anything else stays as it is.

    Args:
        name: Of the field or parameter; one that ends in ``_s`` is a time.
        value: What was given for it.
        called: What errors call it, if that is not its name.

    Raises:
        InputError: The text of a time is none.
    """
    if not (name.endswith("_s") and isinstance(value, str)) or value == NOTHING:
        return value
    found = seconds_of(value)
    if found is None:
        expected = "a time such as 90m, 36h, 1d or 2h30m, or a number of seconds"
        raise InputError(f"{called or name} is {value!r}; expected {expected}")
    return found


def pair(name: str, value: object, low: int, high: int) -> tuple[int, int]:
    """Returns a range of whole numbers, the smaller one first."""
    if isinstance(value, tuple | list) and len(value) == 2:
        least, most = (whole(name, each, low, high) for each in value)
        if least <= most:
            return least, most
    raise InputError(f"{name} is {value!r}; expected two whole numbers, the smaller one first")


def numbers_by_name(name: str, value: object, low: float) -> dict[str, float]:
    """Returns names with a finite number each."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InputError(f"{name} is {value!r}; expected names with a number each, as in {{'wait': 1.0}}")
    return {key: number(f"{name}[{key!r}]", each, low) for key, each in value.items()}


def distinct_names(name: str, value: object) -> tuple[str, ...]:
    """Returns a list of different names."""
    if isinstance(value, str) or not isinstance(value, tuple | list) or not all(isinstance(one, str) for one in value):
        raise InputError(f"{name} is {as_written(value)}; expected a list of names in quotes, as in ['night_job']")
    # A name that stands twice is a slip; counting it twice would go unseen.
    if len(set(value)) < len(value):
        raise InputError(f"{name} is {value!r}; expected each name once")
    return tuple(value)


def read_query(query: str, where: str, example: str) -> dict[str, str]:
    """Returns the parameters of a query such as ``seed=42&jobs=1000`` by name; an empty query has none.

    Args:
        query: What stands behind the question mark.
        where: How errors call the spec.
        example: How such parameters are written, for the error message.

    Raises:
        InputError: A part is not ``name=value``, or a name is given twice.
    """
    try:
        # A plus belongs to a number such as 1e+3; it does not stand for a blank.
        pairs = parse_qsl(query.replace("+", "%2B"), keep_blank_values=True, strict_parsing=bool(query))
    except ValueError:
        raise InputError(f"{where}: parameters cannot be read; write them as {example}") from None
    given: dict[str, str] = {}
    for name, value in pairs:
        if name in given:
            raise InputError(f"{where}: parameter {name!r} is given twice; give it once")
        given[name] = value
    return given


@dataclass(frozen=True)
class Declaration:
    """What is said of a field besides its type and its default."""

    help: str = ""
    """One or two sentences for the help of its option and for the documentation."""
    low: float | None = None
    """The least value; None: a number without bounds, or no number."""
    high: float = math.inf
    above: bool = False
    """Whether the value must be larger than `low`."""
    choices: Collection[str] = ()
    """The names allowed; none: any text. A mapping has the meaning of each name."""
    option: str = ""
    """The name of its option on the command line, without the hyphens before it; none: it has no option of its own."""
    metavar: str = ""
    """What the help of the option calls the value."""
    shown_default: str = ""
    """What the help says where the default is None, or says too little."""
    is_open: bool = False
    """Whether the option has no value of its own where it is not given: what stands in depends on something else."""
    core: str = ""
    """The field of the core's configuration that it fills, where it fills one by itself."""
    to_core: Callable[[Any], Any] | None = None
    """Turns the value into what the core's field holds; None: it holds the value itself."""


def declared(default: Any, help: str = "", **said: Any) -> Any:  # noqa: ANN401 - as `dataclasses.field` is typed
    """Returns a field of a dataclass that says what it may hold; `said` are fields of `Declaration`."""
    metadata = {_KEY: Declaration(help=help, **said)}
    # What makes a default is called for each object, so that no two share one dict.
    if isinstance(default, types.FunctionType | type):
        return field(default_factory=default, metadata=metadata)
    return field(default=default, metadata=metadata)


def declarations(kind: type[DataclassInstance]) -> dict[str, Declaration]:
    """Returns what is said of each declared field of a dataclass, by its name."""
    return {one.name: one.metadata[_KEY] for one in fields(kind) if _KEY in one.metadata}


def check_fields(value: DataclassInstance, section: str = "", names: Mapping[str, str] | None = None) -> None:
    """Checks all declared fields of an object: types, ranges and names.

    Args:
        value: An object of a dataclass whose fields are `declared`.
        section: Begins what errors call a field: ``[ppo] ``.
        names: What errors call some of the fields, where that is not their name.

    Raises:
        InputError: A field holds something else.
    """
    hints = _hints(type(value))
    for name, said in declarations(type(value)).items():
        called = (names or {}).get(name, f"{section}{name}")
        check_field(called, getattr(value, name), hints[name], said)


@cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    # Annotations are texts here (`from __future__ import annotations`), and have to be looked up, which takes long.
    return get_type_hints(kind)


def check_field(name: str, value: object, hint: Any, said: Declaration) -> None:  # noqa: ANN401 - any type hint
    """Checks one value against a type hint and a declaration; errors call it by this name."""
    kinds = _kinds(hint)
    if value is None and types.NoneType in kinds:
        return
    # A field may hold a name or a number, as 'auto' or 5 (`int | str`): then only a text must be one of the choices.
    if said.choices and (isinstance(value, str) or set(kinds) <= {str, types.NoneType}):
        # A name may begin with its place, which is no part of what is unknown.
        place, _, kind = name.rpartition(": ")
        check_name(kind, str(value), said.choices, where=f"{place}: " if place else "")
    elif said.low is not None and int in kinds and float not in kinds and not isinstance(value, tuple):
        # Where nothing bounds it, 64 bits do: that much the core and NumPy can hold.
        whole(name, value, int(said.low), int(said.high) if math.isfinite(said.high) else MOST_SEED)
    elif said.low is not None and float in kinds and not (isinstance(value, str) and str in kinds):
        number(name, value, said.low, said.high, above=said.above, unit="seconds" if said.metavar == TIME else "")
    elif kinds == (bool,) and not isinstance(value, bool):
        raise InputError(f"{name} is {value!r}; expected true or false")


def _kinds(hint: Any) -> tuple[Any, ...]:  # noqa: ANN401 - any type hint
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def deal_out(keywords: Mapping[str, Any], *classes: type[Any], also: Iterable[str] = ()) -> list[Any]:
    """Makes an object of each dataclass from the keywords that are its fields; a keyword may go to several objects.

    Args:
        keywords: By name.
        classes: The dataclasses.
        also: Keywords that the caller takes itself, and which may be what a mistyped one was meant to be.

    Raises:
        InputError: None of them knows a keyword, or a value is wrong.
    """
    known = [{one.name for one in fields(kind)} for kind in classes]
    names_of_all = dict.fromkeys([*also, *(one.name for kind in classes for one in fields(kind))])
    for keyword in keywords:
        check_name("keyword", keyword, names_of_all)
    return [
        kind(**{name: value for name, value in keywords.items() if name in names})
        for kind, names in zip(classes, known, strict=True)
    ]


def to_table(value: DataclassInstance) -> dict[str, Any]:
    """Returns the fields of a dataclass as TOML and JSON know them."""
    return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever a field holds
    if value is None:
        return NOTHING
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, tuple) else value


def from_table(kind: type[T], table: object, where: str) -> T:
    """Returns a dataclass from a table; keys that the table leaves out get the default of their field.

    Args:
        kind: A dataclass of numbers, text, and tuples and mappings of them.
        table: What was read.
        where: Begins every error: the file, and the section in it.

    Raises:
        InputError: A key is unknown, or a value has the wrong type or is refused by the dataclass.
    """
    if not isinstance(table, Mapping):
        raise InputError(f"{where} is {table!r}; expected a table of keys and values")
    hints = _hints(kind)
    names = [one.name for one in fields(kind)]
    try:
        for key in table:
            check_name("key", key, names)
        for one in fields(kind):
            if one.default is MISSING and one.default_factory is MISSING and one.name not in table:
                raise InputError(f"{one.name} is missing; add it")
        return kind(**{key: typed(timed(key, value), hints[key], key) for key, value in table.items()})
    except InputError as error:
        # A dataclass names its section too, for those who make it without a file.
        file, _, section = where.rpartition(" ")
        named = bool(file) and str(error).startswith(f"{section} ")
        raise InputError(f"{file if named else where + ':'} {error}") from None


def typed(value: object, hint: Any, name: str) -> Any:  # noqa: ANN401 - whatever the field's type is
    """Returns a value that was read from a table as the type hint wants it, or raises an error."""
    kinds = _kinds(hint)
    if types.NoneType in kinds and value == NOTHING:
        return None
    # The first kind that takes the value counts, so that 5 stays an int where `int | float` is wanted.
    for one in kinds:
        found, converted = _try(value, one)
        if found:
            return converted
    raise InputError(f"{name} is {as_written(value)}; expected {_expected(hint)}")


def as_written(value: object) -> str:
    """Returns a value as errors show it: TOML's dates and times as the file has them, all else as Python does."""
    return str(value) if isinstance(value, date | time) else repr(value)


def _try(value: object, hint: Any) -> tuple[bool, Any]:  # noqa: ANN401 - whatever the field's type is
    """Returns whether the value is of a type that is not a union, and then the value."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is tuple:
        return _try_tuple(value, inner)
    if origin is not None:  # a mapping from text
        if not isinstance(value, Mapping):
            return False, None
        tried = {key: _try(each, inner[1]) for key, each in value.items()}
        return all(found for found, _ in tried.values()), {key: each for key, (_, each) in tried.items()}
    # TOML and JSON write 5 where 5.0 is meant.
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        try:
            return True, float(value)
        # An int may have more digits than a float can hold.
        except OverflowError:
            return False, None
    # isinstance would take True for an int.
    return type(value) is hint, value


def _try_tuple(value: object, inner: tuple[Any, ...]) -> tuple[bool, Any]:
    if not isinstance(value, list | tuple):
        return False, None
    hints = [inner[0]] * len(value) if inner[-1] is Ellipsis else list(inner)
    tried = [_try(each, hint) for each, hint in zip(value, hints, strict=False)]
    return len(value) == len(hints) and all(found for found, _ in tried), tuple(each for _, each in tried)


def _expected(hint: Any) -> str:  # noqa: ANN401 - whatever the field's type is
    if get_origin(hint) in (Union, types.UnionType):
        return " or ".join(_expected(one) for one in get_args(hint))
    if get_origin(hint) is tuple:
        return _LISTS.get(get_args(hint)[0], "a list")
    return _WORDS.get(hint, "a table of numbers")
