"""Nudges make the order that is asked for, within their bounds, and move as few jobs as can be."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shunter.execution.operating.nudging import Weighed, wanted_nudges

LINES = st.lists(st.integers(1, 50), min_size=1, max_size=12).flatmap(
    lambda priorities: st.permutations([Weighed(id, priority, 0) for id, priority in enumerate(priorities)])
)


def after(line: list[Weighed], nudges: dict[int, int]) -> list[Weighed]:
    """Returns the jobs as they are when they are nudged; no sum falls below 1, as in Slurm."""
    return [
        Weighed(job.id, max(1, job.priority - job.nudge + nudges.get(job.id, job.nudge)), nudges.get(job.id, job.nudge))
        for job in line
    ]


def order(line: list[Weighed]) -> list[int]:
    return [job.id for job in sorted(line, key=lambda job: (-job.priority, job.id))]


@given(LINES, st.integers(1, 20))
def test_the_order_is_the_one_that_is_asked_for(line: list[Weighed], step: int) -> None:
    moved = after(line, wanted_nudges(line, 10_000, step, 99))
    assert order(moved) == [job.id for job in line]
    assert wanted_nudges(moved, 10_000, step, 99) == {}, "what is in order is left"


@given(LINES, st.integers(1, 5), st.integers(1, 30))
def test_no_nudge_is_beyond_its_bound(line: list[Weighed], step: int, most: int) -> None:
    assert all(abs(nudge) <= most for nudge in wanted_nudges(line, most, step, 5).values())


@given(st.lists(st.integers(2, 100), min_size=1, max_size=10, unique=True), st.integers(0, 10))
def test_a_newcomer_moves_nobody_else_where_there_is_room(numbers: list[int], place: int) -> None:
    line = [Weighed(id, 100 * priority, 0) for id, priority in enumerate(sorted(numbers, reverse=True))]
    place = min(place, len(line))
    with_newcomer = [*line[:place], Weighed(99, 1, 0), *line[place:]]
    assert set(wanted_nudges(with_newcomer, 100_000, 10, 99)) <= {99}


@given(LINES, st.integers(1, 20), st.integers(1, 6))
def test_the_first_ones_stand_in_order_above_the_rest_which_needs_no_nudge(
    line: list[Weighed], step: int, depth: int
) -> None:
    moved = after(line, wanted_nudges(line, 10_000, step, depth))
    assert order(moved)[:depth] == [job.id for job in line[:depth]]
    assert all(job.nudge == 0 for job in moved[depth:])
    # Whoever was at the front and is not any more loses the nudge.
    back = after(moved, wanted_nudges([*moved[1:], moved[0]], 10_000, step, 1))
    assert [job.nudge for job in back[2:] + back[:1] if len(line) > 1] == [0] * (len(line) - 1)


def test_many_jobs_share_the_bound() -> None:
    line = [Weighed(id, 1, 0) for id in range(500, 0, -1)]
    nudges = wanted_nudges(line, 1000, 100, 200)
    assert order(after(line, nudges))[:200] == list(range(500, 300, -1))
    assert max(nudges.values()) <= 1000


def test_jobs_of_equal_priority_are_moved_upwards_alone() -> None:
    line = [Weighed(3, 1, 0), Weighed(2, 1, 0), Weighed(1, 1, 0)]
    assert wanted_nudges(line, 1000, 100, 99) == {3: 200, 2: 100}
