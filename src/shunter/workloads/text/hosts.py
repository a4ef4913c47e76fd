"""Lists of hosts: ``n[01-04],gpu7`` as Slurm writes them, and ``n1*8,n2*4`` with the cores of each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import product
from math import prod
from typing import Final

_NAME_PARTS: Final = re.compile(r"\[([^\]]*)\]|([^\[\]]+)")
_NAMES_LIMIT: Final = 1_000_000
_CORES: Final = re.compile(r"(.*?)\*(\d{1,9}(?:\.\d{1,3})?)")


def node_names(text: str) -> list[str] | None:
    """Returns the names that a list such as ``a[01-03,7],b2`` means, or None if it is no such list."""
    names: list[str] = []
    # Commas within brackets separate numbers, not names.
    for item in re.split(r",(?![^\[]*\])", text):
        matches = list(_NAME_PARTS.finditer(item))
        is_whole = sum(len(match.group()) for match in matches) == len(item)
        parts = [match.groups() for match in matches]
        choices = [[plain] if plain is not None else _numbers(inner) for inner, plain in parts]
        size = prod(len(choice) for choice in choices)
        # A list such as n[1-99999999] must not fill the memory.
        if not item or not is_whole or size == 0 or len(names) + size > _NAMES_LIMIT:
            return None
        names.extend("".join(parts) for parts in product(*choices))
    return names


def _numbers(text: str) -> list[str]:
    """Returns the numbers that brackets mean, with leading zeros; empty if they hold something else, or too many."""
    numbers: list[str] = []
    for item in text.split(","):
        match = re.fullmatch(r"(\d{1,18})(?:-(\d{1,18}))?", item)
        if match is None:
            return []
        first, last = match.group(1), match.group(2) or match.group(1)
        if int(last) - int(first) >= _NAMES_LIMIT:
            return []
        numbers.extend(str(value).zfill(len(first)) for value in range(int(first), int(last) + 1))
    return numbers


def write_hosts(cores: Mapping[str, float]) -> str | None:
    """Returns the column ``hosts`` of a job: ``n1*8,n2*4`` for cores by the names of hosts; None if there are none."""
    return ",".join(f"{host}*{count:g}" for host, count in cores.items()) or None


def read_hosts(text: str) -> dict[str, float | None] | None:
    """Returns the cores by host of a column ``hosts``; None for the cores that are not told, or for no such list."""
    names = node_names(text)
    if names is None:
        return None
    found: dict[str, float | None] = {}
    for name in names:
        match = _CORES.fullmatch(name)
        found[match.group(1) if match else name] = float(match.group(2)) if match else None
    return found
