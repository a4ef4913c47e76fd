"""What a learned policy decides, collected for inspection, and what classics would decide there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shunter.agents.learned_run import open_windows, play
from shunter.envs.pick_host import PickHostOptions, pick_host_vector
from shunter.envs.rewards import RewardOptions
from shunter.simulation.core_inputs import numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.agents.learned_policy import LearnedPolicy
    from shunter.envs.layout import Layout
    from shunter.envs.vector import NativeVectorEnv
    from shunter.model.log import Log
    from shunter.model.windows import Windows
    from shunter.model.workload import Workload
    from shunter.policies.scheduler import Scheduler
    from shunter.simulation.simulation import Simulation

MOST: Final = 4096
"""About so many decisions are kept, evenly over all."""
WAIT: Final = 0
"""The action that lets time pass."""
MILLISECONDS: Final = 1000.0
LOG_SCALE: Final = 14.0
"""By what the environment divides the logarithm of an estimate."""
LEAST_ESTIMATE_S: Final = 1.0
LEAST_LOG: Final = 1e-15
"""Below this log2(n) does not fall, so that serial jobs come first."""
SMALLEST: Final = 0.1
"""What stands in a logarithm for what is not positive."""


@dataclass(frozen=True)
class Decisions:
    """Choices between two actions or more; the first dimension is theirs."""

    layout: Layout
    observations: NDArray[np.float32]
    masks: NDArray[np.bool_]
    actions: NDArray[np.int32]
    """What the policy did."""
    jobs: NDArray[np.int64]
    """(decisions, rows): the job of each row, by its place in the log; −1 where there is none."""
    now_s: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.actions)

    def thinned(self, most: int) -> Decisions:
        """Returns about so many of them at most, evenly over all."""
        return self._each(lambda values: values[:: max(1, -(-len(self) // most))])

    def where(self, kept: NDArray[np.bool_]) -> Decisions:
        """Returns some of them."""
        return self._each(lambda values: values[kept])

    def _each(self, change: Callable[[Any], Any]) -> Decisions:
        return replace(self, **{name: change(getattr(self, name)) for name in ARRAYS})


ARRAYS: Final = tuple(field.name for field in fields(Decisions) if field.name != "layout")


class Recorder:
    """Keeps every so-maniest step; whenever it has too many, it drops every other one."""

    def __init__(self, vector: NativeVectorEnv) -> None:
        """Listens to `shunter.agents.learned_run.play`, as its `seen`."""
        self._vector = vector
        self._kept: list[Decisions] = []
        self._steps = 0
        self._every = 1

    def __call__(
        self,
        rows: NDArray[np.int64],
        observations: NDArray[np.float32],
        masks: NDArray[np.bool_],
        actions: NDArray[np.int32],
    ) -> None:
        """Looks at a step."""
        # The first is kept in any case: there is always something to put together.
        if self._steps % self._every == 0:
            view = self._vector.view()
            now_s = view.now_ms[rows] / MILLISECONDS
            seen = Decisions(self._vector.layout, observations, masks, actions, view.jobs[rows], now_s)
            self._kept.append(seen.where(masks.sum(axis=1) > 1))
        self._steps += 1
        if sum(map(len, self._kept)) > 2 * MOST:
            self._kept, self._every = self._kept[::2], 2 * self._every

    def decisions(self) -> Decisions:
        """Returns the choices that were seen, `MOST` at most."""
        joined: dict[str, Any] = {name: np.concatenate([getattr(one, name) for one in self._kept]) for name in ARRAYS}
        return replace(self._kept[0], **joined).thinned(MOST)


def job_decisions(policy: LearnedPolicy, log: Log, windows: Windows, scheduler: Scheduler) -> Decisions:
    """Returns what a policy does in windows of a log.

    Args:
        policy: Who decides.
        log: The log and its cluster.
        windows: Windows with jobs that can run.
        scheduler: Its policy is the checkpoint.
    """
    with open_windows(log, windows, scheduler) as vector:
        recorder = Recorder(vector)
        play(policy, vector, finished=_close, seen=recorder)
        return recorder.decisions()


def host_decisions(policy: LearnedPolicy, episodes: int) -> Decisions:
    """Returns what a policy that chooses hosts does in drawn episodes."""
    options = policy.options
    assert isinstance(options, PickHostOptions)
    vector = pick_host_vector(options, RewardOptions(), num_envs=episodes, episodes=episodes, autoreset=False)
    recorder = Recorder(vector)
    play(policy, vector, finished=_close, seen=recorder)
    vector.close()
    return recorder.decisions()


def _close(_: int, simulation: Simulation) -> None:
    simulation.close()


class Queue:
    """The jobs that could be chosen; arrays have the shape (decisions, rows)."""

    def __init__(self, decisions: Decisions, workload: Workload) -> None:
        """Looks jobs up.

        Args:
            decisions: Of a policy that chooses jobs.
            workload: The whole log.
        """
        jobs = workload.whole().jobs
        self.place = np.maximum(decisions.jobs, 0)
        self.allowed = decisions.masks[:, 1:]
        self.submit_s = numbers(jobs["submit_s"])[self.place]
        self.cores = (jobs["tasks"].to_numpy() * numbers(jobs["cores_per_task"]))[self.place]
        self.wait_s = decisions.now_s[:, None] - self.submit_s
        # The environment tells the estimate that the policy saw at this instant; the log does not.
        column = decisions.layout.job_features.index("log_estimate")
        seen = decisions.layout.split(decisions.observations)["jobs"][..., column].astype(np.float64)
        self.estimate_s = np.expm1(LOG_SCALE * seen)

    def first(self, scores: NDArray[np.float64]) -> NDArray[np.int64]:
        """Returns the action that takes the job with the lowest score; of equal ones, the first in the log."""
        lowest = np.where(self.allowed, scores, np.inf).min(axis=1, keepdims=True)
        among = self.allowed & (scores <= lowest)
        places = np.where(among, self.place, np.iinfo(np.int64).max)
        return np.asarray(places.argmin(axis=1) + 1, dtype=np.int64)


Score = Callable[[Queue], "NDArray[np.float64]"]


def _log10(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.log10(np.where(values > 0, values, SMALLEST)))


def _divisor(queue: Queue) -> NDArray[np.float64]:
    return np.asarray(np.maximum(queue.estimate_s, LEAST_ESTIMATE_S))


def _unicef(queue: Queue) -> NDArray[np.float64]:
    size = np.maximum(np.log2(np.maximum(queue.cores, LEAST_LOG)), LEAST_LOG)
    return np.asarray(-queue.wait_s / (size * _divisor(queue)))


CLASSICS: Final[dict[str, Score]] = {
    "fcfs": lambda queue: queue.submit_s,
    "sjf": lambda queue: queue.estimate_s,
    "smallest": lambda queue: queue.cores,
    "saf": lambda queue: queue.estimate_s * queue.cores,
    "f1": lambda queue: _log10(queue.estimate_s) * queue.cores + 870 * _log10(queue.submit_s),
    "f2": lambda queue: np.sqrt(queue.estimate_s) * queue.cores + 25600 * _log10(queue.submit_s),
    "f3": lambda queue: queue.estimate_s * queue.cores + 6860000 * _log10(queue.submit_s),
    "f4": lambda queue: queue.estimate_s * np.sqrt(queue.cores) + 530000 * _log10(queue.submit_s),
    "wfp3": lambda queue: -((queue.wait_s / _divisor(queue)) ** 3) * queue.cores,
    "unicef": _unicef,
}
"""The lowest goes first."""


def agreement(decisions: Decisions, workload: Workload) -> dict[str, float | None]:
    """Returns in which share of the choices between jobs the policy takes the job that a classic would take.

    A classic always takes one of the jobs that may be chosen. None: there was no such choice.
    """
    choice = decisions.masks[:, 1:].sum(axis=1) > 1
    if not choice.any():
        return dict.fromkeys(CLASSICS)
    queue = Queue(decisions, workload)
    return {
        name: float((queue.first(score(queue)) == decisions.actions)[choice].mean()) for name, score in CLASSICS.items()
    }
