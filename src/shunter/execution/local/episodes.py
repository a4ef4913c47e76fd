"""Episodes that are executed: an environment whose jobs run for real, for algorithms that play whole episodes.

An episode submits some jobs and lasts until all of them are over. Whenever a job could start, the policy is asked, and
sees what it would see in the queue later. The reward of a step is what jobs waited until the next one, negative, as a
share of the jobs: over an episode, the rewards add up to minus the mean wait.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Final

import numpy as np

from shunter.envs.arrays import VectorArrays
from shunter.envs.rewards import TOTALS
from shunter.envs.vector import StepArrays
from shunter.execution.planning import as_plan, consultation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.envs.consultation import Consultation
    from shunter.envs.pick_job import PickJobOptions
    from shunter.execution.local.foreground import Foreground
    from shunter.execution.local.spec import JobSpec
    from shunter.execution.view import SeenJob, View

POLICY: Final = "that is being learned"
_WAIT: Final = 0
"""The action that starts nobody."""


class InterruptedEpisode(Exception):
    """The user has interrupted an episode; its jobs have been ended."""


class ExecutedEpisodes:
    """One environment, as `shunter.agents.common.rollouts.Environments` describes them.

    An episode that is over stays over until `reset_into`.
    """

    num_envs = 1

    def __init__(
        self,
        queue: Foreground,
        options: PickJobOptions,
        jobs: Callable[[int], Sequence[JobSpec]],
        is_asked: Callable[[], bool],
        ended: Callable[[int, list[int]], None],
    ) -> None:
        """Runs nothing yet.

        Args:
            queue: Runs the jobs.
            options: What is shown, and what choosing a job does.
            jobs: Returns the jobs of an episode, by its number from 1.
            is_asked: Returns whether the user has interrupted.
            ended: Called with an episode's number and the ids of its jobs, when it is over or interrupted.
        """
        self.layout = options.layout
        self.episode = 0
        """How many episodes have begun."""
        self._queue = queue
        self._options = options
        self._jobs = jobs
        self._is_asked = is_asked
        self._ended = ended
        self._arrays = VectorArrays(self.num_envs, self.layout)
        self._question: Consultation | None = None
        self._view: View | None = None
        self._shown: list[SeenJob] = []
        self._ids: list[int] = []
        self._seen: list[SeenJob] = []
        self._waited_s = 0.0
        self._totals: dict[str, float] = {}

    def step_arrays(self) -> StepArrays:
        """Returns arrays for `step_into`, all zeros."""
        return StepArrays(**{field.name: self._arrays.new(field.name) for field in fields(StepArrays)})

    def reset_into(self, observations: NDArray[np.float32], masks: NDArray[np.bool_]) -> None:
        """Begins an episode, and runs it to the first decision."""
        self.episode += 1
        with self._queue.ending_jobs():
            self._ids = self._queue.submit(self._jobs(self.episode))
            self._seen = [self._queue.queue.board.entries[job].seen for job in self._ids]
            self._waited_s = 0.0
            # What is not measured here is no number, so that nobody draws it.
            self._totals = {**dict.fromkeys(TOTALS, math.nan), "steps": 0.0, "waits": 0.0, "reward": 0.0}
            self._advance()
        self._show(observations, masks)

    def step_into(self, actions: NDArray[np.int32], arrays: StepArrays) -> None:
        """Takes one action, and runs on to the next decision, or to the end of the episode."""
        assert self._question is not None, "the episode is over"
        action = int(actions[0])
        with self._queue.ending_jobs():
            self._question.act(action)
            self._advance()
        waited_s = self._waited()
        reward = (self._waited_s - waited_s) / len(self._seen)
        self._waited_s = waited_s
        self._totals["steps"] += 1
        self._totals["waits"] += action == _WAIT
        self._totals["reward"] += reward
        is_over = self._question is None
        arrays.rewards[0], arrays.terminated[0] = reward, is_over
        arrays.truncated[0] = arrays.invalid[0] = False
        if is_over:
            self._end(arrays)
        self._show(arrays.observations, arrays.masks)

    def state(self) -> bytes:
        """Returns everything that decides what comes next, between two episodes."""
        return json.dumps({"episode": self.episode}).encode()

    def load_state(self, state: bytes, observations: NDArray[np.float32], masks: NDArray[np.bool_]) -> None:
        """Goes back to a saved state; the next episode begins with `reset_into`."""
        self.episode = int(json.loads(state)["episode"])

    def _advance(self) -> None:
        """Runs jobs until the policy is to be asked, or all of them are over."""
        while self._question is None or not self._question.due:
            if self._question is not None:
                self._carry_out(self._question)
            while not self._may_decide():
                if self._queue.is_over(self._ids):
                    self._question = None
                    return
                self._queue.hear(1.0)
                self._queue.queue.flush()
                if self._is_asked():
                    self._interrupt()
            self._view = self._queue.queue.view()
            self._shown, self._question = consultation(self._view, self._options)

    def _may_decide(self) -> bool:
        """Returns whether something has happened, somebody waits, and something is free."""
        if self._queue.queue.is_full() or not self._queue.queue.board.ready(1):
            return False
        return self._queue.take_change()

    def _carry_out(self, question: Consultation) -> None:
        assert self._view is not None
        plan = as_plan(self._shown, question.decision(), POLICY, time.perf_counter())
        self._queue.loop.carry_out(plan, self._view)
        self._queue.queue.flush()
        self._question = None

    def _interrupt(self) -> None:
        self._queue.cancel(self._ids)
        self._queue.run(self._ids, lambda: False, lambda done, total: None)
        self._ended(self.episode, self._ids)
        raise InterruptedEpisode

    def _waited(self) -> float:
        """Returns what all jobs of the episode together have waited, in seconds."""
        now_s = time.time()
        return sum((now_s if job.start_s is None else job.start_s) - job.submit_s for job in self._seen)

    def _end(self, arrays: StepArrays) -> None:
        waits = [0.0 if job.start_s is None else job.start_s - job.submit_s for job in self._seen]
        self._totals |= {"wait": float(np.mean(waits)), "max_wait_s": max(waits), "measured_jobs": len(waits)}
        self._totals["elapsed_s"] = time.time() - self._seen[0].submit_s
        arrays.totals[0] = [self._totals[name] for name in TOTALS]
        self._ended(self.episode, self._ids)

    def _show(self, observations: NDArray[np.float32], masks: NDArray[np.bool_]) -> None:
        """Writes what is to be seen; behind the end, nothing is."""
        question = self._question
        observations[0] = 0.0 if question is None else question.observation
        masks[0] = True if question is None else question.mask
