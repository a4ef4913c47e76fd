"""Learning on executed jobs: REINFORCE plays episodes of real jobs, and leaves an ordinary run behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from shunter.agents.algorithms import ReinforceOptions
from shunter.agents.networks import NetworkOptions, build
from shunter.agents.networks.layers import layers_of
from shunter.agents.reinforce import Reinforce
from shunter.agents.training.checkpoint_files import PolicyRecord, find_checkpoint
from shunter.agents.training.config import TrainingOptions
from shunter.agents.training.provenance import ENGINE
from shunter.agents.training.trainer import Trainer
from shunter.envs.pick_job import PickJobOptions
from shunter.errors import InputError
from shunter.execution.local.episodes import InterruptedEpisode
from shunter.execution.view import USUAL_TIME_S
from shunter.files import locked
from shunter.policies.checkpoint import BEST, LAST

if TYPE_CHECKING:
    from shunter.agents.training.trainer import Progress
    from shunter.execution.local.episodes import ExecutedEpisodes

MOST_STEPS: Final = 10**9
ORDER_TEMPERATURE: Final = 1.0
"""It begins as first come, first served: jobs that run for real are too dear for an order that means nothing."""


@dataclass(frozen=True)
class LearnOptions:
    """How to learn."""

    episodes: int
    window: int = 7
    """How many waiting jobs are seen: those at the front of the queue. It slides along as they start."""
    gamma: float = 0.99
    learning_rate: float = 1e-2
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.episodes <= 1_000_000:
            raise InputError(f"--train is {self.episodes}; expected 1 to 1,000,000 episodes")
        # The other numbers are checked where they are used, under the same names.
        _ = self.environment, self.reinforce

    @property
    def environment(self) -> PickJobOptions:
        """What the policy sees, as it will see it in a queue."""
        # What sizes count in must not depend on the jobs that happen to wait.
        return PickJobOptions(window=self.window, missing_request=str(USUAL_TIME_S), size_by="cores", seed=self.seed)

    @property
    def reinforce(self) -> ReinforceOptions:
        """The options of the algorithm; one queue is one environment."""
        return ReinforceOptions(num_envs=1, gamma=self.gamma, learning_rate=self.learning_rate)


def check_model_folder(folder: Path) -> None:
    """Raises an error if a folder holds something else than a run that can go on here."""
    if (folder / BEST).is_dir():
        raise InputError(f"{folder}: holds a run of 'shunter train'; give another --out")
    if folder.is_dir() and any(folder.iterdir()) and find_checkpoint(folder / LAST) is None:
        raise InputError(f"{folder}: is not empty, and holds no run to go on with; give another --out")


def learn(episodes: ExecutedEpisodes, options: LearnOptions, folder: Path, tell: Callable[[Progress], object]) -> str:
    """Plays episodes and learns from each; goes on with the run in the folder if there is one.

    Args:
        episodes: What is played.
        options: How to learn.
        folder: Of the run; gets ``last/``, ``progress.csv`` and ``tensorboard/``.
        tell: Called after each episode.

    Returns:
        ``steps`` when all episodes were played, or ``interrupted``.

    Raises:
        InputError: The folder cannot be used, or holds a run with other options.
    """
    environment, network_options = options.environment, NetworkOptions(order_temperature=ORDER_TEMPERATURE)
    network = build(network_options, environment.layout, options.seed)
    algorithm = Reinforce(episodes, network, options.reinforce, steps=MOST_STEPS, seed=options.seed)
    facts: dict[str, Any] = {"objective": "wait", "init": None, "seed": options.seed, ENGINE: "torch"}
    record = PolicyRecord(environment.layout, environment, network_options, facts, layers_of(network))
    settings = TrainingOptions(algorithm="reinforce", steps=MOST_STEPS, seed=options.seed, save_every=1)
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        is_begun = find_checkpoint(folder / LAST) is not None
        trainer = Trainer(
            algorithm, record, settings, folder, callbacks=(tell,), resume=is_begun, updates=options.episodes
        )
        try:
            return trainer.run().reason
        except InterruptedEpisode:
            return "interrupted"
