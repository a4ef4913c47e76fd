"""Nudges make the order that is asked for, within their bounds, and move as few jobs as can be."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from shunter.execution.operating.nudging import Weighed, overtakers, wanted_moves, wanted_nudges, wanted_returns

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


def _moved(line: list[int], job: int, at: int) -> list[int]:
    rest = [other for other in line if other != job]
    return [*rest[:at], job, *rest[at:]]


def test_moves_bring_the_front_in_order_and_returns_bring_all_back() -> None:
    draw = random.Random(3)
    for _ in range(300):
        count = draw.randrange(1, 12)
        came = {job: job for job in range(count)}
        line = list(range(count))
        # What others have moved stays where it is, and tells nothing of where the rest belongs.
        strangers = set(draw.sample(line, draw.randrange(count // 3 + 1)))
        for job in sorted(strangers):
            line = _moved(line, job, draw.randrange(line.index(job) + 1))
        before = [job for job in line if job not in strangers]
        held: set[int] = set()
        for _ in range(3):
            wanted = [job for job in draw.sample(line, len(line)) if job not in strangers]
            depth = draw.randrange(1, count + 1)
            for job, place in wanted_moves(line, wanted, 100, depth):
                assert job not in strangers
                assert place - 1 < line.index(job), "jobs are only moved up"
                line = _moved(line, job, place - 1)
                held.add(job)
            front = [job for job in line if job in wanted][: min(depth, len(wanted))]
            assert front == wanted[: min(depth, len(wanted))]
        moved = {job for at, job in enumerate(line) if any(came[other] < came[job] for other in line[at + 1 :])}
        assert overtakers(line, came) == moved
        back = sorted(held & moved, reverse=True)
        for job, place in wanted_returns(line, came, moved, back):
            line = _moved(line, job, len(line) - place)
        assert [job for job in line if job not in strangers] == before


def test_moves_are_bounded_and_a_newcomer_costs_one() -> None:
    assert wanted_moves([1, 2, 3, 4, 5], [5, 1, 2, 3, 4], 2, 10) == [(5, 3)]
    assert wanted_moves([5, 1, 2, 3, 4, 6], [5, 1, 6, 2, 3, 4], 100, 10) == [(6, 3)]
    assert wanted_moves([1, 2, 3], [1, 2, 3], 100, 10) == []
    assert wanted_moves([1, 2, 3], [3, 1], 100, 10) == [(3, 1)], "one that may not be moved is passed"


def test_among_equal_priorities_the_place_counts() -> None:
    line = [Weighed(1, 99, 0, place=2), Weighed(2, 99, 0, place=1)]
    assert wanted_nudges(line, 100, 10, 10) != {}
    assert wanted_nudges(line[::-1], 100, 10, 10) == {}
