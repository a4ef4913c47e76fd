"""The core's numbers for its names: phases, policies, placements and so on.

Light, for the catalog of names is built on it, and the command line on that.
"""

from __future__ import annotations

import re
from operator import itemgetter

from shunter._core import ffi


def core_numbers(name: str) -> dict[str, int]:
    """Returns the core's numbers for the names of one of its enums: ``core_numbers("Phase")["RUNNING"]``.

    They come with the compiled library. ``core/include/shunter.h`` lists them as ``enum ShunterPhase`` and so on.
    """
    prefix = f"SHUNTER_{re.sub(r'(?<=[a-z])(?=[A-Z])', '_', name).upper()}_"
    found: dict[str, int] = ffi.typeof(f"enum Shunter{name}").relements
    return {label.removeprefix(prefix): number for label, number in sorted(found.items(), key=itemgetter(1))}


def in_capitals(name: str) -> str:
    """Returns a name as the core's enums spell it."""
    return name.replace("-", "_").upper()
