"""Packages that only some of the work needs: which they are, and what installs them."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from shunter.errors import InputError

LEARN, MILP, PLOT, RAY, SERVE = "learn", "milp", "plot", "ray", "serve"
PACKAGES: Final = {
    LEARN: {"torch": "PyTorch"},
    MILP: {"highspy": "highspy"},
    PLOT: {"matplotlib": "Matplotlib"},
    RAY: {"ray": "Ray"},
    SERVE: {
        "fastapi": "FastAPI",
        "httptools": "httptools",
        "prometheus_client": "prometheus-client",
        "uvicorn": "Uvicorn",
    },
}
"""By extra: the modules that are imported, and what people call the packages."""


def is_installed(extra: str) -> bool:
    """Returns whether all packages of an extra are there."""
    return not _missing(extra)


def need(extra: str, what: str) -> None:
    """Raises an error if a package of an extra is missing; called before anything takes long.

    Args:
        extra: By the name that pip installs it by.
        what: The option, verb or thing that needs it.
    """
    missing = _missing(extra)
    if missing:
        raise InputError(f"{what} needs {', '.join(missing)}: pip install 'shunter[{extra}]'")


def _missing(extra: str) -> list[str]:
    # To look for a package takes a millisecond; to import PyTorch would take seconds.
    return [title for module, title in PACKAGES[extra].items() if find_spec(module) is None]
