"""Numbers as they are given in a change: ``1.2x``, ``+20%``, ``-64``, ``512``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from shunter.errors import InputError

_NUMBER = r"\d+(?:\.\d*)?|\.\d+"
_AMOUNT = re.compile(
    rf"(?P<value>{_NUMBER})|(?P<times>{_NUMBER})x|x(?P<factor>{_NUMBER})|(?P<added>[+-](?:{_NUMBER}))%?"
)


@dataclass(frozen=True)
class Amount:
    """A factor, a number to add, or the new value itself: one of the three."""

    factor: float | None = None
    added: float | None = None
    value: float | None = None

    @classmethod
    def parse(cls, what: str, text: str) -> Amount:
        """Returns what ``1.2x``, ``x1.2``, ``+20%``, ``-64`` or ``512`` means.

        Args:
            what: What is changed, for the error message: ``cores``.
            text: What the user gave.

        Raises:
            InputError: It is none of these.
        """
        match = _AMOUNT.fullmatch(text)
        if match is None:
            raise InputError(f"--change {what}={text}: expected a number as in 1.2x, +20%, -64 or 512")
        if match["added"]:
            added = float(match["added"])
            return cls(factor=1 + added / 100) if text.endswith("%") else cls(added=added)
        if match["value"]:
            return cls(value=float(match["value"]))
        return cls(factor=float(match["times"] or match["factor"]))

    def of(self, old: float) -> float:
        """Returns the new value."""
        if self.value is not None:
            return self.value
        return old + self.added if self.added is not None else old * (self.factor or 0.0)
