"""Placements that live in Python, by what a user writes: ``milp?k=10``, or a file of the user's own."""

from __future__ import annotations

from typing import Final

from shunter.errors import InputError
from shunter.policies.names import PLACEMENTS, PYTHON_PLACEMENTS
from shunter.policies.placements.milp import MilpPlacer
from shunter.policies.placements.placer import Placer
from shunter.policies.placements.scene_objective import Weights
from shunter.policies.policy_file import load_own, python_path
from shunter.policies.specs import Spec, read_spec

MOST_WAITING: Final = 32
"""So many waiting jobs the core tells of."""

DEFAULTS: Final[dict[str, float]] = {"alpha": 1.0, "beta": 0.1, "gamma": 0.1, "k": 5.0, "time_limit_s": 1.0}
PARAMETERS: Final = dict.fromkeys(PYTHON_PLACEMENTS, DEFAULTS)
"""The parameters of these placements, with their defaults."""


def placement_spec(text: str) -> Spec:
    """Returns what the spec of a placement by a solver asks for, checked.

    Raises:
        InputError: The name or a parameter is wrong.
    """
    spec = read_spec("placement", text, {name: PLACEMENTS[name] for name in PYTHON_PLACEMENTS}, PARAMETERS)
    try:
        _made(spec)
    except InputError as error:
        raise InputError(f"{spec.where}: {error}") from None
    return spec


def make_placer(text: str) -> Placer | None:
    """Returns the placement that a spec asks for; None if it is none that lives in Python.

    Raises:
        InputError: A parameter is wrong, or the user's file does not define just the placement asked for.
    """
    if python_path(text):
        return load_own(text, Placer, "placement", "placements")  # type: ignore[type-abstract]
    if text.partition("?")[0] not in PYTHON_PLACEMENTS:
        return None
    return _made(placement_spec(text))


def _made(spec: Spec) -> MilpPlacer:
    given = spec.parameters
    if not (given["k"].is_integer() and 0 <= given["k"] <= MOST_WAITING):
        raise InputError(f"k is {given['k']:g}; expected a whole number from 0 to {MOST_WAITING}")
    weights = Weights(given["alpha"], given["beta"], given["gamma"], int(given["k"]))
    return MilpPlacer(full=spec.kind == "milp-full", weights=weights, time_limit_s=given["time_limit_s"])
