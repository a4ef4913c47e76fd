"""Which nudges make a scheduler's own order that of the policy, with as few changes as can be."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

LEAST_PRIORITY: Final = 1
"""Slurm lets no sum fall below this; 0 would be a hold."""


@dataclass(frozen=True)
class Weighed:
    """A job that may be nudged."""

    id: int
    priority: int
    """As the scheduler has it now, with our nudge."""
    nudge: int
    """Ours, now."""


def wanted_nudges(line: Sequence[Weighed], most: int, step: int) -> dict[int, int]:
    """Returns the nudges of jobs that need another one than they have.

    Those that stand in the right order already stay as they are; the others are moved between them.

    Args:
        line: The jobs in the policy's order, the next first.
        most: The largest nudge, up or down.
        step: The room between two jobs, where there is a choice.
    """
    kept = _longest_falling(line)
    goals = _between(line, kept, step)
    if goals is None or any(abs(_nudge(job, goal)) > most for job, goal in zip(line, goals, strict=True)):
        goals = _anew(line, step)
    found = {}
    for job, goal in zip(line, goals, strict=True):
        nudge = max(-most, min(most, _nudge(job, goal)))
        if nudge != job.nudge:
            found[job.id] = nudge
    return found


def _nudge(job: Weighed, goal: int) -> int:
    return goal - (job.priority - job.nudge)


def _longest_falling(line: Sequence[Weighed]) -> list[bool]:
    """Returns which jobs are in the longest part of the line whose priorities fall already.

    Among equals the lower id goes first, as in Slurm.
    """
    tails: list[tuple[int, int]] = []
    ends: list[int] = []
    before: list[int] = []
    for place, job in enumerate(line):
        key = (-job.priority, job.id)
        at = bisect_left(tails, key)
        before.append(ends[at - 1] if at else -1)
        tails[at : at + 1] = [key]
        ends[at : at + 1] = [place]
    kept = [False] * len(line)
    place = ends[-1] if ends else -1
    while place >= 0:
        kept[place] = True
        place = before[place]
    return kept


def _between(line: Sequence[Weighed], kept: Sequence[bool], step: int) -> list[int] | None:
    """Returns the priority that each job is to have, where those kept stay; None if there is no room for the others."""
    goals = [job.priority for job in line]
    fixed = [place for place, is_kept in enumerate(kept) if is_kept]
    for first, last in zip([-1, *fixed], [*fixed, len(line)], strict=True):
        moved = range(first + 1, last)
        if not moved:
            continue
        if first < 0 and last == len(line):
            return None
        if first < 0:
            low = goals[last]
            high = low + step * (len(moved) + 1)
        else:
            high = goals[first]
            low = goals[last] if last < len(line) else high - step * (len(moved) + 1)
        apart = (high - low) // (len(moved) + 1)
        if apart < 1 or high - apart * len(moved) < LEAST_PRIORITY:
            return None
        for number, place in enumerate(moved, start=1):
            goals[place] = high - apart * number
    return goals


def _anew(line: Sequence[Weighed], step: int) -> list[int]:
    """Returns priorities from the last job upwards, each at least a step above the next: nobody is pushed down."""
    goals = [0] * len(line)
    below = LEAST_PRIORITY - step
    for place in range(len(line) - 1, -1, -1):
        own = line[place].priority - line[place].nudge
        goals[place] = below = max(own, below + step)
    return goals
