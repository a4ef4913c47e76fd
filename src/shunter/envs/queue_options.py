"""What all environments have in common that show the queue: how it is sorted, how much of it is seen, and how."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from shunter.checks import TIME, check_fields, deal_out, declared, distinct_names
from shunter.envs.build import VectorOptions, build_vector
from shunter.envs.episodes import EpisodeOptions
from shunter.envs.forking import prepared
from shunter.envs.layout import Layout
from shunter.envs.log_source import LogSource, episode_windows, log_world, read_logs
from shunter.envs.rewards import RewardOptions, check_only_starts
from shunter.envs.sources import EnvironmentOptions, failed_progress_field, mtbf_field, mttr_field
from shunter.envs.world import World
from shunter.errors import InputError
from shunter.model.settings import AUTO, CORES_ALONE, LONGEST_S, SIZE_BY
from shunter.policies.native import resolve_native
from shunter.policies.scheduler import Scheduler, names_native, resolve_scheduler
from shunter.simulation.core_inputs import common_size_by
from shunter.workloads.reading import read_log

if TYPE_CHECKING:
    from typing_extensions import Self

    from shunter.envs.vector import NativeVectorEnv
    from shunter.model.cluster import Cluster
    from shunter.model.settings import Settings
    from shunter.model.workload import Workload

LOOKAHEADS: Final = ("off", "per_gpu", "sorted", "cdf")

LARGEST: Final = 2**16
"""More rows or numbers are a slip of the finger."""


@dataclass(frozen=True)
class QueueOptions(EnvironmentOptions):
    """What a policy sees of the queue; each kind of decision adds what it decides."""

    order: str = declared(
        "fcfs", "The policy that sorts the jobs that can be chosen.", option="order", metavar="NAME|FILE"
    )
    window: int = declared(
        128, "How many waiting jobs the policy sees.", low=1, high=LARGEST, option="window", metavar="N"
    )
    lookahead: str = declared(
        "cdf", "How the policy sees future capacity.", choices=LOOKAHEADS, option="lookahead", metavar="NAME"
    )
    lookahead_size: int = declared(16, "How many numbers describe future capacity.", low=1, high=LARGEST)
    features: tuple[str, ...] = declared((), "Features of your own, by the names they were registered by.")
    placement: str | None = declared(None, "Which nodes a job gets.")
    estimate: str = declared(
        "requested",
        "The run time that the policy sees: requested, posterior, or another estimate.",
        option="estimate",
        metavar="NAME",
    )
    missing_request: str | float = declared("run-time", "What stands in for a requested time that the log lacks.")
    reserve_by: str = declared("requested", "The run time that reservations count with.")
    kill_at_request: bool = declared(False, "Whether a job ends when its requested time is over.")
    max_wait_s: float | None = declared(
        None,
        "A job that has waited so long must be chosen before all others, as in 36h. none: no such rule.",
        option="max-wait",
        metavar=TIME,
    )
    size_by: str = declared(
        AUTO, "What jobs' sizes are counted in: cores or GPUs, whichever binds on the log.", choices=SIZE_BY
    )
    scan_depth: int = declared(1000, "How many waiting jobs are looked at in each pass.")
    seed: int = declared(0, "The seed of everything random in the simulation.")
    mtbf_s: float | None = mtbf_field()
    mttr_s: float | None = mttr_field()
    failed_progress: str = failed_progress_field()
    history: int = declared(
        0,
        "How many intervals of the recent past the policy sees: arrivals, ends, use and waits.",
        low=0,
        high=LARGEST,
        option="history",
        metavar="N",
    )
    history_interval_s: float = declared(
        3600.0,
        "How long each of these intervals is, as in 10m.",
        low=0.001,
        high=LONGEST_S,
        option="history-interval",
        metavar=TIME,
    )

    def __post_init__(self) -> None:
        self.take_times("max_wait_s", "mtbf_s", "mttr_s", "history_interval_s", *self.own_times())
        check_fields(self)
        self.check_own()
        # TOML and JSON give lists; a tuple can be compared and hashed.
        object.__setattr__(self, "features", distinct_names("features", self.features))
        _ = self.scheduler  # what is wrong in the settings is told now

    @classmethod
    def own_times(cls) -> tuple[str, ...]:
        """Returns the fields that this kind of decision adds and that are times."""
        return ()

    def check_own(self) -> None:
        """Raises an error if the fields that this kind of decision adds contradict each other."""
        return

    def own_settings(self) -> Mapping[str, Any]:
        """Returns the settings of simulations that this kind of decision adds."""
        return {}

    def under(self, settings: Settings) -> Self:
        """Returns the same environment where simulations go by other settings than those of a training."""
        return replace(self, **self.settings_told(settings))

    def settings_told(self, settings: Settings) -> dict[str, Any]:
        """Returns the fields that settings of a simulation stand for."""
        return {
            # It may be another than the one that it was trained with, if that is learned too.
            "placement": settings.placement,
            "max_wait_s": settings.max_wait_s,
            "kill_at_request": settings.kill_at_request,
            "seed": settings.seed,
            # Nodes fail as is asked for, not as they did where the policy was trained.
            "mtbf_s": settings.mtbf_s,
            "mttr_s": settings.mttr_s,
            "failed_progress": settings.failed_progress,
        }

    @property
    @abstractmethod
    def kind(self) -> str:
        """The kind of decision."""

    @property
    @abstractmethod
    def dispatch(self) -> str:
        """The dispatch rule that one follows by always choosing the first job that may be chosen."""

    @property
    @abstractmethod
    def source(self) -> type[LogSource]:
        """Where episodes come from."""

    @cached_property
    def scheduler(self) -> Scheduler:
        """How the simulation schedules; the dispatch rule is the one that the decisions are like."""
        # A policy in Python would have to be asked in the middle of a step that runs on several threads.
        if not names_native(self.order):
            raise InputError(f"order is {self.order!r}; expected a policy of Shunter's own, or a TOML file")
        order = resolve_native(self.order)
        check_only_starts(f"order is {self.order!r}", order)
        return resolve_scheduler(
            policy=order,
            dispatch=self.dispatch,
            placement=self.placement,
            estimate=self.estimate,
            missing_request=str(self.missing_request),
            reserve_by=self.reserve_by,
            size_by=self.size_by,
            kill_at_request=self.kill_at_request,
            max_wait_s=self.max_wait_s,
            scan_depth=self.scan_depth,
            seed=self.seed,
            mtbf_s=self.mtbf_s,
            mttr_s=self.mttr_s,
            failed_progress=self.failed_progress,
            **self.own_settings(),
        )

    @property
    def layout(self) -> Layout:
        """The layout of the observations."""
        counts = "cores" if self.scheduler.size_by == CORES_ALONE else "size"
        return Layout(self.kind, self.window, self.lookahead_size, self.features, counts=counts, history=self.history)

    def open_source(self, workloads: Sequence[str] = (), clusters: Sequence[str] = ()) -> LogSource:
        """Returns the logs that episodes are windows of.

        Raises:
            InputError: There is none, clusters are missing, or a log cannot be read.
        """
        if not workloads:
            raise InputError("no log to learn from; give --workload LOG, or [data] workload in --config")
        logs = read_logs(workloads, clusters)
        # Written down with the policy: where it decides later, nobody may know the whole log.
        pinned = replace(self, size_by=common_size_by(self.scheduler, logs))
        return self.source(pinned.on_clusters([log.cluster for log in logs]), logs)


def queue_vector(
    options_class: type[QueueOptions],
    example: str,
    num_envs: int,
    workload: str | Workload | None,
    cluster: str | Cluster | None,
    keywords: Mapping[str, Any],
) -> NativeVectorEnv:
    """Returns environments on windows of one log.

    Args:
        options_class: The options of this kind of decision.
        example: How such an environment is made, for whoever gives no log.
        num_envs: How many environments.
        workload: A log, or what `shunter.read_workload` reads; an error says so where there is none.
        cluster: A cluster, or what `shunter.read_cluster` takes; None: the one that the log tells of.
        keywords: The fields of the options, `RewardOptions`, `EpisodeOptions` and `VectorOptions`.

    Raises:
        InputError: There is no workload, a keyword is unknown, or a value is wrong.
    """
    kinds = (options_class, RewardOptions, EpisodeOptions, VectorOptions)
    # First the keywords: a workload may be missing because its name is mistyped.
    given = {**keywords, "num_envs": num_envs}
    options, reward, episodes, vector = deal_out(given, *kinds, also=("workload", "cluster"))
    if workload is None:
        name = options_class.__name__.removesuffix("Options")
        raise InputError(f"{name} needs a log to schedule: pass workload=, a file or a generator, as in {example}")

    def world() -> World:
        log = read_log(workload, cluster)
        return log_world([log], [episode_windows(log, episodes)], options.scheduler, reward, vector)

    made_from = {"workload": workload, "cluster": cluster, **keywords}
    return build_vector(lambda: prepared(options.kind, made_from, world), options, reward, vector)
