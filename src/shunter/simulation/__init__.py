"""The Python face of the core: simulations, many windows at once, and decisions from any state."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shunter.simulation.decision import Decision
    from shunter.simulation.run import decide, simulate
    from shunter.simulation.simulation import Simulation
    from shunter.simulation.states import Status
    from shunter.simulation.windows import WindowRunner

__all__ = [
    "Decision",
    "Simulation",
    "Status",
    "WindowRunner",
    "decide",
    "simulate",
]

_HOMES = {
    "Decision": "decision",
    "Simulation": "simulation",
    "Status": "states",
    "WindowRunner": "windows",
    "decide": "run",
    "simulate": "run",
}


def __getattr__(name: str) -> object:
    """Imports on first use, so that a command line that only asks for help does not load NumPy."""
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
