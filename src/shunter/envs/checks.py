"""Checks of what a user gives to an environment; each error is one line."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from numbers import Integral, Real
from typing import Any, Final

from shunter.checks import check_name
from shunter.errors import InputError

MOST_SEED: Final = 2**64 - 1


def whole(name: str, value: object, low: int, high: int) -> int:
    """Returns a whole number within its bounds."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not low <= int(value) <= high:
        raise InputError(f"{name} is {value!r}; expected a whole number from {low} to {high}")
    return int(value)


def number(name: str, value: object, low: float) -> float:
    """Returns a finite number that is not below its bound."""
    try:
        given = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    except OverflowError:
        given = math.nan
    if not low <= given < math.inf:
        bound = f" of {low:g} or more" if math.isfinite(low) else ""
        raise InputError(f"{name} is {value!r}; expected a finite number{bound}")
    return given


def pair(name: str, value: object, low: int, high: int) -> tuple[int, int]:
    """Returns a range of whole numbers, the smaller one first."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise InputError(f"{name} is {value!r}; expected two whole numbers, the smaller one first")
    least, most = (whole(name, each, low, high) for each in value)
    if least > most:
        raise InputError(f"{name} is {value!r}; expected two whole numbers, the smaller one first")
    return least, most


def numbers_by_name(name: str, value: object, low: float) -> dict[str, float]:
    """Returns names with a finite number each."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InputError(f"{name} is {value!r}; expected names with a number each, as in {{'wait': 1.0}}")
    return {key: number(f"{name}[{key!r}]", each, low) for key, each in value.items()}


def distinct_names(name: str, value: object) -> tuple[str, ...]:
    """Returns a list of different names."""
    if isinstance(value, str) or not isinstance(value, tuple | list) or not all(isinstance(one, str) for one in value):
        raise InputError(f"{name} is {value!r}; expected a list of names, as in ['night_job']")
    if len(set(value)) < len(value):
        raise InputError(f"{name} is {value!r}; expected each name once")
    return tuple(value)


def dealt_out(keywords: Mapping[str, Any], *classes: type[Any]) -> list[Any]:
    """Returns one object of each class, made of the keywords that it knows; several may know one.

    Raises:
        InputError: None of them knows a keyword, or a value is wrong.
    """
    known = [{field.name for field in fields(one)} for one in classes]
    for keyword in keywords:
        check_name("keyword", keyword, dict.fromkeys(field.name for one in classes for field in fields(one)))
    return [
        one(**{name: value for name, value in keywords.items() if name in names})
        for one, names in zip(classes, known, strict=True)
    ]
