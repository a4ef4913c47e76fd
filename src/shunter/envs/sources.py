"""What every kind of decision says of itself: its options, and where its episodes come from.

A kind of decision is one file (`pick_job.py`, `pick_job_and_type.py`, `pick_host.py`) and one line of `kinds.py`.
Trainings ask these classes and never which kind it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from shunter.checks import TIME, declared, timed
from shunter.model.settings import PROGRESS

if TYPE_CHECKING:
    from typing_extensions import Self

    from shunter.comparison.combinations import Combination
    from shunter.envs.episodes import EpisodeOptions
    from shunter.envs.layout import Layout
    from shunter.envs.rewards import RewardOptions
    from shunter.envs.vector import NativeVectorEnv
    from shunter.envs.world import CoreMode
    from shunter.model.cluster import Cluster
    from shunter.model.log import Log
    from shunter.model.windows import Windows
    from shunter.policies.scheduler import Scheduler


class Use(IntEnum):
    """What episodes are for. Where episodes are drawn, each use adds its number to the seed, so that none is shared."""

    TRAINING = 0
    VALIDATION = 1
    REPORT = 2


def mean_time_field(name: str, help: str) -> Any:  # noqa: ANN401 - as `dataclasses.field` is typed
    """Returns the field of a mean time of drawn failures, with an option of the same name."""
    return declared(None, help, option=name, metavar=TIME, shown_default="no failures are drawn")


def mtbf_field() -> Any:  # noqa: ANN401 - as above
    """Returns the field that every kind of decision has for how often nodes fail."""
    return mean_time_field("mtbf", "Draw failures: the mean time until a node fails, as in --mtbf 30d --mttr 2h.")


def mttr_field() -> Any:  # noqa: ANN401 - as above
    """Returns the field for how long they are down."""
    return mean_time_field("mttr", "The mean time until a failed node is up again. Goes with --mtbf.")


def failed_progress_field() -> Any:  # noqa: ANN401 - as above
    """Returns the field for what becomes of the jobs that ran on them."""
    help = "Whether a job whose node fails keeps or loses its work since its latest start."
    return declared("lost", help, choices=PROGRESS, option="failed-progress", metavar="kept|lost")


@dataclass(frozen=True)
class EnvironmentOptions(ABC):
    """What a policy must remember to decide in the same way again; each kind of decision adds its fields."""

    def take_times(self, *names: str) -> None:
        """Turns times that are given as text, such as ``36h``, into seconds."""
        for name in names:
            object.__setattr__(self, name, timed(name, getattr(self, name)))

    @classmethod
    def drawn(cls) -> tuple[str, ...]:
        """Returns the fields that say what is drawn where there is no log: with one, they have no meaning."""
        return ()

    @property
    @abstractmethod
    def layout(self) -> Layout:
        """The layout of the observations."""

    @property
    @abstractmethod
    def core_mode(self) -> CoreMode:
        """The core's numbers for what is decided."""

    @property
    @abstractmethod
    def scheduler(self) -> Scheduler:
        """How the simulations behind the environments schedule."""

    def on_clusters(self, clusters: Sequence[Cluster]) -> Self:
        """Returns the same with what only the clusters can tell.

        Raises:
            InputError: Nothing of this kind can be decided on one of them.
        """
        return self

    @property
    def chooses_jobs(self) -> bool:
        """Whether it is decided which job starts, in the place of the scheduler's own policy."""
        return True

    def notes(self, logs: Sequence[Log]) -> list[str]:
        """Returns what a user must know of these logs before a training; of none where jobs are drawn."""
        return []

    @abstractmethod
    def open_source(self, workloads: Sequence[str] = (), clusters: Sequence[str] = ()) -> EpisodeSource:
        """Returns where episodes come from.

        Args:
            workloads: The logs to learn from, as `shunter.read_workload` takes them.
            clusters: One for each log, as `shunter.read_cluster` takes them; none: those that the logs tell of.

        Raises:
            InputError: Logs are missing where they are needed, given where jobs are drawn, or cannot be read.
        """


@dataclass(frozen=True)
class EpisodeGroup:
    """Episodes that are judged together: the windows of a log, or all drawn episodes."""

    name: str
    parts: tuple[tuple[Log, Windows], ...]
    """The logs, and which windows of each are episodes; environments number the episodes in this order."""
    later_ms: tuple[int, ...]
    """For each log, by how much its jobs are submitted later in the environments."""


class EpisodeSource(ABC):
    """Where the episodes of one kind of decision come from, and what one would have there without learning."""

    options: EnvironmentOptions
    """What is decided, with what only the logs could tell."""
    logs: tuple[Log, ...] = ()
    """The logs that are learned from; none where jobs are drawn."""

    @abstractmethod
    def check(self, parts: Mapping[str, EpisodeOptions]) -> None:
        """Checks the parts of the logs that are trained on, validated on and reported on.

        Args:
            parts: By the option that gives each, in the order of time.

        Raises:
            InputError: Two parts overlap, or one is too short for a window.
        """

    @abstractmethod
    def groups(self, episodes: EpisodeOptions, use: Use = Use.TRAINING) -> list[EpisodeGroup]:
        """Returns the episodes as windows of logs, for policies that are simulated without an environment."""

    @abstractmethod
    def vector(
        self,
        episodes: EpisodeOptions,
        reward: RewardOptions,
        use: Use = Use.TRAINING,
        *,
        bounding: Sequence[Scheduler] | None = None,
        **vector: Any,  # noqa: ANN401 - the fields of VectorOptions
    ) -> NativeVectorEnv:
        """Returns environments that play the same episodes, in the order of `groups`.

        Args:
            episodes: Which episodes.
            reward: What the reward is.
            use: What the episodes are for.
            bounding: For each group, the policy whose values the reward's bounds multiply; None: as the reward says.
            vector: The fields of `VectorOptions`.
        """

    @abstractmethod
    def rivals(self, *, same_estimate: bool = False) -> Sequence[Combination]:
        """Returns what one can have without learning, under the same conditions.

        Args:
            same_estimate: Whether they see the run times that the learned policy sees, and not the requested ones; none
                where that is the same.
        """

    @abstractmethod
    def usual(self) -> Combination:
        """Returns what sites have that have never thought about it, under the same conditions."""

    def tuned(self) -> Combination | None:
        """Returns the tuned policy that training begins as; None: there is none."""
        return None

    @abstractmethod
    def further(self, number: int) -> EpisodeSource:
        """Returns a source of further episodes like these, none of which this one or an earlier `number` has.

        Work that is drawn is drawn with another seed. Of a log there are other windows of the same part, and none where
        it has no room for more.

        Args:
            number: From 1 on.
        """
