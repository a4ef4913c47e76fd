"""The running mean and variance of returns."""

from __future__ import annotations

import pytest
import torch

from shunter.agents.common.normalization import ValueNormalizer


def test_before_the_first_update_it_changes_nothing() -> None:
    values = torch.tensor([3.0, -7.0])
    assert torch.equal(ValueNormalizer().normalize(values), values)
    assert torch.equal(ValueNormalizer().denormalize(values), values)


def test_updates_amount_to_the_mean_and_variance_of_everything() -> None:
    normalizer = ValueNormalizer()
    for part in ([1.0, 5.0], [9.0], [2.0, 3.0, 4.0]):
        normalizer.update(torch.tensor(part))
    assert (normalizer.count.item(), normalizer.mean.item()) == pytest.approx((6, 4.0))
    assert normalizer.variance.item() == pytest.approx((9 + 1 + 25 + 4 + 1 + 0) / 6)


def test_normalized_values_have_mean_0_and_deviation_1_and_come_back() -> None:
    normalizer = ValueNormalizer()
    returns = torch.tensor([100.0, 300.0, 500.0, 700.0])
    normalizer.update(returns)
    normal = normalizer.normalize(returns)
    assert normal.mean().item() == pytest.approx(0, abs=1e-6)
    assert normal.std(correction=0).item() == pytest.approx(1)
    assert normalizer.denormalize(normal).tolist() == pytest.approx(returns.tolist())


def test_returns_that_are_all_the_same_are_not_blown_up() -> None:
    normalizer = ValueNormalizer()
    normalizer.update(torch.full((8,), 3.0))
    assert normalizer.normalize(torch.tensor([3.0, 3.001])).tolist() == pytest.approx([0, 10], abs=0.01)


def test_it_is_saved_and_loaded() -> None:
    first, second = ValueNormalizer(), ValueNormalizer()
    first.update(torch.tensor([1.0, 2.0, 6.0]))
    second.load_state_dict(first.state_dict())
    assert second.normalize(torch.tensor([4.0])) == first.normalize(torch.tensor([4.0]))
