"""Names with parameters: ``hybrid?aging=0.5``, or the same from a TOML file."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shunter.checks import check_name, read_query
from shunter.errors import InputError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Parameters = Mapping[str, Mapping[str, float]]
"""For each name that has parameters, their defaults."""


@dataclass(frozen=True)
class Spec:
    """What a user asked for: a name, its parameters, and what a file gives beside them."""

    kind: str
    parameters: dict[str, float]
    tables: dict[str, Any] = field(default_factory=dict)
    where: str = ""
    """What errors call it."""

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
    """Returns what a spec asks for.

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
    check_name(what, name, names, also=also)
    where = f"{what} {text!r}"
    texts = read_query(query, where, "name?aging=0.5&other=1")
    given = {key: _parsed(value, f"{where}: {key}") for key, value in texts.items()}
    return Spec(name, _filled(what, name, given, parameters, where), where=where)


def _from_file(what: str, path: Path, names: Mapping[str, str], parameters: Parameters) -> Spec:
    section = read_toml(path).get(what)
    if not isinstance(section, dict):
        raise InputError(f'{path}: has no section [{what}]; add one with kind = "..."')
    kind = section.pop("kind", None)
    if not isinstance(kind, str):
        raise InputError(f'{path}: [{what}] has no kind; add a line such as kind = "{next(iter(parameters))}"')
    try:
        check_name(what, kind, names)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    tables = {key: value for key, value in section.items() if isinstance(value, dict | list)}
    given = {key: _to_number(value, f"{path}: {key}") for key, value in section.items() if key not in tables}
    return Spec(kind, _filled(what, kind, given, parameters, str(path)), tables, where=str(path))


def read_toml(path: Path) -> dict[str, Any]:
    """Returns what a TOML file holds, or raises an error that says why it cannot be read."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; check the path") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from None
    except (ValueError, RecursionError) as error:  # not TOML, a number with too many digits, or lists in lists in lists
        raise InputError(f"{path}: is not TOML ({error}); mend the file") from None


def _filled(what: str, kind: str, given: dict[str, float], parameters: Parameters, where: str) -> dict[str, float]:
    defaults = parameters.get(kind, {})
    for key in given:
        if key not in defaults:
            known = f"it knows {', '.join(defaults)}" if defaults else "it has none"
            raise InputError(f"{where}: {what} {kind!r} has no parameter {key!r}; {known}")
    return {**defaults, **given}


def _parsed(text: str, where: str) -> float:
    try:
        return _to_number(float(text), where)
    except ValueError:
        raise InputError(f"{where} is {text!r}; expected a number") from None


def _to_number(value: object, where: str) -> float:
    """Returns a number; infinity is one, for a bound that never binds."""
    try:
        number = float(value) if isinstance(value, bool | int | float) else math.nan
    except OverflowError:
        number = math.nan
    if math.isnan(number):
        raise InputError(f"{where} is {value!r}; expected a number")
    return number
