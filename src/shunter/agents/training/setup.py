"""From a training's options to what it needs: logs, windows, environments, a network, a trainer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import torch

from shunter.agents.algorithms import ALGORITHMS
from shunter.agents.learned_policy import load_policy
from shunter.agents.networks import build
from shunter.agents.training.beginnings import load_beginning
from shunter.agents.training.checkpoint import POLICY, Part, PolicyRecord, network_tensors, write_checkpoint
from shunter.agents.training.provenance import ancestor_days, facts, recorded_days, training_days
from shunter.agents.training.trainer import Trainer
from shunter.agents.training.trials import host_trials, job_trials
from shunter.agents.training.validation import (
    Validation,
    chosen_classics,
    chosen_placement,
    objective_of,
)
from shunter.comparison.seen_days import DAYS
from shunter.envs.options import PickHostOptions
from shunter.envs.pick_host import pick_host_vector
from shunter.envs.pick_job import episode_windows, pick_job_vector, read_log
from shunter.envs.rewards import own_rewards
from shunter.errors import InputError
from shunter.model.windows import Windows

if TYPE_CHECKING:
    from pathlib import Path

    from shunter.agents.training.checkpoint import Tensors
    from shunter.agents.training.config import TrainConfig
    from shunter.agents.training.trainer import Progress as TrainerProgress
    from shunter.agents.training.trials import Trials
    from shunter.comparison.classics import Progress
    from shunter.comparison.combinations import Combination
    from shunter.comparison.objective import Objective
    from shunter.envs.options import EpisodeOptions
    from shunter.envs.vector import NativeVectorEnv
    from shunter.model.log import Log

INITIAL: Final = "initial"
"""The folder of a run with the policy that it began with."""
HOST_EPISODES: Final = 256
"""So many episodes of pick-host are drawn to train on, unless ``[episodes] windows`` says otherwise."""


VALIDATION, REPORT = 1, 2
"""Added to the seed from which pick-host's episodes are drawn: those of training are others."""


def read_logs(config: TrainConfig) -> tuple[Log, ...]:
    """Returns the logs that are learned from; none for pick-host.

    Raises:
        InputError: There are none where some are needed, clusters are missing, or a log cannot be read.
    """
    workloads, clusters = config.data.workload, config.data.cluster
    if isinstance(config.environment, PickHostOptions):
        if workloads or clusters:
            raise InputError("pick-host draws its own jobs and hosts; leave --workload and --cluster out")
        return ()
    if not workloads:
        raise InputError("no log to learn from; give --workload LOG, or [data] workload in --config")
    if clusters and len(clusters) != len(workloads):
        raise InputError(
            f"--cluster is given {len(clusters)} times for {len(workloads)} logs; give one for each, in the same "
            "order, or none"
        )
    return tuple(
        read_log(workload, cluster)
        for workload, cluster in zip(workloads, clusters or [None] * len(workloads), strict=True)
    )


@dataclass(frozen=True)
class Site:
    """What is learned from, cut into windows; pick-host draws everything from seeds instead."""

    config: TrainConfig
    report: EpisodeOptions
    """The episodes that the result is judged on."""
    logs: tuple[Log, ...]

    @cached_property
    def objective(self) -> Objective:
        """By what policies are compared."""
        return objective_of(self.config.reward)

    def windows(self, episodes: EpisodeOptions) -> list[Windows]:
        """Returns some of the windows of each log."""
        return [episode_windows(log, episodes) for log in self.logs]

    def check(self) -> None:
        """Raises an error if a name is unknown, the network does not fit, days overlap, or a log is too short."""
        choose_device(self.config.training.device)
        own_rewards(self.config.reward)
        build(self.config.network, self.config.environment.layout)
        if isinstance(self.config.environment, PickHostOptions):
            return
        parts = [("--train", self.config.episodes), ("--validation", self.config.validation), ("--report", self.report)]
        for (before, first), (behind, second) in pairwise(parts):
            if second.bounds[0] < first.bounds[1]:
                raise InputError(
                    f"{behind} is {_part(second)}, {before} {_part(first)}; expected parts of the log one behind the "
                    "other, so that nothing is judged on days that were learned from"
                )
        for _, episodes in parts:
            self.windows(episodes)

    def check_beginning(self) -> None:
        """Raises an error if the checkpoint to begin from is of another network, or sees something else."""
        layout = self.config.environment.layout
        load_beginning(build(self.config.network, layout), layout, self.config.training.init)

    def choose(self, progress: Progress | None = None) -> list[Combination]:
        """Returns for each log (for pick-host: once) the classic that one would choose on training days."""
        options, threads = self.config.environment, self.config.training.threads
        if isinstance(options, PickHostOptions):
            return [chosen_placement(options, self._host_episodes(self.config.episodes), self.objective, threads)]
        return chosen_classics(self.logs, options, self.config.episodes, self.objective, threads, progress)

    def trials(self, episodes: EpisodeOptions, seed_step: int) -> Trials:
        """Returns episodes to measure policies on.

        Args:
            episodes: Which windows.
            seed_step: `VALIDATION` or `REPORT`.
        """
        options, threads = self.config.environment, self.config.training.threads
        if isinstance(options, PickHostOptions):
            drawn = replace(options, seed=options.seed + seed_step)
            return host_trials(drawn, self._host_episodes(episodes), threads)
        return job_trials(self.logs, self.windows(episodes), options, threads)

    def environments(self, chosen: Sequence[Combination]) -> NativeVectorEnv:
        """Returns the environments that are trained in.

        Args:
            chosen: For each log, the classic that bounds refer to.
        """
        config, options, episodes = self.config, self.config.environment, self.config.episodes
        shared: dict[str, Any] = {
            "num_envs": config.algorithm.num_envs,
            "threads": config.training.threads,
            "seed": config.training.seed,
            "max_steps": episodes.max_steps,
            "horizon_factor": episodes.horizon_factor,
        }
        bounding = [one.scheduler for one in chosen]
        if isinstance(options, PickHostOptions):
            drawn = self._host_episodes(episodes)
            return pick_host_vector(options, config.reward, episodes=drawn, bounding=bounding[0], **shared)
        return pick_job_vector(self.logs, self.windows(episodes), options, config.reward, bounding=bounding, **shared)

    @staticmethod
    def _host_episodes(episodes: EpisodeOptions) -> int:
        return episodes.windows or HOST_EPISODES


def _part(episodes: EpisodeOptions) -> str:
    return ":".join(f"{bound:g}" for bound in episodes.bounds)


def open_trainer(
    site: Site,
    chosen: Sequence[Combination],
    folder: Path,
    *,
    callbacks: tuple[Callable[[TrainerProgress], object], ...] = (),
    resume: bool = False,
) -> Trainer:
    """Returns a trainer, ready to run; the policy that it begins with is written to the run's folder.

    Args:
        site: What is learned from.
        chosen: For each log, the classic that policies are compared with.
        folder: Of the run.
        callbacks: Called after each update.
        resume: Go on with the run in the folder.

    Raises:
        InputError: The network does not fit, or what is to be resumed is of another training.
    """
    # What a run began from may be gone when it goes on; its checkpoint remembers.
    days = recorded_days(site, folder) if resume else training_days(site.config, site.logs) + ancestor_days(site.config)
    config, environments = site.config, site.environments(chosen)
    layout = environments.layout
    record = PolicyRecord(layout, config.environment, config.network, facts(site, chosen) | {DAYS: days})
    network = build(config.network, layout, config.training.seed)
    device = choose_device(config.training.device)
    beginning: Tensors = {}
    if not resume:
        beginning = load_beginning(network, layout, config.training.init)
        part = Part(network_tensors(network), record.to_json())
        write_checkpoint(folder / INITIAL, {POLICY: part}, record.files)
    algorithm = ALGORITHMS[config.training.algorithm].load()(
        environments,
        network,
        config.algorithm,
        steps=config.training.steps,
        seed=config.training.seed,
        device=device,
    )
    algorithm.begin_from(beginning)
    validation = Validation(site.trials(config.validation, VALIDATION), chosen, site.objective)
    if resume:
        validation.begins_as(load_policy(folder / INITIAL))
    return Trainer(algorithm, record, config.training, folder, evaluate=validation, callbacks=callbacks, resume=resume)


def choose_device(name: str) -> torch.device:
    """Returns the device of a name: ``cpu``, ``cuda``, or ``auto`` for the graphics card if there is one.

    Raises:
        InputError: There is no such device here.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name == "cuda" and not torch.cuda.is_available():
        raise InputError("[training] device is 'cuda', but PyTorch sees no graphics card; take cpu or auto")
    return torch.device(name)
