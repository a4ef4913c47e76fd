"""A scheduling problem so small that brute force solves it: a few jobs, two nodes, one job at a time."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from shunter.envs.layout import JOB_FEATURES, Layout
from shunter.envs.rewards import OBJECTIVES, TOTALS
from shunter.envs.vector import StepArrays
from shunter.policies.catalog import PICK_JOB

if TYPE_CHECKING:
    from numpy.typing import NDArray

JOBS = 4
NODES = 2
RUN_S = (1, 2, 3, 5, 8, 13)
LAYOUT = Layout(PICK_JOB, window=JOBS + 2, lookahead_size=NODES, counts="size")
"""Two rows are never filled."""
LONGEST_S = max(RUN_S) * JOBS
COST = OBJECTIVES.index("slowdown")
"""The total that holds the objective."""


class Toy:
    """Environments with the interface of `shunter.envs.vector.NativeVectorEnv`.

    Each choice starts a job on the node that is free first. The reward is minus the job's wait, in run times; the
    objective is their mean. *wait* is never allowed.
    """

    layout = LAYOUT

    def __init__(self, num_envs: int, seed: int = 0, *, max_steps: int = JOBS, shuffled: bool = False) -> None:
        self.num_envs = num_envs
        self._max_steps = max_steps
        self._shuffled = shuffled
        self._random = np.random.default_rng(seed)
        self.run_s = np.zeros((num_envs, JOBS))
        """The jobs that wait, filled up with zeros."""
        self._free_s = np.zeros((num_envs, NODES))
        self._steps = np.zeros(num_envs, np.int64)
        self._cost = np.zeros(num_envs)

    def step_arrays(self) -> StepArrays:
        count = self.num_envs
        return StepArrays(
            observations=np.zeros((count, LAYOUT.observation_size), np.float32),
            masks=np.zeros((count, LAYOUT.actions), np.bool_),
            rewards=np.zeros(count),
            terminated=np.zeros(count, np.bool_),
            truncated=np.zeros(count, np.bool_),
            invalid=np.zeros(count, np.bool_),
            final_observations=np.zeros((count, LAYOUT.observation_size), np.float32),
            final_masks=np.zeros((count, LAYOUT.actions), np.bool_),
            totals=np.zeros((count, len(TOTALS))),
        )

    def reset_into(self, observations: NDArray[np.float32], masks: NDArray[np.bool_]) -> None:
        self._begin(np.ones(self.num_envs, np.bool_))
        self._look(observations, masks)

    def step_into(self, actions: NDArray[np.int32], arrays: StepArrays) -> None:
        every = np.arange(self.num_envs)
        row = actions - 1
        run_s = self.run_s[every, row]
        assert ((row >= 0) & (run_s > 0)).all(), "a masked-out action was taken"
        node = self._free_s.argmin(axis=1)
        wait = self._free_s[every, node] / run_s
        self._free_s[every, node] += run_s
        self._cost += wait / JOBS
        self._steps += 1
        behind = np.arange(JOBS) >= row[:, None]
        self.run_s = np.where(behind, np.pad(self.run_s, ((0, 0), (0, 1)))[:, 1:], self.run_s)
        arrays.rewards[:] = -wait / JOBS
        arrays.terminated[:] = self.run_s[:, 0] == 0
        arrays.truncated[:] = ~arrays.terminated & (self._steps >= self._max_steps)
        done = arrays.terminated | arrays.truncated
        observations, masks = np.empty_like(arrays.observations), np.empty_like(arrays.masks)
        self._look(observations, masks)
        arrays.final_observations[done], arrays.final_masks[done] = observations[done], masks[done]
        arrays.totals[done] = 0.0
        arrays.totals[done, COST] = self._cost[done]
        arrays.totals[done, TOTALS.index("reward")] = -self._cost[done]
        self._begin(done)
        self._look(arrays.observations, arrays.masks)

    def state(self) -> bytes:
        arrays = {name: getattr(self, name).tolist() for name in ("run_s", "_free_s", "_steps", "_cost")}
        return json.dumps({"arrays": arrays, "random": self._random.bit_generator.state}).encode()

    def load_state(self, state: bytes, observations: NDArray[np.float32], masks: NDArray[np.bool_]) -> None:
        saved: dict[str, Any] = json.loads(state)
        for name, values in saved["arrays"].items():
            setattr(self, name, np.array(values, getattr(self, name).dtype))
        self._random.bit_generator.state = saved["random"]
        self._look(observations, masks)

    def _begin(self, which: NDArray[np.bool_]) -> None:
        self.run_s[which] = self._random.choice(RUN_S, (int(which.sum()), JOBS))
        for array in (self._free_s, self._steps, self._cost):
            array[which] = 0

    def _look(self, observations: NDArray[np.float32], masks: NDArray[np.bool_]) -> None:
        observations[:] = 0
        parts = LAYOUT.split(observations)
        present = self.run_s > 0
        parts["lookahead"][:] = self._free_s / LONGEST_S
        parts["jobs"][:, :JOBS, 0] = present
        parts["jobs"][:, :JOBS, JOB_FEATURES.index("log_estimate")] = self.run_s / max(RUN_S)
        masks[:] = False
        masks[:, 1 : JOBS + 1] = present
        if self._shuffled:
            # Each environment is shown another one's state, whose masks are its own.
            order = np.roll(np.arange(self.num_envs), self.num_envs // 2)
            observations[:] = observations[order]


def play(run_s: NDArray[np.float64], order: tuple[int, ...]) -> float:
    """Returns the objective of starting jobs in an order."""
    free_s = [0.0] * NODES
    cost = 0.0
    for place in order:
        node = free_s.index(min(free_s))
        cost += free_s[node] / run_s[place] / JOBS
        free_s[node] += run_s[place]
    return cost


def optimum(run_s: NDArray[np.float64]) -> float:
    """Returns the best objective of any order."""
    return min(play(run_s, order) for order in itertools.permutations(range(JOBS)))


def at_random(run_s: NDArray[np.float64]) -> float:
    """Returns the mean objective over all orders: what choosing at random gets."""
    return float(np.mean([play(run_s, order) for order in itertools.permutations(range(JOBS))]))
