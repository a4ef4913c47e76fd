"""Behavior cloning: before it learns by itself, a network learns to do what a classic does, or what the site did.

What is imitated is a schedule: when each job starts. Whoever has it knows what to choose at any moment: of the jobs
that may be chosen the one that starts first there, if it starts now or should have started already, and otherwise to
wait. So one teacher serves all classics under all dispatch rules, and the starts that a log has recorded.

While the network learns, the teacher plays. With `imitate_mix` the network plays more and more of the decisions itself
(DAgger; Ross et al., 2011), and is told what the teacher would have done: it learns to get out of situations that only
its own mistakes lead to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from shunter.checks import check_name
from shunter.envs.baselines import NEVER_MS, Baselines
from shunter.envs.log_source import LogSource
from shunter.envs.rewards import RewardOptions
from shunter.errors import InputError
from shunter.model.conditions import waits_from_s
from shunter.policies.catalog import DISPATCHES, PICK_JOB, POLICIES
from shunter.policies.native import spec_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shunter.agents.networks.base import Network
    from shunter.agents.training.config import TrainConfig
    from shunter.envs.sources import EpisodeSource
    from shunter.envs.vector import NativeVectorEnv
    from shunter.model.log import Log
    from shunter.model.windows import Windows
    from shunter.policies.scheduler import Scheduler

LOG: Final = "log"
"""What stands for the starts that a log has recorded."""
NUM_ENVS: Final = 64
NEVER: Final = np.iinfo(np.int64).max
"""The start of a job that is not there, or never starts: behind all others."""


@dataclass(frozen=True)
class Teacher:
    """Knows when each job of each episode is to start."""

    start_ms: NDArray[np.int64]
    """Of the jobs of all episodes, one episode after the other; `NEVER` where one does not start."""
    begin: NDArray[np.int64]
    """Where in it each episode begins, less the place of its first job in its table."""

    @staticmethod
    def of(environments: NativeVectorEnv, starts: Sequence[NDArray[np.int64]]) -> Teacher:
        """Takes the starts of each log: (windows, jobs)."""
        episodes = environments.world.episodes
        counts, first = (episodes[name].astype(np.int64) for name in ("count", "first"))
        return Teacher(np.concatenate([one.ravel() for one in starts]), np.cumsum(counts) - counts - first)

    def actions(self, environments: NativeVectorEnv, masks: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Returns what is to be done now in each environment."""
        view = environments.view()
        places = view.jobs + self.begin[view.episode][:, None]
        # Behind the jobs that wait there may be some that run; a schedule says nothing of stopping them.
        known = (view.jobs >= 0) & masks[:, 1 : 1 + view.jobs.shape[1]]
        starts = np.where(known, self.start_ms[np.where(known, places, 0)], NEVER)
        first = starts.argmin(axis=1)
        is_due = starts[np.arange(len(first)), first] <= view.now_ms
        # Where waiting is not allowed something must be chosen: the job that comes first.
        return np.where((is_due | ~masks[:, 0]) & known.any(axis=1), first + 1, 0)


def teacher_of(
    environments: NativeVectorEnv, logs: Sequence[tuple[Log, Windows]], scheduler: Scheduler, name: str, threads: int
) -> Teacher:
    """Returns who knows what a policy does, or what the site did.

    Args:
        environments: That episodes are played in.
        logs: Of which logs, and which windows of them.
        scheduler: Of the environments; a classic differs from it in its order and dispatch rule.
        name: ``saf/easy``, or `LOG`.
        threads: How many simulate.

    Raises:
        InputError: The policy is unknown, or a log tells no starts.
    """
    if name == LOG:
        return Teacher.of(environments, [_recorded(*one) for one in logs])
    starts = []
    for log, windows in logs:
        baselines = Baselines(log, windows, scheduler, balance=False, threads=threads)
        found = baselines.run(baselines.scheduler_of(name)).start_ms
        starts.append(np.where(found == NEVER_MS, NEVER, found))
    return Teacher.of(environments, starts)


def _check_recorded(log: Log) -> None:
    """Raises an error if a log has recorded no start."""
    if log.workload.jobs["logged_wait_s"].null_count() == len(log.workload):
        raise InputError(f"{log.workload.name}: tells no starts to imitate; give a policy, as in --imitate saf/easy")


def _recorded(log: Log, windows: Windows) -> NDArray[np.int64]:
    """Returns (windows, jobs): when jobs started as the log has it."""
    _check_recorded(log)
    jobs = log.workload.jobs
    wait_ms = jobs["logged_wait_s"].fill_null(np.nan).to_numpy() * 1000
    from_ms = (waits_from_s(jobs).to_numpy() * 1000).round()
    start_ms = np.where(np.isnan(wait_ms), NEVER, np.nan_to_num(from_ms + wait_ms).round()).astype(np.int64)
    places = np.asarray(windows.simulated_first, np.int64)[:, None] + np.arange(windows.simulated_length)
    found: NDArray[np.int64] = start_ms[places]
    return found


def check_imitation(config: TrainConfig, logs: Sequence[Log]) -> None:
    """Raises an error if there is nobody to imitate: everything that can be wrong is told before anything is begun."""
    name = config.training.imitate
    if name is None:
        return
    if config.kind != PICK_JOB or not logs:
        raise InputError(f"--imitate is for policies that choose jobs of a log alone; {config.kind} has no teacher")
    if name == LOG:
        for log in logs:
            _check_recorded(log)
        return
    policy, slash, rule = (name, "", "") if spec_file(name) else name.rpartition("/")
    where = f"--imitate {name}: "
    # A number is a rule, too: so many reservations.
    if slash and not rule.isdecimal():
        check_name("dispatch rule", rule, DISPATCHES, where=where)
    named = policy if slash else name
    if spec_file(named) is None:
        check_name("policy", named.partition("?")[0], POLICIES, where=where, also=", a tuned .toml file, or log")


def imitate(network: Network, source: EpisodeSource, config: TrainConfig) -> float:
    """Lets a network learn what a teacher does on the training days.

    Args:
        network: Whose weights change.
        source: Of the training's episodes.
        config: Whom to imitate, for how long.

    Returns:
        In which part of the last decisions it did the same, before it learned from them.

    Raises:
        InputError: There is nobody to imitate.
    """
    from shunter.agents.cloning import Cloning

    training = config.training
    assert training.imitate is not None
    assert isinstance(source, LogSource), "checked before"
    environments = source.vector(
        config.episodes,
        RewardOptions(),
        num_envs=NUM_ENVS,
        threads=training.threads,
        seed=training.seed,
        max_steps=config.episodes.max_steps,
    )
    logs = list(zip(source.logs, source.windows(config.episodes), strict=True))
    teacher = teacher_of(environments, logs, source.options.scheduler, training.imitate, training.threads)
    try:
        return Cloning(network, environments, teacher, training.seed).run(training.imitate_steps, training.imitate_mix)
    finally:
        environments.close()
