"""The Python face of the core: simulations, policies, and their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shunter.simulate.policy import Policy, QueueView
    from shunter.simulate.run import simulate
    from shunter.simulate.settings import check_settings
    from shunter.simulate.simulation import Simulation
    from shunter.simulate.states import Snapshot, Status
    from shunter.simulate.windows import WindowRunner

__all__ = [
    "Policy",
    "QueueView",
    "Simulation",
    "Snapshot",
    "Status",
    "WindowRunner",
    "check_settings",
    "simulate",
]

_HOMES = {
    "Policy": "policy",
    "QueueView": "policy",
    "Simulation": "simulation",
    "Snapshot": "states",
    "Status": "states",
    "WindowRunner": "windows",
    "check_settings": "settings",
    "simulate": "run",
}


def __getattr__(name: str) -> object:
    """Imports on first use, so that a command line that only asks for help does not load NumPy."""
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
