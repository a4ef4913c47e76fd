"""Gittins' index: by hand, and against its definition over many horizons, in fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference.gittins import Histograms, gittins_index
from tests.reference.model import RefJob

BORDERS_MS = [0, 10_000, 20_000, 40_000]


def ending(chances: list[int], borders_ms: list[int], from_ms: int, until_ms: int) -> Fraction:
    """Returns how many of so many jobs in each bin end between two moments, if ends are spread evenly over a bin."""
    total = Fraction(0)
    for count, (begin_ms, end_ms) in zip(chances, pairwise(borders_ms), strict=True):
        inside_ms = max(0, min(until_ms, end_ms) - max(from_ms, begin_ms))
        total += Fraction(count * inside_ms, end_ms - begin_ms)
    return total


def quotient(chances: list[int], borders_ms: list[int], at_ms: int, horizon_ms: int) -> Fraction:
    """Returns P(ends within a horizon) / E[min(time left, horizon)] in 1/s of a job that has run until a moment."""
    lasting = ending(chances, borders_ms, at_ms, borders_ms[-1])
    ends = ending(chances, borders_ms, at_ms, at_ms + horizon_ms) / lasting
    # The time spent is the chance to last, added up: it falls evenly between any two moments of this list.
    moments = sorted({at_ms, at_ms + horizon_ms, *(one for one in borders_ms if at_ms < one < at_ms + horizon_ms)})
    lasts = {one: ending(chances, borders_ms, one, borders_ms[-1]) / lasting for one in moments}
    spent_s = (
        sum(((end - begin) * (lasts[begin] + lasts[end]) / 2 for begin, end in pairwise(moments)), Fraction(0)) / 1000
    )
    return ends / spent_s


@pytest.mark.parametrize(
    ("chances", "level", "expected"),
    [
        ([0.5, 0.25, 0.25], 0, 1 / 13.75),  # 1/2 in 7.5 s, 3/4 in 11.25 s, all in 13.75 s
        ([0.8, 0.0, 0.2], 0, 0.8 / 6),  # most end early
        ([0.5, 0.25, 0.25], 1, 0.5 / 6.25),  # half of those who are left in 3.75 s, all in 6.25 s
        ([0.8, 0.0, 0.25], 2, 0.1),  # whatever is left is spread over 20 s
    ],
)
def test_by_hand(chances: list[float], level: int, expected: float) -> None:
    assert gittins_index(chances, BORDERS_MS, level) == pytest.approx(expected, rel=1e-12)


@given(
    chances=st.lists(st.integers(1, 1000), min_size=2, max_size=8),
    widths_ms=st.lists(st.integers(1, 100_000), min_size=8, max_size=8),
    data=st.data(),
)
def test_it_is_the_most_over_all_horizons(chances: list[int], widths_ms: list[int], data: st.DataObject) -> None:
    borders_ms = [sum(widths_ms[:place]) for place in range(len(chances) + 1)]
    level = data.draw(st.integers(0, len(chances) - 1))
    index = gittins_index([float(chance) for chance in chances], borders_ms, level)
    left_ms = borders_ms[-1] - borders_ms[level]
    at_borders = [one - borders_ms[level] for one in borders_ms[level + 1 :]]
    anywhere = data.draw(st.lists(st.integers(1, left_ms), max_size=12))
    quotients = [float(quotient(chances, borders_ms, borders_ms[level], one)) for one in [*at_borders, *anywhere]]
    assert index == pytest.approx(max(quotients), rel=1e-9)


def test_histograms_are_shrunk_towards_wider_groups() -> None:
    """Two bins; one of Ann's jobs was short. With a shrinkage of 1 each group adds its one job to what is believed."""
    histograms = Histograms(2, shortest_s=4, growth=10, decay=1, common_decay=1, shrinkage=1)
    job = RefJob(0, 1000, user="ann")
    assert histograms.chances(job) == [0.5, 0.5]
    histograms.learn(job, 1000)
    # Of all 3/4, then of Ann 7/8, with this request 15/16, and of this size 31/32.
    assert histograms.chances(job) == [31 / 32, 1 / 32]
    assert histograms.chances(RefJob(0, 1000, user="bob")) == [0.75, 0.25]
    assert histograms.chances(RefJob(0, 1000, requested_ms=5, user="ann")) == [7 / 8, 1 / 8]


def test_old_jobs_count_less() -> None:
    histograms = Histograms(2, shortest_s=4, growth=10, decay=0.5, common_decay=0.5, shrinkage=1)
    job = RefJob(0, 1000)
    histograms.learn(job, 1000)
    histograms.learn(job, 9000)
    # Counts 1/2 and 1 in every group: (1/2 + 1/2) / (3/2 + 1) and so on.
    expected = 0.5
    for _ in range(4):
        expected = (0.5 + expected) / 2.5
    assert histograms.chances(job)[0] == pytest.approx(expected, rel=1e-12)
