"""Episodes that policies are measured on: always the same ones, so that figures can be compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from shunter.agents.learned_run import play
from shunter.comparison.cases import Case
from shunter.envs.options import RewardOptions
from shunter.envs.pick_host import drawn_log, pick_host_vector
from shunter.envs.pick_job import pick_job_vector
from shunter.metrics.window_metrics import WindowColumns
from shunter.model.windows import Windows
from shunter.simulation.windows import WindowResults

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.agents.learned_policy import LearnedPolicy
    from shunter.comparison.cases import Log
    from shunter.envs.options import PickHostOptions, PickJobOptions
    from shunter.envs.vector import NativeVectorEnv
    from shunter.policies.scheduler import Scheduler
    from shunter.simulation.simulation import Simulation

MOST_TOGETHER: Final = 256
"""So many episodes are played at once at most."""

MILLI: Final = 1000

Measured = dict[str, "NDArray[np.float64]"]
"""By metric, one value an episode."""


class Bench:
    """Windows of one log, on which any policy can be measured."""

    def __init__(self, log: Log, windows: Windows, scheduler: Scheduler, threads: int, later_ms: int = 0) -> None:
        """Hands the windows to the core.

        Args:
            log: The log and its cluster.
            windows: Which parts of it.
            scheduler: What the policies share.
            threads: How many threads share the windows.
            later_ms: By how much the same jobs are submitted later in the environments.
        """
        self.later_ms = later_ms
        self.case = Case(log, windows, scheduler, threads)
        self._columns = WindowColumns(log.workload, windows, log.cluster)

    def __len__(self) -> int:
        return len(self.case.windows)

    def metrics(self, results: WindowResults, names: Sequence[str]) -> Measured:
        """Returns the metrics of what happened."""
        return self._columns.metrics(results, names)


@dataclass(frozen=True)
class Group:
    """Episodes that are judged together: the windows of a log, or all drawn episodes."""

    name: str
    benches: tuple[Bench, ...]
    block: NDArray[np.int64]
    """(episodes,): in which part of the log each lies."""

    def of_scheduler(self, scheduler: Scheduler, metrics: Sequence[str]) -> Measured:
        """Returns what a policy of Shunter's own does."""
        return _joined([bench.case.measure(scheduler, metrics) for bench in self.benches])


class Trials:
    """Episodes in groups."""

    def __init__(self, groups: Sequence[Group], open_vector: Callable[[int], NativeVectorEnv]) -> None:
        """Opens the environments.

        Args:
            groups: In the order of the environments' episodes.
            open_vector: Returns so many environments.
        """
        self.groups = tuple(groups)
        self._benches = [bench for group in groups for bench in group.benches]
        self._rows = [(place, row) for place, bench in enumerate(self._benches) for row in range(len(bench))]
        self._vector = open_vector(min(MOST_TOGETHER, len(self._rows)))

    def of_policy(self, policy: LearnedPolicy, metrics: Sequence[str]) -> list[Measured]:
        """Returns what a learned policy does that always takes its best action, by group."""
        results = [WindowResults.unfilled(bench.case.windows) for bench in self._benches]

        def finished(episode: int, simulation: Simulation) -> None:
            place, row = self._rows[episode]
            states, one, later_ms = simulation.job_states(), results[place], self._benches[place].later_ms
            one.start_ms[row], one.end_ms[row] = states.start_ms - later_ms, states.end_ms - later_ms
            one.held_ms[row] = states.end_ms - states.start_ms
            one.phase[row] = states.phase
            simulation.close()

        play(policy, self._vector, finished=finished)
        measured = iter([bench.metrics(one, metrics) for bench, one in zip(self._benches, results, strict=True)])
        return [_joined([next(measured) for _ in group.benches]) for group in self.groups]

    def of_schedulers(self, schedulers: Sequence[Scheduler], metrics: Sequence[str]) -> list[Measured]:
        """Returns what policies of Shunter's own do, one for each group."""
        return [group.of_scheduler(each, metrics) for group, each in zip(self.groups, schedulers, strict=True)]

    def close(self) -> None:
        """Frees the environments' memory."""
        self._vector.close()


def job_trials(logs: Sequence[Log], windows: Sequence[Windows], options: PickJobOptions, threads: int) -> Trials:
    """Returns windows of logs as episodes; each log is a group."""
    scheduler = options.scheduler
    groups = [
        Group(log.workload.name, (Bench(log, chosen, scheduler, threads),), chosen.block)
        for log, chosen in zip(logs, windows, strict=True)
    ]

    def open_vector(num_envs: int) -> NativeVectorEnv:
        reward = RewardOptions()
        return pick_job_vector(logs, windows, options, reward, num_envs=num_envs, threads=threads, autoreset=False)

    return Trials(groups, open_vector)


def host_trials(options: PickHostOptions, scheduler: Scheduler, episodes: int, threads: int) -> Trials:
    """Returns drawn episodes as one group; each is a block of its own, for they have nothing to do with each other."""
    logs = [drawn_log(options, episode) for episode in range(episodes)]
    # The environments have all episodes in one table, one behind the other.
    later_ms = (episode * options.episode_length * MILLI for episode in range(episodes))
    benches = tuple(
        Bench(log, Windows.whole(len(log.workload)), scheduler, threads, later)
        for log, later in zip(logs, later_ms, strict=True)
    )
    group = Group(f"{episodes} drawn episodes", benches, np.arange(episodes))

    def open_vector(num_envs: int) -> NativeVectorEnv:
        reward = RewardOptions()
        return pick_host_vector(options, reward, num_envs=num_envs, threads=threads, episodes=episodes, autoreset=False)

    return Trials([group], open_vector)


def _joined(parts: Sequence[Measured]) -> Measured:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
