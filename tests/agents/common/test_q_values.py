"""Q-values: the state's value plus how much better than the mean an action scores."""

from __future__ import annotations

import torch

from shunter.agents.common.masking import FORBIDDEN
from shunter.agents.common.q_values import q_values
from shunter.agents.networks.base import DenseBatch
from tests.agents.fixed import Fixed

SCORES = torch.tensor([[1.0, 4.0, 100.0], [5.0, 0.0, 0.0]])
MASKS = torch.tensor([[True, True, False], [True, False, False]])
NEVER = torch.tensor(FORBIDDEN).item()
"""In single precision."""
BATCH = DenseBatch(torch.zeros(2, 1), MASKS)


def test_forbidden_actions_count_neither_in_the_mean_nor_as_actions() -> None:
    found = q_values(Fixed(SCORES, torch.tensor([10.0, 20.0])), BATCH)
    # The mean of what is allowed is 2.5 in the first sample, and 5 in the second.
    assert found.tolist() == [[8.5, 11.5, NEVER], [20.0, NEVER, NEVER]]


def test_without_dueling_the_scores_are_the_values() -> None:
    found = q_values(Fixed(SCORES, torch.tensor([10.0, 20.0])), BATCH, dueling=False)
    assert found.tolist() == [[1.0, 4.0, NEVER], [5.0, NEVER, NEVER]]


def test_each_head_has_its_own() -> None:
    scores = torch.stack([SCORES, 2 * SCORES], dim=2)
    values = torch.tensor([[10.0, 0.0], [20.0, 1.0]])
    found = q_values(Fixed(scores, values), BATCH)
    assert found[..., 0].tolist() == [[8.5, 11.5, NEVER], [20.0, NEVER, NEVER]]
    assert found[..., 1].tolist() == [[-3.0, 3.0, NEVER], [1.0, NEVER, NEVER]]
