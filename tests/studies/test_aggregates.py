"""What many trainings come to, against values worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shunter.studies.aggregates import (
    LEAST_SEEDS,
    Estimate,
    interquartile_mean,
    mean,
    probability_of_improvement,
)


def test_the_mean_has_students_interval() -> None:
    # Mean 3, standard deviation 2, three seeds: 3 ± 4.303 · 2 / √3.
    found = mean([1.0, 3.0, 5.0])
    assert found.value == 3.0
    half = 4.303 * 2 / math.sqrt(3)
    assert found.interval == pytest.approx((3 - half, 3 + half))
    assert mean([0.5]) == Estimate(0.5, None)


def test_beyond_the_table_the_interval_is_the_normal_one() -> None:
    scores = [0.0, 1.0] * 20
    half = 1.95996 * float(np.std(scores, ddof=1)) / math.sqrt(40)
    assert mean(scores).interval == pytest.approx((0.5 - half, 0.5 + half), abs=1e-5)


def test_the_interquartile_mean_leaves_out_a_quarter_at_either_end() -> None:
    # Of eight scores two go at either end: (3 + 4 + 5 + 6) / 4. Of five, one: (2 + 3 + 4) / 3.
    assert interquartile_mean([[8.0, 1.0, 6.0, 3.0], [2.0, 100.0, 4.0, 5.0]]).value == 4.5
    assert interquartile_mean([[2.0, 1.0, 9.0], [3.0, 4.0]]).value == 3.0


def test_seeds_are_drawn_within_their_log() -> None:
    # Within a log all seeds are equal: whatever is drawn is the same. Drawn over logs it would not be.
    found = interquartile_mean([[1.0] * 4, [3.0] * 4])
    assert found == Estimate(2.0, (2.0, 2.0))


def test_the_interval_of_the_interquartile_mean_is_that_of_all_draws() -> None:
    # One log with 0, 0, 1: of three scores none is left out, so a draw is the mean of three, each 1 with chance 1/3.
    # P(all 0) = 8/27 and P(all 1) = 1/27, both above 2.5 %: the interval is all there is.
    assert interquartile_mean([[0.0, 0.0, 1.0]]).interval == (0.0, 1.0)
    # With 0, 0, 0, 1 one of four goes at either end. A 1 in two places: mean 1/2; in three or four: 1.
    # P(1 at most once) = (3/4)^4 + 4 (1/4)(3/4)^3 = 0.738; P(three or more) = 0.0508: the interval is 0 to 1 again.
    assert interquartile_mean([[0.0, 0.0, 0.0, 1.0]]).interval == (0.0, 1.0)
    # With ten of twenty it is far within 0 and 1, and around one half.
    low, high = interquartile_mean([[0.0, 1.0] * 10]).interval or (0.0, 0.0)
    assert 0.0 <= low < 0.5 < high <= 1.0


def test_the_probability_of_improvement_counts_pairs() -> None:
    # Lower is better. First log: of 2 × 2 pairs ours is lower in 3, and one is a tie: 3.5 / 4. Second log: none.
    assert probability_of_improvement([[1.0, 2.0]], [[2.0, 3.0]]).value == 3.5 / 4
    assert probability_of_improvement([[1.0, 2.0], [5.0]], [[2.0, 3.0], [4.0]]).value == 3.5 / 8


def test_the_probability_of_improvement_has_an_interval() -> None:
    surely = probability_of_improvement([[1.0, 2.0, 3.0]], [[4.0, 5.0, 6.0]])
    assert surely == Estimate(1.0, (1.0, 1.0))
    same = [0.1, 0.2, 0.3, 0.4, 0.5]
    found = probability_of_improvement([same], [same])
    assert found.value == 0.5
    low, high = found.interval or (0.5, 0.5)
    # The exact variance of the bootstrap draw: U / 25 has a standard deviation of about 0.18 here.
    assert 0.1 < low < 0.3
    assert 0.7 < high < 0.9


def test_too_few_seeds_have_no_interval() -> None:
    few = [0.1] * (LEAST_SEEDS - 1)
    assert mean(few) == Estimate(0.1, None)
    assert interquartile_mean([few, [0.2] * 9]).interval is None
    assert probability_of_improvement([few], [[0.2] * 9]).interval is None


def test_the_same_draws_every_time() -> None:
    scores = [[0.3, -0.1, 0.2, 0.7], [0.0, 0.5, 0.1]]
    assert interquartile_mean(scores) == interquartile_mean(scores)


def test_logarithms_become_ratios() -> None:
    found = Estimate(0.0, (math.log(0.5), math.log(2.0))).exp()
    assert found.to_json() == pytest.approx({"value": 1.0, "low": 0.5, "high": 2.0})
    assert Estimate(0.0).exp().to_json() == {"value": 1.0, "low": None, "high": None}
