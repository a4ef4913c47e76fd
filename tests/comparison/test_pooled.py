"""Ratios over several logs, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from shunter.comparison.statistics import Paired, Ratio, contrast, pooled_ratio


def paired(ratios: list[float], block: list[int]) -> Paired:
    baseline = np.linspace(1.0, 2.0, len(ratios))
    return Paired(np.array(ratios) * baseline, baseline, np.array(block))


def pool(*logs: Paired, seed: int = 0) -> Ratio:
    ratio = pooled_ratio(logs, seed)
    assert ratio is not None
    return ratio


def test_each_log_counts_the_same_however_many_windows_it_has() -> None:
    """Twice in one log and half in the other is as good as before; over all windows it would be 0.79."""
    ratio = pool(paired([2.0] * 5, [0, 1, 2, 3, 4]), paired([0.5] * 10, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]))
    assert ratio.value == pytest.approx(1.0)
    assert ratio.interval == pytest.approx((1.0, 1.0))


def test_blocks_are_drawn_within_each_log() -> None:
    """Three of one log's five blocks have 4 times, the others 1; of the other log all have 1.

    How many of the five drawn have 4 times is binomial: 0 in 1 % of the draws, 1 in 8 %, and 5 in 8 %. So the log's
    interval is from 4 to the power of 1/5 to 4, and pooled it is the root of that.
    """
    ratio = pool(paired([4.0, 1.0, 4.0, 1.0, 4.0], [0, 1, 2, 3, 4]), paired([1.0] * 5, [0, 1, 2, 3, 4]))
    assert ratio.value == pytest.approx(4.0 ** (3 / 10))
    assert ratio.interval == pytest.approx((4.0 ** (1 / 10), 2.0))


def test_windows_of_a_block_are_drawn_together() -> None:
    """The means of the five blocks are all 2, so nothing is left to chance."""
    ratios, block = [1.0, 4.0, 4.0, 1.0] * 2 + [1.0, 4.0], [0, 0, 5, 5, 6, 6, 7, 7, 9, 9]
    assert pool(paired(ratios, block)).interval == pytest.approx((2.0, 2.0))


def test_the_seed_decides_the_draws() -> None:
    logs = [paired(list(np.exp(np.random.default_rng(log).normal(size=9))), list(range(9))) for log in range(2)]
    assert pool(*logs, seed=1) == pool(*logs, seed=1)
    assert pool(*logs, seed=1).interval != pool(*logs, seed=2).interval


def test_a_log_with_few_blocks_leaves_no_interval() -> None:
    few, enough = paired([2.0] * 5, [0, 1, 2, 3, 3]), paired([0.5] * 5, [0, 1, 2, 3, 4])
    ratio = pool(few, enough)
    assert ratio.value == pytest.approx(1.0)
    assert ratio.interval is None
    assert pool(enough, enough).interval is not None


def test_a_single_log_has_the_ratio_and_the_interval_of_a_contrast() -> None:
    ratios = np.exp(np.random.default_rng(3).normal(size=12)).tolist()
    ratios[4] = np.nan
    log = paired(ratios, [0, 0, 1, 2, 2, 3, 4, 4, 5, 6, 7, 7])
    expected = contrast(log.values, log.baseline, log.block, seed=5)
    ratio = pool(log, seed=5)
    assert ratio.value == pytest.approx(expected.ratio)
    assert ratio.interval == pytest.approx(expected.ratio_interval)


def test_windows_without_a_value_are_left_out() -> None:
    """Twice in the five windows left of the first log; with the baseline's as well as with the policy's missing."""
    nan = float("nan")
    first = paired([2.0, 2.0, 2.0, nan, 2.0, 2.0, 7.0], [0, 1, 2, 2, 3, 4, 5])
    first.baseline[-1] = nan
    ratio = pool(first, paired([2.0] * 5, [0, 1, 2, 3, 4]))
    assert ratio.value == pytest.approx(2.0)
    assert ratio.interval == pytest.approx((2.0, 2.0))
    assert pooled_ratio([first, paired([nan] * 5, [0, 1, 2, 3, 4])]) is None


def test_without_a_logarithm_there_is_no_ratio() -> None:
    assert pooled_ratio([paired([2.0, 0.0], [0, 1]), paired([1.0, 1.0], [0, 1])]) is None
