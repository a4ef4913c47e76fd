"""The phases of a wait: moments of one reason put together, until there are few enough to read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from shunter.metrics.occupancy import Amounts
from shunter.metrics.wait_sweep import Moment

MOST_PHASES: Final = 8
FIRST_SHARE: Final = 1 / 128
"""Phases shorter than this part of the wait are the first to be joined with others."""


@dataclass(frozen=True)
class Phase:
    """A stretch of a wait."""

    from_ms: float
    until_ms: float
    lasted_ms: dict[str, float]
    """For how long which reason held."""
    room: int
    """The most tasks that would have fitted while its main reason held."""
    free: Amounts
    """The most that was free meanwhile, of each resource."""

    @property
    def reason(self) -> str:
        """The reason that held longest."""
        return max(self.lasted_ms, key=lambda reason: self.lasted_ms[reason])

    @property
    def waited_ms(self) -> float:
        """How long the job waited in it; it may have run in between."""
        return sum(self.lasted_ms.values())

    @property
    def share(self) -> float:
        """For which part of the phase the main reason held."""
        return self.lasted_ms[self.reason] / self.waited_ms

    def joined(self, other: Phase) -> Phase:
        """Returns this phase together with the next."""
        lasted = Counter(self.lasted_ms)
        lasted.update(other.lasted_ms)
        reason = max(lasted, key=lambda each: lasted[each])
        told = [phase for phase in (self, other) if phase.reason == reason]
        free = [max(amounts) for amounts in zip(*(phase.free for phase in told), strict=True)]
        return Phase(
            self.from_ms,
            other.until_ms,
            dict(lasted),
            max(phase.room for phase in told),
            (free[0], free[1], free[2]),
        )


def phases_of(moments: list[Moment], most: int = MOST_PHASES) -> list[Phase]:
    """Returns at most so many phases; the shortest are joined with the one before them until there are no more."""
    phases = _alike(
        Phase(each.from_ms, each.until_ms, {each.reason: each.until_ms - each.from_ms}, each.room, each.free)
        for each in moments
    )
    shortest_ms = FIRST_SHARE * sum(phase.waited_ms for phase in phases)
    while len(phases) > most:
        phases = _alike(_without_short(phases, shortest_ms))
        shortest_ms *= 1.5
    return phases


def _alike(phases: Iterable[Phase]) -> list[Phase]:
    """Returns the phases with neighbors of one reason joined."""
    kept: list[Phase] = []
    for phase in phases:
        if kept and kept[-1].reason == phase.reason:
            kept[-1] = kept[-1].joined(phase)
        else:
            kept.append(phase)
    return kept


def _without_short(phases: list[Phase], shortest_ms: float) -> list[Phase]:
    kept: list[Phase] = []
    for phase in phases:
        if kept and min(phase.waited_ms, kept[-1].waited_ms) < shortest_ms:
            kept[-1] = kept[-1].joined(phase)
        else:
            kept.append(phase)
    return kept
