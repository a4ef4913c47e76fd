"""Episodes that policies are measured on: always the same ones, so that figures can be compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from shunter.agents.learned_run import play
from shunter.comparison.bench import Bench, Measured
from shunter.envs.options import RewardOptions
from shunter.envs.pick_host import drawn_log, pick_host_vector
from shunter.envs.pick_job import pick_job_vector
from shunter.model.windows import Windows
from shunter.simulation.windows import WindowResults

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.agents.learned_policy import LearnedPolicy
    from shunter.envs.options import PickHostOptions, PickJobOptions
    from shunter.envs.vector import NativeVectorEnv
    from shunter.model.log import Log
    from shunter.policies.scheduler import Scheduler
    from shunter.simulation.simulation import Simulation

MOST_TOGETHER: Final = 256
"""So many episodes are played at once at most."""

MILLI: Final = 1000


@dataclass(frozen=True)
class Group:
    """Episodes that are judged together: the windows of a log, or all drawn episodes."""

    name: str
    bench: Bench
    later_ms: tuple[int, ...]
    """By how much the jobs of each of its logs are submitted later in the environments."""

    @property
    def block(self) -> NDArray[np.int64]:
        """(episodes,): in which part of the log each lies."""
        return self.bench.block


class Trials:
    """Episodes in groups."""

    def __init__(self, groups: Sequence[Group], open_vector: Callable[[int], NativeVectorEnv]) -> None:
        """Opens the environments.

        Args:
            groups: In the order of the environments' episodes.
            open_vector: Returns so many environments.
        """
        self.groups = tuple(groups)
        self._parts = [
            (part.windows, later_ms)
            for group in groups
            for part, later_ms in zip(group.bench.parts, group.later_ms, strict=True)
        ]
        self._rows = [(place, row) for place, (windows, _) in enumerate(self._parts) for row in range(len(windows))]
        self._vector = open_vector(min(MOST_TOGETHER, len(self._rows)))

    def of_policy(self, policy: LearnedPolicy, metrics: Sequence[str]) -> list[Measured]:
        """Returns what a learned policy does that always takes its best action, by group."""
        results = [WindowResults.unfilled(windows) for windows, _ in self._parts]

        def finished(episode: int, simulation: Simulation) -> None:
            place, row = self._rows[episode]
            states, one, later_ms = simulation.job_states(), results[place], self._parts[place][1]
            one.start_ms[row], one.end_ms[row] = states.start_ms - later_ms, states.end_ms - later_ms
            one.held_ms[row] = states.end_ms - states.start_ms
            one.phase[row] = states.phase
            simulation.close()

        play(policy, self._vector, finished=finished)
        each = iter(results)
        return [group.bench.measure_results([next(each) for _ in group.bench.parts], metrics) for group in self.groups]

    def of_schedulers(self, schedulers: Sequence[Scheduler], metrics: Sequence[str]) -> list[Measured]:
        """Returns what policies of Shunter's own do, one for each group."""
        return [group.bench.measure(each, metrics) for group, each in zip(self.groups, schedulers, strict=True)]

    def close(self) -> None:
        """Frees the environments' memory."""
        self._vector.close()


def job_trials(logs: Sequence[Log], windows: Sequence[Windows], options: PickJobOptions, threads: int) -> Trials:
    """Returns windows of logs as episodes; each log is a group."""
    groups = [
        Group(log.workload.name, Bench.on(log, chosen, threads), (0,))
        for log, chosen in zip(logs, windows, strict=True)
    ]

    def open_vector(num_envs: int) -> NativeVectorEnv:
        reward = RewardOptions()
        return pick_job_vector(logs, windows, options, reward, num_envs=num_envs, threads=threads, autoreset=False)

    return Trials(groups, open_vector)


def host_trials(options: PickHostOptions, episodes: int, threads: int) -> Trials:
    """Returns drawn episodes as one group; each is a block of its own, for they have nothing to do with each other."""
    logs = [drawn_log(options, episode) for episode in range(episodes)]
    # The environments have all episodes in one table, one behind the other.
    later_ms = tuple(episode * options.episode_length * MILLI for episode in range(episodes))
    bench = Bench.over([(log, Windows.whole(len(log.workload))) for log in logs], threads)
    group = Group(f"{episodes} drawn episodes", bench, later_ms)

    def open_vector(num_envs: int) -> NativeVectorEnv:
        reward = RewardOptions()
        return pick_host_vector(options, reward, num_envs=num_envs, threads=threads, episodes=episodes, autoreset=False)

    return Trials([group], open_vector)
