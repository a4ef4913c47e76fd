"""What a learned policy decides, collected for inspection, and what classics would decide there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shunter.envs.learned import open_windows, order_alone
from shunter.envs.pick_host import PickHostOptions, pick_host_vector
from shunter.envs.playing import PlayStep, play
from shunter.envs.rewards import RewardOptions
from shunter.simulation.simulation import Simulation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.agents.learned_policy import LearnedPolicy
    from shunter.envs.layout import Layout
    from shunter.envs.vector import NativeVectorEnv
    from shunter.model.log import Log
    from shunter.model.windows import Windows
    from shunter.policies.scheduler import Scheduler

MOST: Final = 4096
"""About so many decisions are kept, evenly over all."""
WAIT: Final = 0
"""The action that lets time pass."""
CLASSICS: Final = ("fcfs", "sjf", "smallest", "saf", "f1", "f2", "f3", "f4", "wfp3", "unicef")
"""The policies that a learned one is compared with, choice by choice."""
ASKED: Final = 256
"""About so many choices are asked about, evenly over all."""


@dataclass(frozen=True)
class Decisions:
    """ActionDistribution between two actions or more; the first dimension is theirs."""

    layout: Layout
    observations: NDArray[np.float32]
    masks: NDArray[np.bool_]
    actions: NDArray[np.int32]
    """What the policy did."""

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
        """Listens to `shunter.envs.playing.play`, as its `seen`."""
        self._vector = vector
        self._kept: list[Decisions] = []
        self._steps = 0
        self._every = 1

    def __call__(self, step: PlayStep) -> None:
        """Looks at a step."""
        # The first is kept in any case: there is always something to put together.
        if self._steps % self._every == 0:
            seen = Decisions(self._vector.layout, step.observations, step.masks, step.actions)
            # Where only one action is allowed nothing is decided.
            self._kept.append(seen.where(step.masks.sum(axis=1) > 1))
        self._steps += 1
        if sum(map(len, self._kept)) > 2 * MOST:
            # Nobody knows beforehand how many steps there will be; what is kept stays evenly spread.
            self._kept, self._every = self._kept[::2], 2 * self._every

    def decisions(self) -> Decisions:
        """Returns the choices that were seen, `MOST` at most."""
        joined: dict[str, Any] = {name: np.concatenate([getattr(one, name) for one in self._kept]) for name in ARRAYS}
        return replace(self._kept[0], **joined).thinned(MOST)


def job_decisions(
    policy: LearnedPolicy, log: Log, windows: Windows, scheduler: Scheduler
) -> tuple[Decisions, dict[str, float | None]]:
    """Returns what a policy does in windows of a log, and how often each classic would do the same.

    Args:
        policy: Who decides.
        log: The log and its cluster.
        windows: Windows with jobs that can run.
        scheduler: Its policy is the checkpoint.
    """
    with open_windows(log, windows, scheduler) as vector:
        recorder, agreement = Recorder(vector), ClassicAgreement(vector, log, windows, scheduler)

        def seen(step: PlayStep) -> None:
            recorder(step)
            agreement(step)

        play(policy.evaluator, vector, finished=_close, seen=seen)
        return recorder.decisions(), agreement.shares()


def host_decisions(policy: LearnedPolicy, episodes: int) -> Decisions:
    """Returns what a policy that chooses hosts does in drawn episodes."""
    options = policy.options
    assert isinstance(options, PickHostOptions)
    vector = pick_host_vector(options, RewardOptions(), num_envs=episodes, episodes=episodes, autoreset=False)
    recorder = Recorder(vector)
    play(policy.evaluator, vector, finished=_close, seen=recorder)
    vector.close()
    return recorder.decisions()


def _close(_: int, simulation: Simulation) -> None:
    simulation.close()


class ClassicAgreement:
    """How often a policy takes the job that a classic would take, of all that may be chosen.

    The core is asked: the state in which the policy decides is loaded into a simulation under each classic, which says
    how it would order the queue. That takes about a millisecond, so that only some of the choices are asked about.
    """

    def __init__(self, vector: NativeVectorEnv, log: Log, windows: Windows, scheduler: Scheduler) -> None:
        """Listens to `shunter.envs.playing.play`, as its `seen`.

        Args:
            vector: Environments whose episodes are the windows.
            log: The log and its cluster.
            windows: Of the log.
            scheduler: Its policy is the checkpoint.
        """
        self._vector = vector
        self._log = log
        self._windows = windows
        own = order_alone(scheduler)
        self._schedulers = [own.changed(policy=name) for name in CLASSICS]
        self._unbegun: dict[int, list[Simulation]] = {}
        self._agreed: list[list[bool]] = []
        """For each choice that was asked about, whether each classic would make it too."""
        self._choices = 0
        self._every = 1

    def __call__(self, step: PlayStep) -> None:
        """Looks at a step."""
        for row, mask, action in zip(step.rows.tolist(), step.masks, step.actions.tolist(), strict=True):
            if mask[1:].sum() > 1:
                self._choices += 1
                if self._choices % self._every == 0:
                    self._agreed.append(self._compare(row, mask, action))
        # As many choices as there are, however many that will be: whenever there are too many, every other is dropped.
        if len(self._agreed) > 2 * ASKED:
            self._agreed, self._every = self._agreed[::2], 2 * self._every

    def _compare(self, row: int, mask: NDArray[np.bool_], action: int) -> list[bool]:
        view, rows = self._vector.view(), np.flatnonzero(mask[1:])
        episode = int(view.episode[row])
        # Rows name jobs by their places in the table of all jobs, simulations by those in their window.
        first = int(self._vector.world.episodes["first"][episode])
        action_of = {int(view.jobs[row, place]) - first: int(place) + 1 for place in rows}
        now = self._vector.simulation(row)
        snapshot = now.snapshot()
        now.close()
        agreed = []
        for unbegun in self._classics(episode):
            simulation = unbegun.fork()
            simulation.load(snapshot)
            order = simulation.waiting().tolist()
            simulation.close()
            # A classic always takes one of the jobs that may be chosen: the first of them in its order.
            agreed.append(next(action_of[job] for job in order if job in action_of) == action)
        return agreed

    def _classics(self, episode: int) -> list[Simulation]:
        """Returns simulations of a window under each classic that have not begun, made when first asked for."""
        if episode not in self._unbegun:
            first, length = int(self._windows.simulated_first[episode]), self._windows.simulated_length
            workload, cluster = self._log.workload.window(first, length), self._log.cluster
            self._unbegun[episode] = [Simulation(workload, cluster, scheduler) for scheduler in self._schedulers]
        return self._unbegun[episode]

    def shares(self) -> dict[str, float | None]:
        """Returns by classic in which share of the choices it agrees; None: there was no choice between jobs."""
        if not self._agreed:
            return dict.fromkeys(CLASSICS)
        return dict(zip(CLASSICS, np.mean(self._agreed, axis=0).tolist(), strict=True))
