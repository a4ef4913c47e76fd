"""The replay buffer in plain words, and environments that are played at random: lists of full observations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shunter.envs.arrays import VectorArrays
from shunter.envs.layout import Layout
from shunter.envs.vector import StepArrays
from shunter.policies.catalog import PICK_HOST, PICK_JOB

JOBS = Layout(PICK_JOB, window=5, lookahead_size=3, extra_features=("own",), counts="size")
HOSTS = Layout(PICK_HOST, num_hosts=18)
STEP = 65535
"""Numbers are stored to one part in so many."""

Seen = tuple[NDArray[np.float32], NDArray[np.bool_]]
"""An observation and its mask."""


def new_arrays(layout: Layout, num_envs: int) -> StepArrays:
    """Returns what a step writes, all zeros."""
    arrays = VectorArrays(num_envs, layout)
    return StepArrays(**{name: arrays.new(name) for name in StepArrays.__dataclass_fields__})


class RandomEnvironments:
    """Environments that show random things; the first number of each observation is its own and nobody else's."""

    def __init__(self, layout: Layout, num_envs: int, seed: int, *, end_share: float = 0.3) -> None:
        self.layout, self.num_envs = layout, num_envs
        self.arrays = new_arrays(layout, num_envs)
        self.random = np.random.default_rng(seed)
        self._end_share = end_share
        self._shown = 0

    def look(self) -> Seen:
        """Returns what one environment sees."""
        observation = self.random.random(self.layout.observation_size).astype(np.float32)
        mask = self.random.random(self.layout.actions) < 0.5
        if self.layout.may_wait:
            filled = int(self.random.integers(0, self.layout.window + 1))
            rows = self.layout.split(observation)["jobs"]
            rows[:, 0] = 1.0
            rows[filled:] = 0.0
            mask[1 + filled :] = False
        mask[0] |= not mask.any()
        observation[0] = self._shown / STEP
        self._shown += 1
        return observation, mask

    def reset(self) -> None:
        """Begins an episode in each."""
        for place in range(self.num_envs):
            self.arrays.observations[place], self.arrays.masks[place] = self.look()

    def step(self) -> NDArray[np.int32]:
        """Plays at random; returns what was done."""
        arrays, random = self.arrays, self.random
        actions = np.array([random.choice(np.flatnonzero(mask)) for mask in arrays.masks], np.int32)
        arrays.rewards[:] = random.normal(size=self.num_envs)
        arrays.terminated[:] = random.random(self.num_envs) < self._end_share
        arrays.truncated[:] = random.random(self.num_envs) < self._end_share
        # Where no episode has ended, these hold anything.
        arrays.final_observations[:], arrays.final_masks[:] = np.nan, False
        for place in np.flatnonzero(arrays.truncated):
            arrays.final_observations[place], arrays.final_masks[place] = self.look()
        self.reset()
        return actions


@dataclass(frozen=True)
class Transition:
    """What a sample must be."""

    mask: list[bool]
    observation: NDArray[np.float32]
    action: int
    total: float
    discount: float
    next: Seen | None
    """None: the episode terminated."""


@dataclass
class _Step:
    seen: Seen
    action: int
    reward: float
    terminated: bool
    final: Seen | None


@dataclass
class PlainReplay:
    """The same buffer, straight from its definition."""

    num_envs: int
    capacity: int
    n_step: int
    gamma: float
    _steps: list[list[_Step]] = field(default_factory=list)
    _current: list[Seen] = field(default_factory=list)

    def begin(self, arrays: StepArrays) -> None:
        """Takes in what is seen; episodes that were under way are cut."""
        now = _seen(arrays.observations, arrays.masks)
        self._steps = self._steps or [[] for _ in range(self.num_envs)]
        for steps, before in zip(self._steps, self._current, strict=False):
            if steps and not steps[-1].terminated and steps[-1].final is None:
                steps[-1].final = before
        self._current = now

    def add(self, actions: NDArray[np.int32], arrays: StepArrays) -> None:
        """Takes in one step of all."""
        finals = _seen(arrays.final_observations, arrays.final_masks)
        for place, steps in enumerate(self._steps):
            terminated = bool(arrays.terminated[place])
            final = finals[place] if arrays.truncated[place] and not terminated else None
            steps.append(
                _Step(self._current[place], int(actions[place]), float(arrays.rewards[place]), terminated, final)
            )
            del steps[: -(self.capacity // self.num_envs)]
        self._current = _seen(arrays.observations, arrays.masks)

    def transitions(self) -> dict[int, Transition]:
        """Returns what can be drawn, by the number of its observation."""
        found = {}
        for steps, current in zip(self._steps, self._current, strict=True):
            behind = [*(step.seen for step in steps[1:]), current]
            for place, step in enumerate(steps):
                made = self._transition(steps[place:], behind[place:])
                if made:
                    found[round(float(step.seen[0][0]) * STEP)] = made
        return found

    def _transition(self, steps: list[_Step], behind: list[Seen]) -> Transition | None:
        total, first = 0.0, steps[0]
        what: dict[str, Any] = {"observation": first.seen[0], "mask": first.seen[1].tolist(), "action": first.action}
        for later, step in enumerate(steps[: self.n_step]):
            total += self.gamma**later * step.reward
            if step.terminated:
                return Transition(**what, total=total, discount=0.0, next=None)
            if step.final or later == self.n_step - 1:
                follows = step.final or behind[later]
                return Transition(**what, total=total, discount=self.gamma ** (later + 1), next=follows)
        return None


def _seen(observations: NDArray[np.float32], masks: NDArray[np.bool_]) -> list[Seen]:
    return list(zip(observations.copy(), masks.copy(), strict=True))
