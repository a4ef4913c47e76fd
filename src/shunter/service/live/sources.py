"""What a live page looks at: the one interface of all sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from shunter.service.live.panels import Panel
from shunter.service.refusals import RefusedError

Panels = dict[str, Panel]
"""By key, in the order in which they are shown."""


class Source(Protocol):
    """Something that goes on and can be looked at. It is read and asked on threads, one reading at a time."""

    name: str
    """By which requests ask for it, and what its tab is called."""
    kind: str
    """What it is, in a word or two: ``queue``, ``operation``."""
    period_s: float
    """How often it is worth reading."""

    def read(self) -> Panels:
        """Returns what there is to see now.

        Raises:
            ShunterError, OSError: It cannot be read now; the page says why, and goes on.
        """

    def ask(self, question: Mapping[str, Any]) -> Panels:
        """Returns what a question of the page comes to. Its names are those that the source itself has offered.

        Raises:
            ShunterError: It cannot be answered.
        """


def no_questions(source: Source) -> Panels:
    """Refuses a question to a source that takes none."""
    raise RefusedError(400, f"{source.name} answers no questions")
