"""Locality: by how much slower a gang runs that is spread, and how long a job waits for nodes that are close."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from shunter.checks import seconds_of
from shunter.errors import InputError

LEVELS: Final = ("nodes", "switches", "racks")
"""What a gang may be spread over: more nodes than it needs, several switches, several racks."""
Slowdown = tuple[int, int, int]
"""By how much slower a gang is at each of `LEVELS`, in millionths."""
NO_SLOWDOWN: Final[Slowdown] = (1_000_000, 1_000_000, 1_000_000)
SLOWDOWN_RANGE: Final = (0.01, 1000.0)
_MICRO: Final = 1_000_000

NEVER: Final = "never"
ALWAYS: Final = "always"
FOR_EVER_MS: Final = -1
NO_LOSS: Final = -1
"""None but the closest nodes will do, whether others cost anything or not."""
MOST_LOSS: Final = 1000.0
LONGEST_WAIT_S: Final = 1e9


def slowdown_of(told: Mapping[str, tuple[str, object]]) -> Slowdown | None:
    """Returns the slowdown at each level; None if nothing is told.

    A level of which nothing is told is as slow as the one before it; the first, as fast as if it were not spread.

    Args:
        told: By level, what errors call its value, and the value: a number, or one written as text.

    Raises:
        InputError: A value is not a number in its range.
    """
    if not told:
        return None
    micro = _MICRO
    found = []
    for level in LEVELS:
        if level in told:
            micro = round(_number(*told[level]) * _MICRO)
        found.append(micro)
    return found[0], found[1], found[2]


def _number(where: str, value: object) -> float:
    low, high = SLOWDOWN_RANGE
    try:
        slowdown = float(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else math.nan
    except ValueError:
        slowdown = math.nan
    if not low <= slowdown <= high:
        raise InputError(f"{where} is {value!r}; expected how many times longer a job takes, {low:g} to {high:g}")
    return slowdown


def locality_terms(text: str) -> tuple[int, int]:
    """Returns how long a job waits for close nodes, in ms, and what it may lose without waiting, in millionths.

    It waits `FOR_EVER_MS` if it is no matter of time. With `NO_LOSS` it takes none but the closest nodes meanwhile.

    Args:
        text: ``never``, ``always``, a time such as ``10m``, or a loss such as ``10%``.

    Raises:
        InputError: It is none of these.
    """
    if text == NEVER:
        return 0, 0
    if text == ALWAYS:
        return FOR_EVER_MS, NO_LOSS
    if text.endswith("%"):
        try:
            loss = float(text[:-1]) / 100
        except ValueError:
            loss = math.nan
        if 0 <= loss <= MOST_LOSS:
            return FOR_EVER_MS, round(loss * _MICRO)
    else:
        seconds = seconds_of(text)
        if seconds is not None and 0 <= seconds <= LONGEST_WAIT_S:
            return round(seconds * 1000), NO_LOSS
    raise InputError(
        f"--wait-for-locality (wait_for_locality) is {text!r}; expected never, always, a time such as 10m, or what a "
        "job may lose, such as 10%"
    )
