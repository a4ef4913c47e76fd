"""The reference environment: decisions one by one, what each is worth, and how an episode ends."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TypeAlias

from tests.reference.environment_rewards import (
    OBJECTIVES,
    Reward,
    bound_penalty,
    longest_wait_s,
    measured_jobs,
    objectives,
    worth,
)
from tests.reference.state import State


@dataclass(frozen=True)
class Seen:
    """What an agent sees when it is asked; after the end, what is left to see."""

    observation: list[float]
    mask: list[bool]
    jobs: list[int]
    """The jobs that are shown, in the order of the rows."""
    ranked: tuple[int, ...] = ()
    """The jobs of the pass as they were ranked at its beginning; each pass has its own."""


Decisions: TypeAlias = Generator[Seen, int, None]
"""Asks for one decision after the other; what is sent back is an action that the mask allows."""


@dataclass(frozen=True)
class Limits:
    """When an episode is cut off; None is never."""

    max_steps: int | None = None
    horizon_ms: int | None = None
    """Since the episode began."""


@dataclass(frozen=True)
class Step:
    """What a step did."""

    seen: Seen
    reward: float
    terminated: bool
    truncated: bool
    invalid: bool
    totals: list[float]


class Environment:
    """One episode, from its beginning."""

    def __init__(
        self,
        state: State,
        decisions: Decisions,
        look: Callable[[State], Seen],
        reward: Reward,
        limits: Limits,
        waits: bool,
    ) -> None:
        """Goes to the first decision.

        Args:
            state: The simulation.
            decisions: Asks for decisions about it.
            look: Shows the state when nothing is left to decide.
            reward: What is wanted.
            limits: When the episode is cut off.
            waits: Whether action 0 is *wait*.
        """
        self.state = state
        self.begin_ms = state.now_ms
        self._decisions = decisions
        self._look = look
        self._reward = reward
        self._limits = limits
        self._waits = waits
        self._worth = 0.0
        self._rewards: list[float] = []
        self._waits_chosen = 0
        self._invalid_actions = 0
        self.seen = next(decisions)

    def step(self, action: int) -> Step:
        """Takes an action, and goes to the next decision or to the end."""
        invalid = not self.seen.mask[action]
        taken = self.seen.mask.index(True) if invalid else action
        self._invalid_actions += invalid
        self._waits_chosen += self._waits and taken == 0
        terminated = self._go_on(taken)
        truncated = not terminated and self._is_cut_off(steps=len(self._rewards) + 1)
        self._rewards.append(self._step_reward(invalid, terminated, truncated))
        return Step(self.seen, self._rewards[-1], terminated, truncated, invalid, self._totals())

    def _go_on(self, action: int) -> bool:
        """Does what was decided, and returns whether nothing is left to decide."""
        try:
            self.seen = self._decisions.send(action)
        except StopIteration:
            self.seen = self._look(self.state)
            return True
        return False

    def _is_cut_off(self, steps: int) -> bool:
        """Tells whether there were enough decisions, or the clock has passed the horizon."""
        most_steps, horizon_ms = self._limits.max_steps, self._limits.horizon_ms
        return (most_steps is not None and steps >= most_steps) or (
            horizon_ms is not None and self.state.now_ms - self.begin_ms > horizon_ms
        )

    def _step_reward(self, invalid: bool, terminated: bool, truncated: bool) -> float:
        """Returns the change of what the episode has been worth so far, or all of it at its end; less penalties."""
        before, over = self._worth, terminated or truncated
        if over or self._reward.dense:
            self._worth = worth(self.state, self.begin_ms, self._reward, terminated)
        bounds = bound_penalty(self.state, self.begin_ms, self._reward) if over else 0.0
        return self._worth - before - bounds - self._reward.invalid_penalty * invalid

    def _totals(self) -> list[float]:
        """Returns the objectives and counts so far."""
        measured = measured_jobs(self.state, self._reward)
        by_name = objectives(self.state, self.begin_ms, self._reward, log=False)
        return [
            *(by_name[name] for name in OBJECTIVES),
            longest_wait_s(self.state, self._reward),
            len(self._rewards),
            self._waits_chosen,
            self._invalid_actions,
            len(measured),
            sum(self.state.result.start_ms[job] is not None for job in measured),
            (self.state.now_ms - self.begin_ms) / 1000,
            sum(self._rewards),
        ]
