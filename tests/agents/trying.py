"""Trials on windows or drawn episodes that a test names itself."""

from __future__ import annotations

from collections.abc import Sequence

from shunter.agents.training.trials import Trials
from shunter.comparison.combinations import Combination
from shunter.envs.episodes import EpisodeOptions
from shunter.envs.pick_host import PickHostOptions, host_scheduler
from shunter.envs.pick_job import PickJobOptions, pick_job_vector
from shunter.envs.rewards import RewardOptions
from shunter.envs.sources import EnvironmentOptions, EpisodeGroup, Use
from shunter.envs.vector import NativeVectorEnv
from shunter.model.log import Log
from shunter.model.windows import Windows


def job_trials(logs: Sequence[Log], windows: Sequence[Windows], options: EnvironmentOptions) -> Trials:
    """Returns windows of logs as episodes; each log is a group."""
    assert isinstance(options, PickJobOptions)
    pairs = zip(logs, windows, strict=True)
    groups = [EpisodeGroup(log.workload.name, ((log, chosen),), (0,)) for log, chosen in pairs]

    def open_vector(num_envs: int) -> NativeVectorEnv:
        return pick_job_vector(logs, windows, options, RewardOptions(), num_envs=num_envs, autoreset=False)

    return Trials(groups, open_vector)


def host_trials(options: EnvironmentOptions, episodes: int) -> Trials:
    """Returns the first drawn episodes, as in training."""
    assert isinstance(options, PickHostOptions)
    return Trials.of(options.open_source(), EpisodeOptions(windows=episodes), Use.TRAINING)


def placement_combination(placement: str) -> Combination:
    """Returns a placement as a way to schedule the drawn jobs."""
    return Combination(placement, host_scheduler(placement))
