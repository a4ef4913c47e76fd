"""From a training's options to what it needs: logs, windows, environments, a network, a trainer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from shunter.agents.algorithms import ALGORITHMS
from shunter.agents.imitation import check_imitation, imitate
from shunter.agents.learned_policy import load_policy
from shunter.agents.networks import OWN, build, check_network
from shunter.agents.networks.native import fresh_network, native_network
from shunter.agents.networks.weights import give_weights, weights_of
from shunter.agents.training.beginnings import load_beginning
from shunter.agents.training.checkpoint_files import POLICY, Part, PolicyRecord, named_weights, write_checkpoint
from shunter.agents.training.config import MEANS
from shunter.agents.training.provenance import (
    AGREEMENT,
    ENGINE,
    IMITATED,
    ancestor_days,
    facts,
    recorded_days,
    recorded_engine,
    recorded_imitation,
    training_days,
)
from shunter.agents.training.trainer import Trainer
from shunter.agents.training.trials import Trials
from shunter.agents.training.validation import Deciding, Validation, choose_rivals, objective_of
from shunter.comparison.seen_days import DAYS
from shunter.envs.network import NativeNetwork
from shunter.envs.rewards import own_rewards
from shunter.envs.sources import Use
from shunter.errors import InputError
from shunter.extras import LEARN, is_installed, need
from shunter.policies.checkpoint import INITIAL

if TYPE_CHECKING:
    from pathlib import Path

    from shunter.agents.algorithms import Algorithm
    from shunter.agents.networks.base import Network
    from shunter.agents.networks.native import Towers
    from shunter.agents.training.checkpoint_files import Tensors
    from shunter.agents.training.config import TrainConfig, TrainingOptions
    from shunter.agents.training.trainer import Progress as TrainerProgress
    from shunter.comparison.classics import Progress
    from shunter.comparison.combinations import Combination
    from shunter.comparison.objective import Objective
    from shunter.envs.episodes import EpisodeOptions
    from shunter.envs.layout import Layout
    from shunter.envs.sources import EpisodeSource
    from shunter.envs.vector import NativeVectorEnv
    from shunter.model.log import Log

CPU: Final = "cpu"


@dataclass(frozen=True)
class Site:
    """A training's configuration, and where its episodes come from."""

    config: TrainConfig
    source: EpisodeSource
    begun_as: str | None = None
    """What the user named as the beginning; the configuration of a run names its own copy of it."""

    @staticmethod
    def of(config: TrainConfig) -> Site:
        """Reads what is learned from.

        Raises:
            InputError: Logs or clusters are missing, are given where they mean nothing, or cannot be read.
        """
        source = config.environment.open_source(config.data.workload, config.data.cluster)
        return Site(replace(config, environment=source.options), source, config.training.init)

    @property
    def logs(self) -> tuple[Log, ...]:
        """The logs that are learned from; none where jobs are drawn."""
        return self.source.logs

    @cached_property
    def objective(self) -> Objective:
        """By what policies are compared."""
        return objective_of(self.config.reward)

    @cached_property
    def report_episodes(self) -> EpisodeOptions:
        """The episodes that the result is judged on."""
        return self.config.report_episodes(self.logs)

    def check(self) -> None:
        """Raises an error if a name is unknown, the network does not fit, days overlap, or a log is too short."""
        config = self.config
        choose_device(config.training.device)
        own_rewards(config.reward)
        check_network(config.network, config.environment.layout)
        self.check_engine()
        check_imitation(config, self.logs)
        parts = {"--train": config.episodes, "--validation": config.validation, "--report": self.report_episodes}
        self.source.check(parts)

    @cached_property
    def foreign(self) -> str | None:
        """What the core cannot compute of this training; None: nothing."""
        config = self.config
        algorithm, network, device = config.training.algorithm, config.network.kind, config.training.device
        reasons: dict[str, Callable[[], bool]] = {
            f"algorithm {algorithm!r} learns by PyTorch alone": lambda: ALGORITHMS[algorithm].native_home is None,
            "features of your own are worked out in Python": lambda: bool(config.environment.layout.extra_features),
            "rewards of your own are worked out in Python": lambda: bool(own_rewards(config.reward)),
            f"device is {device!r}": lambda: choose_device(device) != CPU,
            # Asked last: to know it, a network of the user's own is built.
            f"network {network!r} is not one of the core's": lambda: network not in OWN and self.layers is None,
        }
        return next((reason for reason, holds in reasons.items() if holds()), None)

    @cached_property
    def layers(self) -> Towers | None:
        """The layers of a network of the user's own; None: the core could not read it, or it is one of Shunter's."""
        if self.config.network.kind in OWN:
            return None
        from shunter.agents.networks.layers import layers_of

        return layers_of(build(self.config.network, self.config.environment.layout))

    @property
    def engine(self) -> str:
        """What computes a new training: ``native`` or ``torch``."""
        wanted = self.config.training.engine
        return wanted if wanted != "auto" else "native" if self.foreign is None else "torch"

    def check_engine(self) -> None:
        """Raises an error if the core is to compute what it cannot, or PyTorch what it is not there for."""
        training, network = self.config.training, self.config.network.kind
        if training.imitate is not None:
            need(LEARN, f"[training] imitate {training.imitate}")
        # Asked first: to know whether the core can read it, the network is built.
        if network not in OWN:
            need(LEARN, f"[network] kind {network}")
        if training.engine == "native" and self.foreign is not None:
            raise InputError(f"[training] engine is 'native', but {self.foreign}; take auto or torch")
        if self.engine == "torch":
            need(LEARN, _torch_word(training, self.foreign))

    def check_beginning(self) -> None:
        """Raises an error if the checkpoint to begin from is of another network, or sees something else."""
        layout = self.config.environment.layout
        load_beginning(self.first_network(layout, self.engine), layout, self.config.training)

    def first_network(self, layout: Layout, engine: str) -> Network | NativeNetwork:
        """Returns the network with fresh weights, which are the same in the core and in PyTorch.

        Args:
            layout: Of the environments.
            engine: What computes it.
        """
        options, seed = self.config.network, self.config.training.seed
        if engine == "native" and self.layers is None:
            return fresh_network(options, layout, seed)
        network = build(options, layout, seed)
        if engine == "torch":
            return network
        native = native_network(options, layout, self.layers)
        give_weights(native, weights_of(network), f"network {options.kind!r}")
        return native

    def choose(self, progress: Progress | None = None) -> list[Combination]:
        """Returns for each group of episodes the classic that one would choose on training days."""
        config = self.config
        return choose_rivals(self.source, config.episodes, self.objective, config.training.threads, progress)

    def trials(self, episodes: EpisodeOptions, use: Use) -> Trials:
        """Returns episodes to measure policies on."""
        return Trials.of(self.source, episodes, use, self.config.training.threads)

    def further_trials(self, number: int) -> Trials | None:
        """Returns more validation episodes, number 1, 2, ...; None: some log has no room for more."""
        source, episodes = self.source.further(number), self.config.validation
        groups = source.groups(episodes, Use.VALIDATION)
        if any(not len(windows) for group in groups for _, windows in group.parts):
            return None
        return Trials.of(source, episodes, Use.VALIDATION, self.config.training.threads)

    def environments(self, chosen: Sequence[Combination]) -> NativeVectorEnv:
        """Returns the environments that are trained in.

        Args:
            chosen: For each group of episodes, the classic that bounds refer to.
        """
        config, episodes = self.config, self.config.episodes
        return self.source.vector(
            episodes,
            config.reward,
            bounding=[one.scheduler for one in chosen],
            num_envs=config.algorithm.num_envs,
            threads=config.training.threads,
            seed=config.training.seed,
            max_steps=episodes.max_steps,
            horizon_factor=episodes.horizon_factor,
        )


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
    engine = recorded_engine(folder) if resume else site.engine
    if engine == "torch":
        need(LEARN, f"{folder}: the run was begun by PyTorch, and" if resume else "this training")
    if engine == "native" and site.foreign is not None:
        raise InputError(f"{folder}: was begun in the core, but now {site.foreign}; go on as it began, or train anew")
    config, environments = site.config, site.environments(chosen)
    layout = environments.layout
    if engine == "torch" or config.training.imitate is not None:
        _use_threads(config.training.threads)
    network = site.first_network(layout, engine)
    beginning: Tensors = {} if resume else load_beginning(network, layout, config.training)
    told = recorded_imitation(folder) if resume else {}
    if config.training.imitate is not None and not resume:
        told = {IMITATED: config.training.imitate, AGREEMENT: _imitate(site, network)}
    algorithm, computed = make_algorithm(site, environments, network, engine)
    told |= facts(site, chosen) | computed | {DAYS: days}
    record = PolicyRecord(layout, config.environment, config.network, told, site.layers)
    if not resume:
        part = Part(named_weights(weights_of(network)), record.to_json())
        write_checkpoint(folder / INITIAL, {POLICY: part}, record.files)
    algorithm.begin_from(beginning)
    validation = _validation(site, chosen, folder)
    return Trainer(
        algorithm,
        record,
        config.training,
        folder,
        evaluate=validation,
        keep=validation.keep,
        callbacks=callbacks,
        resume=resume,
    )


def _validation(site: Site, chosen: Sequence[Combination], folder: Path) -> Validation:
    """Returns what judges the policies of a run on its validation days."""
    options = site.config.training
    deciding = Deciding(
        options.margin_se, options.decide_windows, site.further_trials, by_means=options.judge_by == MEANS
    )
    validation = Validation(site.trials(site.config.validation, Use.VALIDATION), chosen, site.objective, deciding)
    # Gains are counted from where the run began, not from where it goes on.
    validation.begins_as(lambda: load_policy(folder / INITIAL))
    return validation


def make_algorithm(
    site: Site, environments: NativeVectorEnv, network: Network | NativeNetwork, engine: str
) -> tuple[Algorithm, dict[str, str]]:
    """Returns what learns, in the core or by PyTorch, and what is told of that in checkpoints."""
    config = site.config
    shared = {"steps": config.training.steps, "seed": config.training.seed}
    kind = ALGORITHMS[config.training.algorithm]
    if engine == "torch":
        device = choose_device(config.training.device)
        return kind.load()(environments, network, config.algorithm, **shared, device=device), {ENGINE: engine}
    native = kind.load(native=True)(environments, network, config.algorithm, **shared)
    return native, {ENGINE: engine, "instructions": native.instructions}


def _imitate(site: Site, network: Network | NativeNetwork) -> float:
    """Lets a network learn what a teacher does; returns in which part of the last decisions it did the same."""
    config = site.config
    pupil = site.first_network(config.environment.layout, "torch")
    assert not isinstance(pupil, NativeNetwork)
    give_weights(pupil, weights_of(network), "the first weights")
    agreement = imitate(pupil, site.source, config)
    give_weights(network, weights_of(pupil), "what has been imitated")
    return agreement


def _use_threads(threads: int) -> None:
    import torch

    # PyTorch would take all cores, and sums would depend on how many there are.
    torch.set_num_threads(threads)


def _torch_word(training: TrainingOptions, foreign: str | None) -> str:
    """Returns what of a training needs PyTorch, as errors name a key."""
    if training.engine == "torch":
        return "[training] engine torch"
    if ALGORITHMS[training.algorithm].native_home is None:
        return f"[training] algorithm {training.algorithm}"
    return f"this training ({foreign})"


def choose_device(name: str) -> str:
    """Returns the device of a name: ``cpu``, ``cuda``, or ``auto`` for the graphics card if there is one.

    Raises:
        InputError: There is no such device here.
    """
    if name == CPU:
        return CPU
    if name == "cuda":
        need(LEARN, "[training] device cuda")
    if not has_card():
        if name == "cuda":
            raise InputError("[training] device is 'cuda', but PyTorch sees no graphics card; take cpu or auto")
        return CPU
    return "cuda"


def has_card() -> bool:
    """Returns whether PyTorch is there, and sees a graphics card."""
    if not is_installed(LEARN):
        return False
    import torch

    return torch.cuda.is_available()
