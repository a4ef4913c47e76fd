"""When jobs arrive: Poisson, in batches, and by the hours of the week."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from shunter.workloads.generators.arrivals import STEADY, STILL, Batches, Rhythm, draw_arrivals
from shunter.workloads.generators.drawing import streams
from tests.workloads.generators.distributions import exponential, gaps, is_sample_of

WEEK_S = 604_800.0
OFFICE = Rhythm((0.0,) * 8 + (1.0, 3.0) * 4 + (0.0,) * 8, (1.0,) * 5 + (0.0, 0.0))
"""Nobody works at night or on a weekend, and everybody more in every other hour."""


def draw(jobs: int, batches: Batches, rhythm: Rhythm, span_s: float | None = None) -> NDArray[np.float64]:
    of_batches, of_gaps = streams(7, 2)
    return draw_arrivals((of_batches, of_gaps), jobs, 100.0, batches, rhythm, span_s)


def test_steady_arrivals_are_a_poisson_process() -> None:
    assert is_sample_of(gaps(draw(20_000, STEADY, STILL)), exponential(100))


def test_batches_come_as_often_as_their_share_says() -> None:
    batches = Batches(share=0.4, size=20.0, gap_s=1.0)
    lengths = np.bincount(batches.members(np.random.default_rng(1), 200_000))
    assert lengths.sum() == 200_000
    assert lengths.mean() == pytest.approx(batches.mean_size, rel=0.03)
    # A geometric number of mean b is 1 with probability 1/b: those jobs came in a batch of one.
    alone = 0.6 + 0.4 / 20**2
    assert lengths[lengths == 1].sum() / 200_000 == pytest.approx(alone, abs=0.01)
    assert (lengths[lengths > 1] - 1).mean() == pytest.approx(20, rel=0.05)


def test_batches_vary_as_theory_says_and_come_at_the_same_rate() -> None:
    """In long windows the variance of counts over their mean is E[n²]/E[n], n being the jobs of a batch."""
    submit_s = draw(400_000, Batches(share=0.5, size=10.0, gap_s=1.0), STILL)
    assert submit_s[-1] / 400_000 == pytest.approx(100, rel=0.02)
    counts = np.bincount((submit_s // 10_000).astype(np.int64))[:-1]
    assert counts.var() / counts.mean() == pytest.approx(0.5 + 0.5 * (2 * 10 - 1), rel=0.1)
    assert (np.diff(submit_s) >= 0).all()


def test_gaps_within_batches() -> None:
    submit_s = draw(5000, Batches(share=1.0, size=1e9, gap_s=3.0), STILL)
    assert is_sample_of(np.diff(submit_s), exponential(3))


def test_a_rhythm_puts_arrivals_into_busy_hours() -> None:
    submit_s = draw(200_000, STEADY, OFFICE)
    hours = (submit_s % 86_400 // 3600).astype(np.int64)
    shares = np.bincount(hours, minlength=24) / hours.size
    assert shares == pytest.approx(np.array(OFFICE.hours) / 16, abs=0.005)
    days = (submit_s % WEEK_S // 86_400).astype(np.int64)
    assert np.bincount(days, minlength=7) / days.size == pytest.approx([0.2] * 5 + [0.0, 0.0], abs=0.01)
    assert submit_s[-1] / 200_000 == pytest.approx(100, rel=0.02)


def test_a_week_of_even_time_is_a_week() -> None:
    even_s = np.array([0.0, WEEK_S / 5, WEEK_S - 1e-6, 3 * WEEK_S])
    monday_evening, friday_evening = 16 * 3600, 4 * 86_400 + 16 * 3600
    expected = [0.0, monday_evening, friday_evening, 3 * WEEK_S]
    # From even to real time, an hour without arrivals is passed over in no time; on which side is not told.
    found = OFFICE.time_s(even_s)
    assert found[2] == pytest.approx(expected[2], abs=1)
    assert expected[1] - 1 <= found[1] <= 86_400 + 8 * 3600
    assert found[3] - expected[3] in (0.0, 8 * 3600.0)
    assert STILL.time_s(even_s) == pytest.approx(even_s)


@pytest.mark.parametrize("rhythm", [STILL, Rhythm((0.5, 1.5) * 12, (1.0, 2.0, 1.0, 1.0, 1.0, 1.0, 0.5))])
@pytest.mark.parametrize("span_s", [1000.0, 1e6, 3e9])
def test_a_span_is_met_and_hours_stay_hours(rhythm: Rhythm, span_s: float) -> None:
    submit_s = draw(20_000, Batches(share=0.3, size=5.0, gap_s=2.0), rhythm, span_s)
    assert submit_s[-1] - submit_s[0] == pytest.approx(span_s, rel=1e-9)
    if span_s > WEEK_S:
        busy = np.mean(submit_s // 3600 % 2 == 1)
        expected = 0.75 if rhythm is not STILL else 0.5
        assert busy == pytest.approx(expected, abs=0.05)
    assert math.isfinite(submit_s[-1])
