"""One change of one job: what it was, what it becomes, the commands that do it, and whether they did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from shunter.execution.operating.neighbor import NEUTRAL, Knob, Value
from shunter.execution.operating.site import SiteJob

AT_A_TIME: Final = 3
"""So many changes are made after one look at the present values."""


@dataclass
class Change:
    """One change of one job."""

    job: SiteJob
    knob: Knob
    old: Value
    new: Value
    commands: list[list[str]]
    applied: bool = False
    trouble: str = ""
    goal: int = 0
    """Of a position: the place from the top that the job is moved up to."""

    @property
    def is_return(self) -> bool:
        """Whether a job goes back to where it came."""
        return self.knob == Knob.POSITION and self.new == NEUTRAL[Knob.POSITION]

    @property
    def is_holding(self) -> bool:
        """Whether the job is held while it is changed."""
        return self.knob == Knob.NODES and len(self.commands) > 1

    def told(self) -> dict[str, Any]:
        """Returns the change as the audit tells it."""
        return {
            "job": self.job.id,
            "knob": self.knob.value,
            "old": self.old,
            "new": self.new,
            "commands": self.commands,
            "applied": self.applied,
            "trouble": self.trouble,
        }


def batches(changes: Sequence[Change]) -> Iterator[Sequence[Change]]:
    """Yields changes that are made after one look; a place means something only as the line stands just then."""
    first = 0
    while first < len(changes):
        last = first + (1 if changes[first].knob == Knob.POSITION else AT_A_TIME)
        yield changes[first:last]
        first = last
