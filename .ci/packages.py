"""Prints what pyproject.toml asks for, a package a line: of the base, or of the extras that are named.

``make`` has these installed while the core compiles; pip itself would first do the one and then the other.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
OWN = re.compile(rf"{PROJECT['name']}\[(?P<extras>[^]]*)\]")
"""An extra that consists of others: ``shunter[learn,plot]``."""


def packages(extra: str) -> Iterator[str]:
    """Yields the packages of an extra."""
    for text in PROJECT["optional-dependencies"][extra]:
        own = OWN.fullmatch(text)
        if own is None:
            yield text
        else:
            for name in own["extras"].split(","):
                yield from packages(name)


for line in [text for name in sys.argv[1:] for text in packages(name)] or PROJECT["dependencies"]:
    print(line)
