"""Parameters behind a name, written like a web address's query: ``seed=42&jobs=10000``."""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qsl

from shunter.errors import InputError

GENERATE: Final = "generate:"
"""How the text that names a generator starts: ``generate:lublin?seed=42&jobs=10000&cores=256&load=0.9``."""


def read_query(query: str, where: str, example: str) -> dict[str, str]:
    """Returns the values of a query by their names; an empty one has none.

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
