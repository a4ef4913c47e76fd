"""What actions are worth: Q-values, as networks that score actions and value states say them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from shunter.agents.common.masking import FORBIDDEN

if TYPE_CHECKING:
    from shunter.agents.networks.base import Batch, Network


def q_values(network: Network, batch: Batch, *, dueling: bool = True) -> Tensor:
    """Returns what each action is worth: (samples, actions), with several heads (samples, actions, heads).

    Args:
        network: Who is asked.
        batch: What is seen.
        dueling: The value of the state plus how much better than the mean of those allowed an action scores (Wang et
            al., 2016); otherwise the scores alone. The best action is the same, so that the network decides by its
            scores either way.

    Returns:
        `FORBIDDEN` where the mask forbids an action.
    """
    scores, values = network.evaluate(batch)
    masks = batch.masks
    if scores.dim() == 3:
        masks, values = masks.unsqueeze(2), values.unsqueeze(1)
    else:
        values = values.unsqueeze(1)
    if dueling:
        # Where, not times: what is forbidden may be anything.
        total = torch.where(masks, scores, 0.0).sum(dim=1, keepdim=True)
        scores = values + scores - total / masks.sum(dim=1, keepdim=True)
    return torch.where(masks, scores, FORBIDDEN)
