"""Choosing among the actions that a mask allows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from shunter.agents.algorithms import check_finite
from shunter.errors import ShunterError

FORBIDDEN: Final = -1e30
"""The logit and log-probability of what the mask forbids. It is finite, so that 0 times it is 0 and not NaN."""

BELOW_ONE: Final = 1 - 2**-20
"""Draws end here: rounding must not carry one past the last action that is allowed."""


@dataclass(frozen=True)
class ActionDistribution:
    """For each sample, how probable each action is: (samples, actions)."""

    probs: Tensor
    """0 where the mask forbids an action."""
    log_probs: Tensor
    """About `FORBIDDEN` where the mask forbids an action."""

    def log_probs_of(self, actions: Tensor) -> Tensor:
        """Returns the log-probability of the actions (samples,) that were taken."""
        return self.log_probs.gather(1, actions.unsqueeze(1)).squeeze(1)

    def entropy(self) -> Tensor:
        """Returns how undecided each sample is, in nats."""
        return -(self.probs * self.log_probs).sum(dim=1)

    def sample(self, generator: torch.Generator) -> Tensor:
        """Draws an action for each sample, with one random number; the generator is one of the CPU.

        Raises:
            DivergenceError: The probabilities are not numbers.
        """
        return self.pick(torch.rand(len(self.probs), 1, generator=generator))

    def pick(self, draws: Tensor) -> Tensor:
        """Returns the actions that numbers from 0 to 1, (samples, 1), draw.

        Raises:
            DivergenceError: The probabilities are not numbers.
        """
        cumulative = self.probs.cumsum(dim=1)
        check_finite("the sum of the policy's probabilities", float(cumulative[:, -1].sum()))
        draws = draws.to(cumulative.device)
        # An action that has no probability adds nothing to the sum, and is stepped over.
        return (cumulative <= draws * BELOW_ONE * cumulative[:, -1:]).sum(dim=1)


def masked_distribution(logits: Tensor, masks: Tensor, exploration: float = 0.0) -> ActionDistribution:
    """Returns how probable each action is.

    Args:
        logits: (samples, actions); those of forbidden actions may be anything.
        masks: (samples, actions), True where an action is allowed.
        exploration: With this probability the action is drawn evenly from those allowed.

    Raises:
        ShunterError: A mask allows nothing.
    """
    allowed = masked_logits(logits, masks)
    # The exponential of a log-probability would be the same; far from 0 it is many times slower.
    probs = torch.softmax(allowed, dim=1)
    if exploration == 0:
        return ActionDistribution(probs, torch.log_softmax(allowed, dim=1))
    even = exploration / masks.sum(dim=1, keepdim=True)
    probs = torch.where(masks, (1 - exploration) * probs + even, 0.0)
    return ActionDistribution(probs, torch.where(masks, probs, 1.0).log().masked_fill(~masks, FORBIDDEN))


def greedy_actions(logits: Tensor, masks: Tensor) -> Tensor:
    """Returns the allowed action with the largest logit; the first of those that are equal.

    Raises:
        ShunterError: A mask allows nothing.
    """
    return masked_logits(logits, masks).argmax(dim=1)


def masked_logits(logits: Tensor, masks: Tensor) -> Tensor:
    """Returns logits (samples, actions) with `FORBIDDEN` where masks forbid an action.

    Raises:
        ShunterError: A mask allows nothing.
    """
    if not bool(masks.any(dim=1).all()):
        raise ShunterError("a mask allows no action at all; an environment that is due must allow at least one")
    return torch.where(masks, logits, FORBIDDEN)
