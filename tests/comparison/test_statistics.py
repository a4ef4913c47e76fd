"""Statistics over windows, worked out by hand or by going through all draws."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from shunter.comparison.statistics import (
    LEAST_BLOCKS,
    Contrast,
    Summary,
    contrast,
    drawn_means,
    interval_note,
    interval_of,
    summarize,
)

BLOCK = np.array([0, 0, 1, 3])


def test_summary_by_hand() -> None:
    summary = summarize(np.array([1.0, 4.0, 2.0, 2.0]), BLOCK)
    assert summary.mean == 9 / 4
    assert summary.geometric_mean == pytest.approx(2.0)
    assert summary.median == 2.0
    # The fourth and third of the sorted values 1, 2, 2, 4 lie at 1 and 2/3: 0.95 is 0.85 of the way from 2 to 4.
    assert summary.p95 == pytest.approx(2 + 0.85 * 2)
    assert (summary.worst_block, summary.worst_block_mean) == (0, 2.5)


def test_where_more_is_better_the_worst_is_the_least() -> None:
    summary = summarize(np.array([0.9, 0.7, 0.85, 0.5]), BLOCK, higher_is_better=True)
    assert (summary.worst_block, summary.worst_block_mean) == (3, 0.5)
    assert summary.p95 == pytest.approx(0.5 + 0.15 * 0.2)


def test_a_value_of_zero_has_no_geometric_mean() -> None:
    values, baseline = np.array([0.0, 2.0, 2.0, 2.0]), np.array([1.0, 2.0, 3.0, 1.0])
    assert summarize(values, BLOCK).geometric_mean is None
    compared = contrast(values, baseline, BLOCK)
    assert (compared.ratio, compared.ratio_interval) == (None, None)
    assert compared.difference == (-1 + 0 - 1 + 1) / 4


def test_windows_without_a_value_are_left_out() -> None:
    nan = float("nan")
    assert summarize(np.array([nan, 4.0, nan, 2.0]), BLOCK).mean == 3.0
    assert contrast(np.array([nan, 4.0, 1.0, 2.0]), np.array([1.0, nan, 3.0, 2.0]), BLOCK).difference == -1.0
    nothing = np.full(4, nan)
    assert summarize(nothing, BLOCK) == Summary(None, None, None, None, None, None)
    assert contrast(nothing, np.ones(4), BLOCK) == Contrast(None, None, None, None, None)


def test_ties_count_half() -> None:
    values, baseline = np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 2.0, 2.0, 5.0])
    assert contrast(values, baseline, BLOCK).win_rate == (1 + 0.5 + 0 + 1) / 4
    assert contrast(values, baseline, BLOCK, higher_is_better=True).win_rate == (0 + 0.5 + 1 + 0) / 4


def test_ratio_of_geometric_means() -> None:
    values, baseline = np.array([2.0, 8.0, 4.0, 4.0]), np.array([1.0, 1.0, 2.0, 2.0])
    compared = contrast(values, baseline, BLOCK)
    assert compared.ratio == pytest.approx((256 / 4) ** (1 / 4))
    assert compared.difference == 12 / 4
    assert compared.means_ratio == 18 / 6
    assert contrast(values, np.zeros(4), BLOCK).means_ratio is None


def test_few_blocks_have_no_interval() -> None:
    """Six windows in four blocks have none, in five they have one; a window without a value takes its block along."""
    values, baseline = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), np.array([2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    four, five = np.array([0, 0, 0, 2, 7, 9]), np.array([0, 0, 1, 2, 7, 9])
    compared = contrast(values, baseline, four)
    assert (compared.ratio_interval, compared.difference_interval) == (None, None)
    assert compared.difference == -1.0
    compared = contrast(values, baseline, five)
    assert compared.difference_interval == (-1.0, -1.0)
    assert compared.ratio_interval is not None
    values[2] = np.nan
    assert contrast(values, baseline, five).difference_interval is None


def test_what_is_said_of_few_blocks() -> None:
    assert [interval_note(blocks) is None for blocks in (1, 4, 5, 9, 10, 20)] == [False] * 4 + [True] * 2
    assert interval_note(LEAST_BLOCKS - 1) == (
        "the windows lie in 4 blocks: below 5 no interval is given, for it would be far too narrow; a longer log or "
        "shorter windows have more"
    )
    assert str(interval_note(1)).startswith("the windows lie in 1 block: below 5 no interval")
    assert str(interval_note(9)).startswith("the windows lie in 9 blocks: intervals from fewer than 10 are too narrow")


def test_a_policy_against_itself_is_exactly_one() -> None:
    values = np.array([3.7, 1.9, 2.2, 8.1, 6.4])
    compared = contrast(values, values, np.arange(5))
    assert compared == Contrast(0.5, 1.0, (1.0, 1.0), 0.0, (0.0, 0.0), means_ratio=1.0)


def test_two_blocks_by_hand() -> None:
    """Of two blocks drawn, a quarter are (0, 0) with mean 1, a quarter (1, 1) with mean 7; the others have mean 3."""
    values, block = np.array([0.0, 2.0, 7.0]), np.array([5, 5, 8])
    drawn = drawn_means(values, block, np.random.default_rng(1))
    means, times = np.unique(drawn, return_counts=True)
    assert means.tolist() == [1.0, 3.0, 7.0]
    assert times / 10_000 == pytest.approx([1 / 4, 1 / 2, 1 / 4], abs=0.02)
    assert interval_of(drawn) == (1.0, 7.0)


def test_a_ratio_is_drawn_in_logarithms() -> None:
    """Of five blocks three have e times the baseline, two 1/e times.

    How many of the five drawn are of the first kind is binomial: 0 in 1 % of the draws, 1 in 8 %, and 5 in 8 %. So the
    interval is from one of them, a mean of -3/5, to all five.
    """
    values, block = np.array([1.0, -1.0, 1.0, -1.0, 1.0]), np.arange(5)
    difference = contrast(values, np.zeros(5), block, seed=2).difference_interval
    assert difference == (-0.6, 1.0)
    assert contrast(np.exp(values), np.ones(5), block, seed=2).ratio_interval == pytest.approx(np.exp(difference))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_five_blocks_by_going_through_all_draws(seed: int) -> None:
    """Blocks of 1 to 3 windows; the interval is that of all 5**5 draws, but for the chance of 10,000 of them."""
    block = np.array([0, 1, 1, 2, 3, 3, 3, 4])
    values = np.array([3.0, -1.0, 2.0, 9.0, 0.5, 1.5, -4.0, 6.0])
    windows = [values[block == number] for number in range(5)]
    means = [np.concatenate([windows[number] for number in draw]).mean() for draw in product(range(5), repeat=5)]
    low, high = np.quantile(means, [0.025, 0.975])
    # Of 10,000 draws the share below a quantile is within 0.6 % of 2.5 % (four standard deviations).
    loose, tight = np.quantile(means, [0.019, 0.969]), np.quantile(means, [0.031, 0.981])
    found = contrast(values, np.zeros(8), block, seed=seed).difference_interval
    assert found is not None
    assert loose[0] <= found[0] <= tight[0]
    assert loose[1] <= found[1] <= tight[1]
    assert tight[0] - loose[0] < 0.1 * (high - low)


def test_the_windows_of_a_block_are_one_observation() -> None:
    """A hundred copies of a block's windows tell no more than one: the interval stays as wide."""
    values, block = np.array([1.0, 2.0, 4.0]), np.array([0, 1, 2])
    once = drawn_means(values, block, np.random.default_rng(3))
    again = drawn_means(np.repeat(values, 100), np.repeat(block, 100), np.random.default_rng(3))
    np.testing.assert_allclose(again, once)
