"""Environments played by a network, each episode once, always by its best action."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from shunter.envs.network import NativeNetwork
from shunter.envs.resets import LEAVE
from shunter.simulation.simulation import Simulation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.envs.vector import NativeVectorEnv
    from shunter.simulation.learned import Evaluator

TURN: Final = 4096
"""After about so many decisions in all environments the core comes back, so that progress is told and Ctrl-C heard."""
TELL_EVERY: Final = 200
"""Where Python takes the steps, progress is told after so many of them."""

Finished = Callable[[int, Simulation], None]
"""Called with an episode's place and its simulation, which is over; the simulation is the caller's to close."""


@dataclass(frozen=True)
class PlayStep:
    """One step of `play`, before it is taken; the first dimension is that of the environments that decide."""

    rows: NDArray[np.int64]
    """Which environments decide."""
    observations: NDArray[np.float32]
    masks: NDArray[np.bool_]
    actions: NDArray[np.int32]


Seen = Callable[[PlayStep], None]


def play(
    network: Evaluator,
    vector: NativeVectorEnv,
    *,
    finished: Finished,
    seen: Seen | None = None,
    tell: Callable[[], None] | None = None,
) -> None:
    """Plays every episode of environments once, always by a network's best action.

    Args:
        network: Who decides.
        vector: Environments that do not begin an episode by themselves; no more than there are episodes.
        finished: Takes what came of an episode.
        seen: Takes what the network sees and does.
        tell: Called now and then, to tell progress.
    """
    # Features of the user's own are worked out in Python, at every step.
    if isinstance(network, NativeNetwork) and seen is None and not vector.layout.extra_features:
        _play_in_core(network, vector, finished, tell)
    else:
        _play_by_steps(network, vector, finished, seen, tell)


def _play_in_core(
    network: NativeNetwork, vector: NativeVectorEnv, finished: Finished, tell: Callable[[], None] | None
) -> None:
    arrays, together = vector.step_arrays(), vector.num_envs
    for first in range(0, vector.episodes, together):
        episodes = np.arange(first, first + together, dtype=np.int64)
        # In the last round there may be more environments than episodes; what is over stays so.
        vector.reset_into(arrays.observations, arrays.masks, np.where(episodes < vector.episodes, episodes, LEAVE))
        while not vector.play(network, max(1, TURN // together)):
            if tell is not None:
                tell()
        for row, episode in enumerate(episodes[episodes < vector.episodes].tolist()):
            finished(episode, vector.simulation(row))


def _play_by_steps(
    network: Evaluator,
    vector: NativeVectorEnv,
    finished: Finished,
    seen: Seen | None,
    tell: Callable[[], None] | None,
) -> None:
    arrays = vector.step_arrays()
    episodes = np.arange(vector.num_envs, dtype=np.int64)
    begun, steps = vector.num_envs, 0
    counts = np.ones(vector.num_envs, dtype=np.bool_)
    vector.reset_into(arrays.observations, arrays.masks, episodes)
    actions = np.zeros(vector.num_envs, dtype=np.int32)
    while counts.any():
        rows = np.flatnonzero(counts)
        observations, masks = arrays.observations[rows], arrays.masks[rows]
        actions[rows] = best_actions(network, observations, masks)
        if seen is not None:
            seen(PlayStep(rows, observations, masks, actions[rows]))
        steps += 1
        if tell is not None and steps % TELL_EVERY == 0:
            tell()
        vector.step_into(actions, arrays)
        done = arrays.terminated | arrays.truncated
        for row in np.flatnonzero(done):
            if counts[row]:
                finished(int(episodes[row]), vector.simulation(int(row)))
            # All environments are stepped together: one that has nothing left to do plays on, and counts no more.
            counts[row] = begun < vector.episodes
            episodes[row] = min(begun, vector.episodes - 1)
            begun += 1
        if done.any():
            vector.reset_into(arrays.observations, arrays.masks, np.where(done, episodes, LEAVE))


def best_actions(network: Evaluator, observations: NDArray[np.float32], masks: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Returns the best action of each observation; where only one is allowed, the network is not asked."""
    actions: NDArray[np.int32] = masks.argmax(axis=1).astype(np.int32)
    free = masks.sum(axis=1) > 1
    if free.any():
        actions[free] = network.choose(observations[free], masks[free])
    return actions
