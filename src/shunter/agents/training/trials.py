"""Episodes that policies are measured on: always the same ones, so that figures can be compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from shunter.comparison.bench import Bench
from shunter.comparison.log_windows import Measured
from shunter.envs.playing import play
from shunter.envs.rewards import RewardOptions
from shunter.simulation.windows import WindowResults

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from shunter.agents.learned_policy import LearnedPolicy
    from shunter.envs.episodes import EpisodeOptions
    from shunter.envs.sources import EpisodeGroup, EpisodeSource, Use
    from shunter.envs.vector import NativeVectorEnv
    from shunter.policies.scheduler import Scheduler
    from shunter.simulation.simulation import Simulation

MOST_TOGETHER: Final = 256
"""So many episodes are played at once at most."""

Results = tuple[WindowResults, ...]
"""What happened in the windows of each log of a group."""


class Trials:
    """Episodes in groups, on which learned policies and others are measured alike."""

    def __init__(
        self, groups: Sequence[EpisodeGroup], open_vector: Callable[[int], NativeVectorEnv], threads: int = 1
    ) -> None:
        """Opens the environments.

        Args:
            groups: In the order of the environments' episodes.
            open_vector: Returns so many environments, which play every episode once.
            threads: How many threads share the windows of policies that need no environment.
        """
        self.groups = tuple(groups)
        self.benches = [Bench.over(group.parts, threads) for group in groups]
        self._parts = [
            (windows, later_ms)
            for group in groups
            for (_, windows), later_ms in zip(group.parts, group.later_ms, strict=True)
        ]
        self._rows = [(place, row) for place, (windows, _) in enumerate(self._parts) for row in range(len(windows))]
        self._vector = open_vector(min(MOST_TOGETHER, len(self._rows)))

    @classmethod
    def of(cls, source: EpisodeSource, episodes: EpisodeOptions, use: Use, threads: int = 1) -> Trials:
        """Returns some of a source's episodes."""

        def open_vector(num_envs: int) -> NativeVectorEnv:
            # Nobody looks at the reward here.
            reward = RewardOptions()
            return source.vector(episodes, reward, use, num_envs=num_envs, threads=threads, autoreset=False)

        return cls(source.groups(episodes, use), open_vector, threads)

    @property
    def blocks(self) -> list[NDArray[np.int64]]:
        """For each group, (episodes,): in which part of the log each episode lies."""
        return [bench.block for bench in self.benches]

    def of_policy(self, policy: LearnedPolicy, metrics: Sequence[str]) -> list[Measured]:
        """Returns the metrics of a learned policy that always takes its best action, by group."""
        results = self.run_policy(policy)
        return [bench.measure_results(each, metrics) for bench, each in zip(self.benches, results, strict=True)]

    def run_policy(self, policy: LearnedPolicy) -> list[Results]:
        """Returns what a learned policy does that always takes its best action, by group."""
        results = [WindowResults.unfilled(windows) for windows, _ in self._parts]

        def finished(episode: int, simulation: Simulation) -> None:
            place, row = self._rows[episode]
            states, one, later_ms = simulation.job_states(), results[place], self._parts[place][1]
            # Environments may have shifted the episode in time; metrics go by the log.
            one.eligible_ms[row] = simulation.eligible_ms() - later_ms
            one.start_ms[row], one.end_ms[row] = states.start_ms - later_ms, states.end_ms - later_ms
            one.held_ms[row] = states.end_ms - states.start_ms
            one.phase[row], one.basis[row] = states.phase, simulation.estimates().basis
            simulation.close()

        play(policy.evaluator, self._vector, finished=finished)
        each = iter(results)
        return [tuple(next(each) for _ in bench.parts) for bench in self.benches]

    def of_schedulers(self, schedulers: Sequence[Scheduler], metrics: Sequence[str]) -> list[Measured]:
        """Returns the metrics of policies of Shunter's own, one for each group."""
        return [bench.measure(each, metrics) for bench, each in zip(self.benches, schedulers, strict=True)]

    def close(self) -> None:
        """Frees the environments' memory."""
        self._vector.close()
