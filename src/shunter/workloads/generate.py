"""Generators by name: ``lublin?seed=42&jobs=10000&cores=256&load=0.9``."""

from __future__ import annotations

import hashlib
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl

from shunter.errors import InputError
from shunter.model.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Iterable

GENERATORS: Final = ("lublin",)


def generate(spec: str) -> Workload:
    """Generates a workload from a generator's name and its parameters, written like a web address's query.

    The content hash is that of the spec with every parameter in it, so that two spellings of one workload agree.

    Raises:
        InputError: The generator or a parameter is unknown, or a value is out of its range.
    """
    from shunter.workloads import lublin

    name, _, query = spec.partition("?")
    where = f"generate:{name}"
    if name not in GENERATORS:
        raise InputError(f'generator "{name}" is unknown; {_suggest(name, GENERATORS)}')
    given = _query(query, where)
    for key in given:
        if key not in lublin.DEFAULTS:
            raise InputError(f'{where}: unknown parameter "{key}"; {_suggest(key, lublin.DEFAULTS)}')
    parameters = lublin.Parameters.parse(given, where)
    canonical = f"{where}?{parameters.canonical()}"
    return Workload.from_frame(
        lublin.generate_jobs(parameters),
        name=f"generate:{spec}",
        content_sha256=hashlib.sha256(canonical.encode()).hexdigest(),
        machine_cores=parameters.cores,
    )


def _query(query: str, where: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError as error:
        raise InputError(f"{where}: parameters cannot be read ({error}); write them as seed=42&jobs=1000") from None
    given: dict[str, str] = {}
    for key, value in pairs:
        if key in given:
            raise InputError(f'{where}: parameter "{key}" is given twice; give it once')
        given[key] = value
    return given


def _suggest(word: str, known: Iterable[str]) -> str:
    names = list(known)
    close = get_close_matches(word, names, n=1, cutoff=0.4)
    return f'did you mean "{close[0]}"?' if close else f"known: {', '.join(names)}"
