"""What the cycle asks of whoever speaks to a scheduler: one reading, and the commands that change a job."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, Final, Protocol

from shunter.execution.operating.site import Site, SiteJob

MARK: Final = "shunter"
"""What a job says that Shunter has changed, where its scheduler has a place for such a comment."""
Value = int | str
"""Of a knob: a number, or names of nodes."""


class Knob(str, Enum):
    """What of a job is changed."""

    SITE_FACTOR = "site_factor"
    NICE = "nice"
    APS = "aps"
    """LSF's administrators' part of a job's absolute priority."""
    POSITION = "position"
    """Whether it stands before jobs of its line that came earlier: 1, or 0 for the order in which they came."""
    NODES = "nodes"
    HOLD = "hold"


NEUTRAL: Final[dict[Knob, Value]] = {knob: "" if knob == Knob.NODES else 0 for knob in Knob}
"""The value of a knob that neither a user nor an administrator has turned."""


class Neighbor(Protocol):
    """A scheduler beside which Shunter works."""

    name: str

    def read(self, *, with_knobs: bool) -> Site:
        """Returns one reading of all jobs and nodes; with the values of knobs that are asked for separately.

        Raises:
            SiteError: It does not answer, or its answer makes no sense.
        """

    def knob(self, job: SiteJob) -> Knob | None:
        """Returns what is turned to nudge a job; where one is refused, another. None: nothing can be."""

    def refuse(self, knob: Knob) -> None:
        """Says that a knob may not be turned here."""

    def value(self, job: SiteJob, knob: Knob) -> Value | None:
        """Returns the present value of a job's knob; None: nobody knows."""

    def look(self, knob: Knob, jobs: Sequence[SiteJob]) -> dict[int, SiteJob]:
        """Returns jobs that still wait, by id, with the present value of a knob: a last look before it is turned.

        Args:
            knob: What is going to be turned.
            jobs: Whose. Of a position, all that wait in their lines are told.

        Raises:
            SiteError: The scheduler does not answer, or its answer makes no sense.
        """

    def commands(self, job: SiteJob, knob: Knob, value: Value, mark: str | None) -> list[list[str]]:
        """Returns the commands that turn a knob.

        Args:
            job: Of the latest reading.
            knob: What to turn.
            value: What to turn it to; of a position, its place from the top, or below 0 from the bottom.
            mark: What the job's comment becomes; None: it stays.
        """

    def run(self, words: Sequence[str]) -> None:
        """Runs one command that changes something.

        Raises:
            SiteError: It fails, or takes too long.
        """

    def usage(self) -> dict[str, Any]:
        """Returns how often each program was run, and what that took."""
