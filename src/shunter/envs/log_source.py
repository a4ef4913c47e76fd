"""Episodes that are windows of logs, whatever is decided in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from shunter.checks import MOST_SEED
from shunter.envs.build import VectorOptions, build_vector
from shunter.envs.episodes import EpisodeOptions, Episodes, log_episodes, with_fitting_jobs
from shunter.envs.sources import EnvironmentOptions, EpisodeGroup, EpisodeSource, Use
from shunter.envs.world import World
from shunter.errors import InputError
from shunter.workloads.reading import drawn_again, one_cluster_each, read_log

if TYPE_CHECKING:
    from shunter.envs.rewards import RewardOptions
    from shunter.envs.vector import NativeVectorEnv
    from shunter.model.log import Log
    from shunter.model.windows import Windows
    from shunter.policies.scheduler import Scheduler


def read_logs(workloads: Sequence[str], clusters: Sequence[str]) -> tuple[Log, ...]:
    """Returns logs with their clusters, one for each log; none given: those that the logs tell of.

    Raises:
        InputError: Clusters are missing, or a log cannot be read.
    """
    pairs = zip(workloads, one_cluster_each(workloads, clusters), strict=True)
    return tuple(read_log(workload, cluster) for workload, cluster in pairs)


def episode_windows(log: Log, episodes: EpisodeOptions) -> Windows:
    """Returns the windows of a log that are episodes: those in which at least one job can run."""
    return with_fitting_jobs(log, episodes.windows_of(log))


def log_world(
    logs: Sequence[Log],
    windows: Sequence[Windows],
    scheduler: Scheduler,
    reward: RewardOptions,
    stepping: VectorOptions,
    bounding: Sequence[Scheduler | None] | None = None,
) -> World:
    """Returns what environments on windows of logs are made of.

    Args:
        logs: The logs and their clusters.
        windows: For each log, which parts of it are episodes.
        scheduler: How the simulations behind the environments schedule.
        reward: What the reward is.
        stepping: What cuts episodes, and how many threads simulate policies for the reward.
        bounding: For each log, the policy whose values the reward's bounds multiply; None: as the reward says.

    Raises:
        InputError: No job of a window can ever run.
    """
    each = zip(logs, windows, bounding or [None] * len(logs), strict=True)
    episodes = [
        log_episodes(place, log, chosen, scheduler, reward, stepping, one)
        for place, (log, chosen, one) in enumerate(each)
    ]
    # Whole tables: what estimates learn before a window is part of what an episode begins with.
    tables = tuple(log.workload.whole() for log in logs)
    return World(tables, tuple(log.cluster for log in logs), Episodes.joined(episodes), scheduler)


def log_vector(
    logs: Sequence[Log],
    windows: Sequence[Windows],
    options: EnvironmentOptions,
    reward: RewardOptions,
    *,
    bounding: Sequence[Scheduler | None] | None = None,
    **vector: Any,  # noqa: ANN401 - the fields of VectorOptions, checked there
) -> NativeVectorEnv:
    """Returns environments whose episodes are windows of logs, numbered through all logs in their order.

    Args:
        logs: The logs and their clusters.
        windows: For each log, which parts of it are episodes.
        options: What the environments are.
        reward: What the reward is.
        bounding: For each log, the policy whose values the reward's bounds multiply; None: as the reward says.
        vector: The fields of `VectorOptions`: ``num_envs``, ``threads``, ``seed``, ``autoreset`` and so on.

    Raises:
        InputError: A number or a name is wrong, or no job of a window can ever run.
    """
    stepping = VectorOptions(**vector)

    def world() -> World:
        return log_world(logs, windows, options.scheduler, reward, stepping, bounding)

    # A function, so that all that is cheap to check is checked before policies are simulated for the reward.
    return build_vector(world, options, reward, stepping)


class LogSource(EpisodeSource):
    """Windows of logs; what is decided in them, and what one would have without learning, is said by those derived."""

    def __init__(self, options: EnvironmentOptions, logs: Sequence[Log]) -> None:
        """Takes the logs, which `read_logs` reads."""
        self.options = options
        self.logs = tuple(logs)
        self._numbers = (0,) * len(self.logs)
        """For each log, whether its windows are the first ones (0), or which of the further ones."""

    def windows(self, episodes: EpisodeOptions) -> list[Windows]:
        """Returns the windows of each log that are episodes."""
        pairs = zip(self.logs, self._numbers, strict=True)
        return [_further_windows(log, episodes, number) for log, number in pairs]

    def further(self, number: int) -> LogSource:
        """Returns the same generators with other seeds, and other windows of the same parts of logs."""
        other = copy(self)
        drawn = [drawn_again(log.workload, number) for log in self.logs]
        other.logs = tuple(
            log if workload is None else replace(log, workload=workload)
            for log, workload in zip(self.logs, drawn, strict=True)
        )
        other._numbers = tuple(number if workload is None else 0 for workload in drawn)
        return other

    def check(self, parts: Mapping[str, EpisodeOptions]) -> None:
        """Checks the parts of the logs that are trained on, validated on and reported on.

        Raises:
            InputError: Two parts overlap, or one is too short for a window.
        """
        # The parts are given in the order of time, so that neighbors are enough.
        for (before, first), (behind, second) in pairwise(parts.items()):
            if second.bounds[0] < first.bounds[1]:
                raise InputError(
                    f"{behind} is {_fractions(second)}, {before} {_fractions(first)}; expected parts of the log one "
                    "behind the other, so that nothing is judged on days that were learned from"
                )
        for episodes in parts.values():
            self.windows(episodes)

    def groups(self, episodes: EpisodeOptions, use: Use = Use.TRAINING) -> list[EpisodeGroup]:
        """Returns one group for each log: its windows. What they are for is a matter of the part of the log."""
        pairs = zip(self.logs, self.windows(episodes), strict=True)
        return [EpisodeGroup(log.workload.name, ((log, windows),), (0,)) for log, windows in pairs]

    def vector(
        self,
        episodes: EpisodeOptions,
        reward: RewardOptions,
        use: Use = Use.TRAINING,
        *,
        bounding: Sequence[Scheduler] | None = None,
        **vector: Any,  # noqa: ANN401 - the fields of VectorOptions
    ) -> NativeVectorEnv:
        """Returns environments that play the same windows."""
        return log_vector(self.logs, self.windows(episodes), self.options, reward, bounding=bounding, **vector)


def _further_windows(log: Log, episodes: EpisodeOptions, number: int) -> Windows:
    """Returns windows of a log without those of lower numbers; 0: the first ones."""
    *before, own = (
        episode_windows(log, replace(episodes, seed=(episodes.seed + each) % (MOST_SEED + 1)))
        for each in range(number + 1)
    )
    return own.take(~np.isin(own.first, np.concatenate([windows.first for windows in before]))) if before else own


def _fractions(episodes: EpisodeOptions) -> str:
    return ":".join(f"{bound:g}" for bound in episodes.bounds)
