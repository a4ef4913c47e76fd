"""Placements: which nodes a job gets, resolved once from a name, a name with parameters or a Python file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shunter.checks import check_name
from shunter.errors import InputError
from shunter.policies.catalog import EXTERNAL, PLACEMENT_CODES, PLACEMENTS, PYTHON_PLACEMENTS
from shunter.policies.own import load_class, make, python_path
from shunter.policies.placements.placer import Placer
from shunter.policies.specs import read_spec

FIRST_FIT: Final = "first-fit"
"""The placement of those who name none."""
MOST_WAITING: Final = 32
"""So many waiting jobs the core tells of."""
_MILP: Final = {"alpha": 1.0, "beta": 0.1, "gamma": 0.1, "k": 5.0, "time_limit_s": 1.0}
"""The parameters of placements by a solver, with their defaults."""


@dataclass(frozen=True)
class Placement:
    """Which nodes a job gets: by the core, or by a `Placer` in Python."""

    text: str
    """What the user wrote, or the name of a placer that was handed over."""
    make_placer: Callable[[], Placer] | None = None
    """Makes the placer, where the rule lives in Python: each simulation has its own."""

    @property
    def code(self) -> int:
        """The core's number."""
        return PLACEMENT_CODES[self.text] if self.make_placer is None else EXTERNAL

    @property
    def file(self) -> Path | None:
        """The Python file that it comes from, if it does."""
        return python_path(self.text)


def resolve_placement(given: str | Placer | Placement) -> Placement:
    """Returns the placement that a text means, checked, or that a placer of the user's own is.

    What is resolved already is returned.

    Raises:
        InputError: The name or a parameter is wrong, or the file does not define just one placement.
    """
    if isinstance(given, Placement):
        return given
    if isinstance(given, Placer):
        return Placement(given.name, lambda: given)
    if python_path(given):
        kind = load_class(given, Placer, "placement", "placements")  # type: ignore[type-abstract]
        return Placement(given, lambda: make(kind, given, "placement"))
    name, asks, _ = given.partition("?")
    check_name("placement", name, PLACEMENTS, also=", or a file FILE.py with a placement of your own")
    if name in PYTHON_PLACEMENTS:
        return Placement(given, _milp(given))
    if asks:
        raise InputError(f"placement {given!r}: {name!r} has no parameters; leave out what follows the name")
    return Placement(given)


def _milp(text: str) -> Callable[[], Placer]:
    """Returns what makes a placement by a solver, whose parameters have been checked."""
    from shunter.policies.placements.milp import MilpPlacer
    from shunter.policies.placements.scene_objective import Weights

    known = {name: PLACEMENTS[name] for name in PYTHON_PLACEMENTS}
    spec = read_spec("placement", text, known, dict.fromkeys(PYTHON_PLACEMENTS, _MILP))

    def placer() -> Placer:
        given = spec.parameters
        if not (given["k"].is_integer() and 0 <= given["k"] <= MOST_WAITING):
            raise InputError(f"k is {given['k']:g}; expected a whole number from 0 to {MOST_WAITING}")
        weights = Weights(given["alpha"], given["beta"], given["gamma"], int(given["k"]))
        return MilpPlacer(full=spec.kind == "milp-full", weights=weights, time_limit_s=given["time_limit_s"])

    try:
        placer()
    except InputError as error:
        raise InputError(f"{spec.where}: {error}") from None
    return placer
