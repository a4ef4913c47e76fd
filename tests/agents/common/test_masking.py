"""Distributions over the actions that a mask allows, against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest
import torch

from shunter.agents.common.masking import greedy_actions, masked_distribution
from shunter.errors import ShunterError

LOGITS = torch.tensor([[math.log(1.0), math.log(2.0), math.log(5.0), math.log(3.0)]])
MASK = torch.tensor([[True, True, False, True]])


def test_forbidden_actions_have_no_probability_and_the_others_share_it() -> None:
    probability = masked_distribution(LOGITS, MASK).probs
    assert probability[0].tolist() == pytest.approx([1 / 6, 2 / 6, 0.0, 3 / 6])
    assert probability[0, 2] == 0


def test_log_probability_of_what_was_done() -> None:
    chosen = masked_distribution(LOGITS.repeat(2, 1), MASK.repeat(2, 1))
    assert chosen.log_probs_of(torch.tensor([3, 0])).tolist() == pytest.approx([math.log(3 / 6), math.log(1 / 6)])


def test_entropy_counts_only_what_is_allowed() -> None:
    expected = -sum(p * math.log(p) for p in (1 / 6, 2 / 6, 3 / 6))
    assert masked_distribution(LOGITS, MASK).entropy().item() == pytest.approx(expected, rel=1e-6)
    single = torch.tensor([[False, False, True, False]])
    assert masked_distribution(LOGITS, single).entropy().item() == 0


def test_exploration_mixes_in_an_even_draw_from_the_allowed() -> None:
    mixed = masked_distribution(LOGITS, MASK, exploration=0.3)
    expected = [0.7 / 6 + 0.1, 0.7 * 2 / 6 + 0.1, 0.0, 0.7 * 3 / 6 + 0.1]
    assert mixed.probs[0].tolist() == pytest.approx(expected)
    assert mixed.log_probs_of(torch.tensor([1])).item() == pytest.approx(math.log(expected[1]))
    assert mixed.entropy().item() == pytest.approx(-sum(p * math.log(p) for p in expected if p), rel=1e-6)


@pytest.mark.parametrize("exploration", [0.0, 0.3])
def test_gradients_are_finite_and_none_reaches_a_forbidden_logit(exploration: float) -> None:
    logits = LOGITS.clone().requires_grad_()
    chosen = masked_distribution(logits, MASK, exploration)
    (chosen.log_probs_of(torch.tensor([0])).sum() + chosen.entropy().sum()).backward()  # type: ignore[no-untyped-call]
    assert logits.grad is not None
    assert bool(logits.grad.isfinite().all())
    assert logits.grad[0, 2] == 0
    assert logits.grad[0, 0] != 0


def test_draws_follow_the_probabilities_and_the_mask() -> None:
    count = 20000
    chosen = masked_distribution(LOGITS.expand(count, -1), MASK.expand(count, -1))
    drawn = chosen.sample(torch.Generator().manual_seed(1))
    shares = torch.bincount(drawn, minlength=4) / count
    assert shares[2] == 0
    assert shares.tolist() == pytest.approx([1 / 6, 2 / 6, 0.0, 3 / 6], abs=0.015)


def test_the_largest_draw_stays_within_the_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    largest = 1 - 2**-24
    monkeypatch.setattr(torch, "rand", lambda *size, generator: torch.full(size, largest))
    logits, masks = torch.zeros(1, 130), torch.zeros(1, 130, dtype=torch.bool)
    masks[:, :97] = True
    assert masked_distribution(logits, masks).sample(torch.Generator()).tolist() == [96]


def test_the_same_generator_draws_the_same() -> None:
    chosen = masked_distribution(torch.zeros(50, 4), torch.ones(50, 4, dtype=torch.bool))
    first, second = (chosen.sample(torch.Generator().manual_seed(7)) for _ in range(2))
    assert torch.equal(first, second)
    assert not torch.equal(first, chosen.sample(torch.Generator().manual_seed(8)))


def test_best_is_the_first_of_the_largest_that_are_allowed() -> None:
    logits = torch.tensor([[9.0, 1.0, 3.0, 3.0], [0.0, -1.0, -2.0, -3.0]])
    masks = torch.tensor([[False, True, True, True], [False, False, False, True]])
    assert greedy_actions(logits, masks).tolist() == [2, 3]


def test_a_mask_that_allows_nothing_is_an_error() -> None:
    masks = torch.tensor([[True, False], [False, False]])
    with pytest.raises(ShunterError, match="allows no action"):
        masked_distribution(torch.zeros(2, 2), masks)
