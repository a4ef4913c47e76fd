"""Which nudges make a scheduler's own order that of the policy, with as few changes as can be."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
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
    place: int = 0
    """Where it stands among those of the same priority; then the lower id goes first."""


def wanted_nudges(line: Sequence[Weighed], most: int, step: int, depth: int) -> dict[int, int]:
    """Returns the nudges of jobs that need another one than they have.

    The first ones come to stand in order, above all others; those that do so already stay as they are, and the rest of
    them are moved between. The others need no nudge.

    Args:
        line: The jobs in the policy's order, the next first.
        most: The largest nudge, up or down.
        step: The room between two jobs, where there is a choice.
        depth: How many come to stand in order.
    """
    front, rest = line[:depth], line[depth:]
    floor = max((job.priority - job.nudge for job in rest), default=LEAST_PRIORITY - 1)
    goals = _between(front, _longest_falling(front, floor), step, floor)
    if goals is None or any(abs(_nudge(job, goal)) > most for job, goal in zip(front, goals, strict=True)):
        # So many steps must fit into the bound.
        goals = _anew(front, max(1, min(step, most // max(1, len(front)))), floor)
    wanted = {job: max(-most, min(most, _nudge(job, goal))) for job, goal in zip(front, goals, strict=True)}
    wanted |= dict.fromkeys(rest, 0)
    return {job.id: nudge for job, nudge in wanted.items() if nudge != job.nudge}


def _nudge(job: Weighed, goal: int) -> int:
    return goal - (job.priority - job.nudge)


def _longest_falling(line: Sequence[Weighed], floor: int) -> list[bool]:
    """Returns which jobs are in the longest part of the line whose priorities fall already, and are above a floor.

    Among equals the scheduler's own place counts, and then the lower id, as in Slurm.
    """
    tails: list[tuple[int, int, int]] = []
    ends: list[int] = []
    before: list[int] = []
    for place, job in enumerate(line):
        key = (-job.priority, job.place, job.id)
        at = bisect_left(tails, key)
        if job.priority <= floor:
            before.append(-1)
            continue
        before.append(ends[at - 1] if at else -1)
        tails[at : at + 1] = [key]
        ends[at : at + 1] = [place]
    kept = [False] * len(line)
    place = ends[-1] if ends else -1
    while place >= 0:
        kept[place] = True
        place = before[place]
    return kept


def _between(line: Sequence[Weighed], kept: Sequence[bool], step: int, floor: int) -> list[int] | None:
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
            low = goals[last] if last < len(line) else max(floor, high - step * (len(moved) + 1))
        apart = (high - low) // (len(moved) + 1)
        if apart < 1:
            return None
        for number, place in enumerate(moved, start=1):
            goals[place] = high - apart * number
    return goals


def _anew(line: Sequence[Weighed], step: int, floor: int) -> list[int]:
    """Returns priorities from the last job upwards, each at least a step above the next: nobody is pushed down."""
    goals = [0] * len(line)
    # The last one need only be above the floor.
    below = floor + 1 - step
    for place in range(len(line) - 1, -1, -1):
        own = line[place].priority - line[place].nudge
        goals[place] = below = max(own, below + step)
    return goals


def wanted_returns(
    line: Sequence[int], came: Mapping[int, int], moved: Collection[int], back: Sequence[int]
) -> list[tuple[int, int]]:
    """Returns the moves that bring jobs back to where they came: ids, with places from the bottom.

    Args:
        line: All jobs of a line as they stand, the first first.
        came: The order in which they came.
        moved: Those that stand before one that came earlier: they tell nothing of where others belong.
        back: Those that go back, the latest first; one that is where it came is not moved.
    """
    standing, strange = list(line), set(moved)
    moves = []
    for job in back:
        place = standing.index(job)
        standing.remove(job)
        later = (at for at, other in enumerate(standing) if other not in strange and came[other] > came[job])
        goal = next(later, len(standing))
        standing.insert(goal, job)
        strange.discard(job)
        if goal != place:
            moves.append((job, len(standing) - goal))
    return moves


def overtakers(line: Sequence[int], came: Mapping[int, int]) -> set[int]:
    """Returns those that stand before one that came earlier."""
    found, earliest = set(), max(came.values(), default=0) + 1
    for job in reversed(line):
        if earliest < came[job]:
            found.add(job)
        earliest = min(earliest, came[job])
    return found


def wanted_moves(line: Sequence[int], wanted: Sequence[int], most: int, depth: int) -> list[tuple[int, int]]:
    """Returns the moves that bring the first jobs of an order to stand in that order: ids, with places from the top.

    A job is only ever moved up, and the front goes first, so that making some of the moves does no harm. Jobs that are
    not in the order are not moved, but others may come to stand before them.

    Args:
        line: All jobs of a line as they stand, the first first.
        wanted: Those that may be moved, in the order that is wanted.
        most: How many places a job is moved up at most.
        depth: How many come to stand in order.
    """
    standing, left = list(line), set(wanted)
    moves = []
    for job in wanted[:depth]:
        place, first = standing.index(job), next(at for at, other in enumerate(standing) if other in left)
        goal = max(first, place - most)
        if goal < place:
            standing.insert(goal, standing.pop(place))
            moves.append((job, goal + 1))
        left.discard(job)
    return moves
