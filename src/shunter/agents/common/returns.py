"""Advantages: how much better than expected actions were, over many steps of many environments at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def generalized_advantages(
    rewards: NDArray[np.float64],
    values: NDArray[np.float32],
    last_values: NDArray[np.float32],
    terminated: NDArray[np.bool_],
    truncated: NDArray[np.bool_],
    final_values: NDArray[np.float32],
    *,
    gamma: float,
    gae_lambda: float,
) -> NDArray[np.float32]:
    """Returns generalized advantage estimates (Schulman et al., 2016).

    An episode that is terminated is worth nothing more. One that is truncated would have gone on: what follows is
    worth what the value function says of its final observation. In neither case does credit flow back from the
    episode that begins next.

    Args:
        rewards: (steps, environments).
        values: (steps, environments), of the observations that were acted on.
        last_values: (environments,), of the observations behind the last step.
        terminated: (steps, environments).
        truncated: (steps, environments).
        final_values: (steps, environments), of the final observations; read only where an episode was truncated.
        gamma: The discount of a step.
        gae_lambda: 0 trusts the value function alone, 1 the rewards alone.
    """
    next_values = np.concatenate([values[1:], last_values[None]])
    # In this order: an episode that is both terminated and truncated has ended.
    next_values = np.where(truncated, final_values, next_values)
    next_values = np.where(terminated, 0.0, next_values)
    # The temporal-difference errors; an advantage is a discounted sum of them up to the end of its episode.
    deltas = rewards + gamma * next_values - values
    discounts = gamma * gae_lambda * ~(terminated | truncated)
    advantages = np.empty(values.shape, np.float32)
    carry = np.zeros(values.shape[1])
    for step in reversed(range(len(values))):
        carry = deltas[step] + discounts[step] * carry
        advantages[step] = carry
    return advantages


def explained_variance(values: NDArray[np.float32], returns: NDArray[np.float32]) -> float:
    """Returns which part of the returns' variance the values explain: 1 all of it, 0 none, below 0 worse than none."""
    variance = float(returns.var())
    return 1 - float((returns - values).var()) / variance if variance > 0 else 0.0
