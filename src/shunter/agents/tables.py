"""Dataclasses to and from the tables of TOML and JSON."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

from shunter.checks import check_name
from shunter.errors import InputError
from shunter.toml_values import toml_value

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")

NOTHING: Final = "none"
"""What stands for a value that is not there: TOML has no word of its own for it."""

_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text", types.NoneType: repr(NOTHING)}


def to_table(value: DataclassInstance) -> dict[str, Any]:
    """Returns the fields of a dataclass as TOML and JSON know them."""
    return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever a field holds
    if value is None:
        return NOTHING
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, tuple) else value


def from_table(kind: type[T], table: object, where: str) -> T:
    """Returns a dataclass from a table; what the table leaves out is as the dataclass has it.

    Args:
        kind: A dataclass of numbers, text, and tuples and mappings of them.
        table: What was read.
        where: Begins every error: the file, and the section in it.

    Raises:
        InputError: A key is unknown, or a value has the wrong type or is refused by the dataclass.
    """
    if not isinstance(table, Mapping):
        raise InputError(f"{where} is {table!r}; expected a table of keys and values")
    hints = get_type_hints(kind)
    names = [field.name for field in fields(kind)]
    try:
        for key in table:
            check_name("key", key, names)
        return kind(**{key: _typed(value, hints[key], key) for key, value in table.items()})
    except InputError as error:
        # A dataclass names its section too, for those who make it without a file.
        file, _, section = where.rpartition(" ")
        named = bool(file) and str(error).startswith(f"{section} ")
        raise InputError(f"{file if named else where + ':'} {error}") from None


def _typed(value: object, hint: Any, name: str) -> Any:  # noqa: ANN401 - whatever the field's type is
    """Returns the value as the type hint wants it, or raises an error."""
    choices = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    if types.NoneType in choices and value == NOTHING:
        return None
    for one in choices:
        found, converted = _try(value, one)
        if found:
            return converted
    raise InputError(f"{name} is {value!r}; expected {_expected(hint)}")


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
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return True, float(value)
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
        return "a list"
    return _WORDS.get(hint, "a table of numbers")


def toml_text(sections: Mapping[str, Mapping[str, Any]]) -> str:
    """Returns a TOML file of these sections; reading it gives the same numbers again."""
    parts = []
    for name, section in sections.items():
        lines = [f"{key} = {toml_value(value)}\n" for key, value in section.items()]
        parts.append(f"[{name}]\n" + "".join(lines))
    return "\n".join(parts)
