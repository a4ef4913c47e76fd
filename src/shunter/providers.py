"""What higher layers provide to lower ones, by name: a lower layer asks here, and imports nothing from above.

The front door (``shunter/__init__.py``) says which module provides what; it is imported when somebody asks.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Final

LEARNED_POLICIES: Final = "what runs learned policies"

_HOMES: dict[str, str] = {}


def provide(what: str, module: str) -> None:
    """Registers the module that provides something."""
    _HOMES[what] = module


def provided(what: str) -> ModuleType:
    """Returns the module that provides something."""
    return import_module(_HOMES[what])
