"""Ratios over several logs, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from shunter.tune.pooled import Paired, Ratio, pooled_ratio


def paired(ratios: list[float], block: list[int]) -> Paired:
    baseline = np.linspace(1.0, 2.0, len(ratios))
    return Paired(np.array(ratios) * baseline, baseline, np.array(block))


def pool(*logs: Paired, seed: int = 0) -> Ratio:
    ratio = pooled_ratio(logs, seed)
    assert ratio is not None
    return ratio


def test_each_log_counts_the_same_however_many_windows_it_has() -> None:
    """Twice in one log and half in the other is as good as before; over six windows it would be 0.79."""
    ratio = pool(paired([2.0, 2.0], [0, 1]), paired([0.5] * 4, [0, 1, 2, 3]))
    assert ratio.value == pytest.approx(1.0)
    assert ratio.interval == pytest.approx((1.0, 1.0))


def test_blocks_are_drawn_within_each_log() -> None:
    """Of two blocks with 1 and 4 times, both are drawn half of the time; the lowest quarter is the first one twice."""
    ratio = pool(paired([1.0, 4.0], [0, 1]), paired([1.0, 1.0], [0, 1]))
    assert ratio.value == pytest.approx(2.0**0.5)
    assert ratio.interval == pytest.approx((1.0, 2.0))


def test_windows_of_a_block_are_drawn_together() -> None:
    """The means of the two blocks are both 2, so nothing is left to chance."""
    assert pool(paired([1.0, 4.0, 4.0, 1.0], [0, 0, 5, 5])).interval == pytest.approx((2.0, 2.0))


def test_the_seed_decides_the_draws() -> None:
    logs = [paired(list(np.exp(np.random.default_rng(log).normal(size=9))), list(range(9))) for log in range(2)]
    assert pool(*logs, seed=1) == pool(*logs, seed=1)
    assert pool(*logs, seed=1).interval != pool(*logs, seed=2).interval


def test_one_block_has_no_interval() -> None:
    assert pool(paired([2.0, 2.0], [0, 0]), paired([0.5, 0.5], [0, 1])).interval is None


@pytest.mark.parametrize("bad", [0.0, float("nan")])
def test_without_a_logarithm_there_is_no_ratio(bad: float) -> None:
    assert pooled_ratio([paired([2.0, bad], [0, 1]), paired([1.0, 1.0], [0, 1])]) is None
