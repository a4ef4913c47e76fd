"""The sliders and choices of a question. What an answer may hold is checked against what was offered, by name."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shunter.errors import InputError
from shunter.service.live.panels import Panel


@dataclass(frozen=True)
class Slider:
    """A number between two others."""

    name: str
    label: str
    low: float
    high: float
    step: float
    value: float
    unit: str = ""

    def to_json(self) -> dict[str, Any]:
        """Returns it as the page draws it."""
        return {"kind": "slider", **vars(self)}

    def read(self, given: object) -> float:
        """Returns the number of a question.

        Raises:
            InputError: It is none, or out of range.
        """
        is_number = isinstance(given, (int, float)) and not isinstance(given, bool) and math.isfinite(given)
        if not is_number or not self.low <= given <= self.high:  # type: ignore[operator]
            raise InputError(f"{self.name} is {str(given)[:40]!r}; give a number from {self.low:g} to {self.high:g}")
        return float(given)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Choice:
    """One of some names."""

    name: str
    label: str
    options: Sequence[str]
    value: str

    def to_json(self) -> dict[str, Any]:
        """Returns it as the page draws it."""
        return {"kind": "choice", **vars(self)}

    def read(self, given: object) -> str:
        """Returns the name of a question.

        Raises:
            InputError: It was not offered.
        """
        if not isinstance(given, str) or given not in self.options:
            raise InputError(f"{self.name} is {str(given)[:40]!r}; give one of {', '.join(self.options)}")
        return given


Control = Slider | Choice


def what_if_panel(controls: Sequence[Control], lead: str) -> Panel:
    """Returns the panel with the controls of a source."""
    return Panel("what-if", "What if", {"controls": [one.to_json() for one in controls]}, lead, wide=True)


def read_answers(controls: Sequence[Control], question: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the value of each control; one that a question leaves out is as it is now.

    Raises:
        InputError: One was not offered, or not with this value.
    """
    unknown = set(question) - {one.name for one in controls}
    if unknown:
        names = ", ".join(one.name for one in controls)
        raise InputError(f"{sorted(unknown)[0][:40]!r} is not asked here; there are: {names or 'none'}")
    return {one.name: one.read(question.get(one.name, one.value)) for one in controls}
