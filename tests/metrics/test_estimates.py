"""The quality of estimates, worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shunter.metrics.estimate_errors import MOST_PAIRS, Quality, measure_quality, near_pairs


def quality(estimate_s: list[float], run_s: list[float], measured: list[bool] | None = None) -> Quality | None:
    counted = np.array(measured or [True] * len(run_s))
    return measure_quality(np.array(estimate_s), np.array(run_s), counted, near_pairs(len(run_s), seed=0))


def test_errors() -> None:
    """Ratios 2, 1/4, 1 (both count as 10 s), 3."""
    found = quality([200, 25, 1, 90], [100, 100, 4, 30])
    assert found is not None
    errors = [math.log(2), -math.log(4), 0, math.log(3)]
    assert found.jobs == 4
    assert found.mean_absolute_log_error == pytest.approx(sum(map(abs, errors)) / 4)
    assert found.root_mean_square_log_error == pytest.approx(math.sqrt(sum(error**2 for error in errors) / 4))
    assert found.log_bias == pytest.approx(sum(errors) / 4)
    assert (found.within_factor_two_share, found.over_share, found.under_share) == (0.5, 0.5, 0.25)


def test_order_is_weighted_with_what_it_costs() -> None:
    """Runs of 10, 20 and 100 s weigh 0.05, 0.09 and 0.04 in pairs; the first pair is wrong, the last one a tie."""
    found = quality([60, 50, 50], [10, 20, 100])
    assert found is not None
    # The first job also stands wrongly behind the third.
    assert found.wrong_order_rate == pytest.approx((0.05 + 0.09 + 0.04 / 2) / 0.18)


def test_the_best_and_the_worst_order() -> None:
    run_s = [5.0, 700.0, 30.0, 8.0, 30.0, 9000.0]
    best, worst = quality(run_s, run_s), quality([1e5 - run for run in run_s], run_s)
    assert best is not None
    assert worst is not None
    assert best.wrong_order_rate == 0
    # Jobs of 5 s and 8 s both count as 10 s: no order of theirs is wrong, though the estimates differ.
    assert worst.wrong_order_rate == 1
    equal = quality([50.0] * 6, run_s)
    assert equal is not None
    assert equal.wrong_order_rate == 0.5


def test_no_order_of_equal_jobs_costs_anything() -> None:
    found = quality([5, 50], [3, 7])
    assert found is not None
    assert found.wrong_order_rate is None


def test_what_is_not_measured_is_in_no_figure() -> None:
    alone = quality([200, 25], [100, 100])
    assert quality([200, 9e5, 25, 1], [100, 1, 100, 9e5], [True, False, True, False]) == alone
    assert quality([200, 25], [100, 100], [False, False]) is None


def test_one_job_has_no_order() -> None:
    found = quality([40], [20])
    assert found is not None
    assert (found.jobs, found.wrong_order_rate, len(found.deciles)) == (1, None, 1)


def test_deciles() -> None:
    """Twenty estimates of 100 to 2 000 s: two jobs a decile, with run times of half and of twice the estimate."""
    estimate_s = [100.0 * number for number in range(1, 21)]
    run_s = [seconds / 2 if number % 2 else seconds * 2 for number, seconds in enumerate(estimate_s)]
    found = quality(estimate_s, run_s)
    assert found is not None
    assert [decile.jobs for decile in found.deciles] == [2] * 10
    # The last: estimates of 1 900 s and 2 000 s, runs of 3 800 s and 1 000 s.
    last = found.deciles[-1]
    assert (last.lowest_estimate_s, last.median_estimate_s, last.highest_estimate_s) == (1900, 1950, 2000)
    assert (last.median_run_s, last.mean_run_s) == (2400, 2400)
    assert last.median_ratio == last.mean_ratio == pytest.approx(2400 / 1950)
    # Of two values the balanced mean is their geometric one.
    assert last.balanced_run_s == pytest.approx(math.sqrt(3800 * 1000))
    assert last.balanced_ratio == pytest.approx(1)


def test_equal_estimates_stay_in_one_decile() -> None:
    found = quality([3600.0] * 15 + [7200.0] * 5, [60.0] * 20)
    assert found is not None
    assert [(decile.jobs, decile.highest_estimate_s) for decile in found.deciles] == [(15, 3600), (5, 7200)]


def test_few_jobs_are_paired_with_all_near_them() -> None:
    first, second = near_pairs(4, seed=0)
    assert sorted(zip(first.tolist(), second.tolist(), strict=True)) == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    first, second = near_pairs(1100, seed=0)
    # All gaps from 1 to 200: 1100 less the gap of each. One job more, and they would be sampled.
    assert len(first) == 200 * 1100 - 200 * 201 // 2 == MOST_PAIRS - 100
    assert (second - first).max() == 200
    assert len(set(zip(first.tolist(), second.tolist(), strict=True))) == len(first)


def test_many_jobs_are_sampled() -> None:
    assert len(near_pairs(1101, seed=7)[0]) == MOST_PAIRS
    first, second = near_pairs(5000, seed=7)
    gap = second - first
    assert len(first) == MOST_PAIRS
    assert (first.min(), gap.min(), gap.max(), second.max()) == (0, 1, 200, 4999)
    assert gap.mean() == pytest.approx(100.5, abs=1)
    again, other = near_pairs(5000, seed=7), near_pairs(5000, seed=8)
    assert np.array_equal(again[0], first)
    assert not np.array_equal(other[0], first)
