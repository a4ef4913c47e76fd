"""What off-policy algorithms share: they play on and on, remember it, and learn from draws of what they remember."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import torch
from torch import Tensor

from shunter.agents.algorithms import check_finite
from shunter.agents.common.normalization import RewardScale
from shunter.agents.common.replay import Replay
from shunter.agents.common.rollouts import means, play_figures
from shunter.agents.common.tensors import prefixed, without_prefix

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.agents.algorithms import ReplayOptions
    from shunter.agents.common.rollouts import Environments
    from shunter.agents.networks.base import Batch, Network
    from shunter.agents.training.checkpoint_files import Tensors

Act = Callable[[Tensor, Tensor], Tensor]
"""From observations and masks to an action for each environment."""
SCALE: Final = "reward_scale."
"""What the names of the reward scale's tensors begin with, among those of a training."""


@dataclass(frozen=True)
class Transitions:
    """Steps to learn from; the first dimension of all tensors is theirs."""

    batch: Batch
    actions: Tensor
    returns: Tensor
    """The rewards that followed, discounted, in deviations of the return."""
    next_batch: Batch
    """What was seen after them."""
    discounts: Tensor
    """What is expected there is multiplied by this; 0 where the episode had ended."""
    weights: Tensor
    """How much each counts."""
    places: NDArray[np.uint64]
    """Where they are in the replay buffer."""


class Experience:
    """Environments that are played, and the memory of it."""

    def __init__(
        self, environments: Environments, options: ReplayOptions, *, priority_exponent: float, seed: int
    ) -> None:
        """Begins an episode in each environment.

        Args:
            environments: Those that are played.
            options: How much to remember.
            priority_exponent: How much more often surprising steps are drawn; 0: all alike.
            seed: For the draws.
        """
        self._environments = environments
        self._options = options
        self._arrays = environments.step_arrays()
        self._scale = RewardScale(environments.num_envs, options.gamma)
        self.replay = Replay(
            environments.layout,
            environments.num_envs,
            capacity=options.replay_size,
            n_step=options.n_step,
            gamma=options.gamma,
            priority_exponent=priority_exponent,
            seed=seed,
        )
        environments.reset_into(self._arrays.observations, self._arrays.masks)
        self.replay.begin(self._arrays.observations, self._arrays.masks)
        self._actions: list[NDArray[np.int32]] = []
        self._invalid: list[NDArray[np.bool_]] = []
        self._totals: list[NDArray[np.float64]] = []

    @property
    def reward_deviation(self) -> float:
        """What rewards are divided by."""
        return self._scale.deviation

    @property
    def is_enough(self) -> bool:
        """Whether there is enough to learn from."""
        return len(self.replay) >= min(self._options.learn_after, self._options.replay_size // 2)

    def update(self, act: Act, learn: Callable[[], dict[str, float]]) -> dict[str, float]:
        """Plays as many steps as make an update, and learns in between.

        Args:
            act: Chooses actions.
            learn: Takes one gradient step; returns figures of it.

        Returns:
            Figures to be written down.
        """
        options = self._options
        seen: list[dict[str, float]] = []
        for step in range(1, options.rollout_steps + 1):
            self.play(act)
            if step % options.play_steps == 0 and self.is_enough:
                seen += [learn() for _ in range(options.gradient_steps)]
        return means(seen) | self._figures()

    def play(self, act: Act) -> None:
        """Takes one step in each environment, and remembers it.

        Raises:
            DivergenceError: A reward is not a number.
        """
        arrays = self._arrays
        with torch.inference_mode():
            chosen = act(torch.from_numpy(arrays.observations), torch.from_numpy(arrays.masks))
        actions = chosen.numpy(force=True).astype(np.int32)
        self._environments.step_into(actions, arrays)
        check_finite("the sum of the rewards", float(arrays.rewards.sum()))
        self.replay.add(actions, arrays)
        ended = arrays.terminated | arrays.truncated
        self._scale.observe(torch.from_numpy(arrays.rewards), torch.from_numpy(ended))
        self._actions.append(actions)
        self._invalid.append(arrays.invalid.copy())
        # A copy by indexing: the array itself is written again in the next step.
        self._totals.append(arrays.totals[ended])

    def draw(self, network: Network, importance_exponent: float, device: torch.device) -> Transitions:
        """Returns a minibatch, in the form in which the network reads it."""
        drawn = self.replay.sample(self._options.minibatch, importance_exponent=importance_exponent)

        def packed(observations: NDArray[np.float32], masks: NDArray[np.bool_]) -> Batch:
            return network.pack(torch.from_numpy(observations).to(device), torch.from_numpy(masks).to(device))

        return Transitions(
            packed(drawn.observations, drawn.masks),
            torch.from_numpy(drawn.actions).to(device),
            torch.from_numpy(drawn.returns).to(device) / self.reward_deviation,
            packed(drawn.next_observations, drawn.next_masks),
            torch.from_numpy(drawn.discounts).to(device),
            torch.from_numpy(drawn.weights).to(device),
            drawn.places,
        )

    def _figures(self) -> dict[str, float]:
        """Returns what is worth writing down since the last time, and forgets it."""
        layout = self._environments.layout
        figures = play_figures(layout, np.stack(self._actions), np.stack(self._invalid), self._totals)
        for kept in (self._actions, self._invalid, self._totals):
            kept.clear()
        return figures | {"replay": float(len(self.replay)), "reward_deviation": self.reward_deviation}

    def state(self) -> Tensors:
        """Returns where the environments are, and all that is remembered."""
        parts = {"environments": self._environments.state(), "replay": self.replay.state()}
        # As arrays, so that they go into the same file as the weights.
        arrays = {name: np.frombuffer(value, np.uint8) for name, value in parts.items()}
        return arrays | prefixed(SCALE, self._scale.state())

    def load_state(self, tensors: Tensors) -> None:
        """Goes back to a saved state."""
        self._environments.load_state(tensors["environments"].tobytes(), self._arrays.observations, self._arrays.masks)
        self.replay.load_state(tensors["replay"].tobytes())
        self._scale.load_state(without_prefix(SCALE, tensors))
