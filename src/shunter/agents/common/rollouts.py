"""Steps of many environments, kept as arrays: time first, then the environments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from torch import Tensor

from shunter.envs.rewards import OBJECTIVES, TOTALS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.envs.layout import Layout
    from shunter.envs.vector import StepArrays


class Environments(Protocol):
    """What algorithms need of `shunter.envs.vector.NativeVectorEnv`."""

    num_envs: int
    layout: Layout

    def step_arrays(self) -> StepArrays:
        """Returns arrays for `step_into`."""
        ...

    def reset_into(self, observations: NDArray[np.float32], masks: NDArray[np.bool_]) -> None:
        """Begins an episode in each environment."""
        ...

    def step_into(self, actions: NDArray[np.int32], arrays: StepArrays) -> None:
        """Takes one action in each environment; one whose episode ends begins the next."""
        ...

    def state(self) -> bytes:
        """Returns everything that decides what comes next."""
        ...

    def load_state(self, state: bytes, observations: NDArray[np.float32], masks: NDArray[np.bool_]) -> None:
        """Goes back to a saved state."""
        ...


Act = Callable[[int, Tensor, Tensor], Tensor]
"""From the step's number, observations and masks to an action for each environment."""


class Rollout:
    """So many steps of all environments. The environments write straight into its arrays."""

    def __init__(self, environments: Environments, steps: int) -> None:
        """Begins an episode in each environment."""
        self._environments = environments
        self.steps = steps
        one = environments.step_arrays()
        self.observations = _many(one.observations, steps + 1)
        """(steps + 1, environments, size): what was acted on, and behind the last step what will be."""
        self.masks = _many(one.masks, steps + 1)
        self.actions = np.zeros((steps, environments.num_envs), np.int32)
        self.rewards = _many(one.rewards, steps)
        self.terminated = _many(one.terminated, steps)
        self.truncated = _many(one.truncated, steps)
        self.invalid = _many(one.invalid, steps)
        self.truncated_at: list[NDArray[np.int64]] = []
        """For each step that truncated episodes: (2, episodes), the step and the environment of each."""
        self._final_observations: list[NDArray[np.float32]] = []
        self._final_masks: list[NDArray[np.bool_]] = []
        self._totals: list[NDArray[np.float64]] = []
        # Made once: the environments check arrays when they first see them, and write straight into them from then on.
        self._into = [self._arrays_of(one, step) for step in range(steps)]
        environments.reset_into(self.observations[0], self.masks[0])
        self._is_first = True

    def _arrays_of(self, one: StepArrays, step: int) -> StepArrays:
        return replace(
            one,
            observations=self.observations[step + 1],
            masks=self.masks[step + 1],
            rewards=self.rewards[step],
            terminated=self.terminated[step],
            truncated=self.truncated[step],
            invalid=self.invalid[step],
        )

    def collect(self, act: Act) -> None:
        """Goes on from where the environments are, by so many steps."""
        # The last observation of a rollout is the first of the next.
        if not self._is_first:
            self.observations[0] = self.observations[-1]
            self.masks[0] = self.masks[-1]
        self._is_first = False
        for kept in (self.truncated_at, self._final_observations, self._final_masks, self._totals):
            kept.clear()
        for step, into in enumerate(self._into):
            seen = torch.from_numpy(self.observations[step]), torch.from_numpy(self.masks[step])
            self.actions[step] = act(step, *seen).numpy(force=True)
            self._environments.step_into(self.actions[step], into)
            self._keep_ends(step, into)

    def _keep_ends(self, step: int, into: StepArrays) -> None:
        """Copies what the next step would overwrite."""
        ended = into.terminated | into.truncated
        if ended.any():
            # A copy by indexing: the array itself is written again in the next step.
            self._totals.append(into.totals[ended])
            # Only truncated episodes go on in theory, and need the value of their last observation.
            cut = np.flatnonzero(into.truncated & ~into.terminated)
            if len(cut):
                self.truncated_at.append(np.stack([np.full_like(cut, step), cut]))
                self._final_observations.append(into.final_observations[cut])
                self._final_masks.append(into.final_masks[cut])

    def final_observations(self) -> tuple[Tensor, Tensor]:
        """Returns the final observations and masks of the truncated episodes, in the order of `truncated_at`."""
        return torch.from_numpy(np.concatenate(self._final_observations)), torch.from_numpy(
            np.concatenate(self._final_masks)
        )

    def figures(self) -> dict[str, float]:
        """Returns what is worth writing down."""
        return play_figures(self._environments.layout, self.actions, self.invalid, self._totals)

    def state(self) -> NDArray[np.uint8]:
        """Returns where the environments are, as bytes."""
        # As an array, so that it goes into the same file as the weights.
        return np.frombuffer(self._environments.state(), np.uint8)

    def load_state(self, state: NDArray[np.uint8]) -> None:
        """Puts the environments back to where they were."""
        self._environments.load_state(state.tobytes(), self.observations[0], self.masks[0])
        self._is_first = True


def _many(array: NDArray[Any], count: int) -> NDArray[Any]:
    return np.zeros((count, *array.shape), array.dtype)


def play_figures(
    layout: Layout, actions: NDArray[np.int32], invalid: NDArray[np.bool_], totals: Sequence[NDArray[np.float64]]
) -> dict[str, float]:
    """Returns what is worth writing down: shares of the steps, and means over the episodes that have ended.

    Args:
        layout: Of the environments.
        actions: Those that were taken.
        invalid: Whether the mask forbade them.
        totals: Of the episodes that have ended, (episodes, totals) each.
    """
    figures = {"invalid_share": float(invalid.mean())}
    if layout.may_wait:
        figures["wait_share"] = float((actions == 0).mean())
    ended = np.concatenate(totals) if totals else np.empty((0, len(TOTALS)))
    figures["episodes"] = float(len(ended))
    if len(ended):
        total_means = dict(zip(TOTALS, ended.mean(axis=0).tolist(), strict=True))
        figures["return"] = total_means["reward"]
        figures |= {f"episode/{name}": total_means[name] for name in (*OBJECTIVES, "max_wait_s", "steps")}
    return figures


def means(seen: Sequence[dict[str, float]]) -> dict[str, float]:
    """Returns the mean of each figure over those that have it."""
    names = dict.fromkeys(name for figures in seen for name in figures)
    return {name: float(np.mean([each[name] for each in seen if name in each])) for name in names}
