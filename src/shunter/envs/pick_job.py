"""``shunter/PickJob-v0``: which waiting job next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from shunter.checks import TIME, check_fields, deal_out, declared, distinct_names
from shunter.comparison.classics import classics, learns
from shunter.comparison.combinations import combine_like
from shunter.comparison.origins import with_own_estimate
from shunter.envs.build import VectorOptions, build_vector
from shunter.envs.episodes import EpisodeOptions
from shunter.envs.forking import prepared
from shunter.envs.layout import Layout
from shunter.envs.log_source import LogSource, episode_windows, log_vector, log_world, read_logs
from shunter.envs.rewards import RewardOptions, check_only_starts
from shunter.envs.single import SingleEnv, check_render_mode
from shunter.envs.sources import EnvironmentOptions, failed_progress_field, mtbf_field, mttr_field
from shunter.envs.world import CoreMode, World
from shunter.errors import InputError
from shunter.model.settings import AUTO, CORES_ALONE, LONGEST_S, PROGRESS, SIZE_BY
from shunter.policies.catalog import PICK_JOB, PICK_JOB_MODES
from shunter.policies.native import REQUESTED, of_before, resolve_native, spec_file
from shunter.policies.scheduler import Scheduler, names_native, resolve_scheduler
from shunter.simulation.core_inputs import common_size_by
from shunter.workloads.reading import read_log

if TYPE_CHECKING:
    from shunter.comparison.combinations import Combination
    from shunter.envs.vector import NativeVectorEnv
    from shunter.model.cluster import Cluster
    from shunter.model.log import Log
    from shunter.model.windows import Windows
    from shunter.model.workload import Workload

LOOKAHEADS: Final = ("off", "per_gpu", "sorted", "cdf")
USUAL: Final = "fcfs/easy"
"""What sites have that have never thought about it."""

EXAMPLE: Final = "generate:lublin?seed=1&jobs=5000&cores=256"
"""A workload for whoever has none at hand."""

STOPPING_MODES: Final = ("reserve", "feasible")
"""The modes in which running jobs may be stopped."""

_LARGEST: Final = 2**16
"""More rows or numbers are a slip of the finger."""


@dataclass(frozen=True)
class PickJobOptions(EnvironmentOptions):
    """What a policy that chooses jobs sees, and what choosing a job does: the section ``[environment]``."""

    mode: str = declared(
        "reserve",
        "What choosing a job does: reserve leaves the freedom that EASY backfilling has.",
        choices=PICK_JOB_MODES,
        option="mode",
        metavar="NAME",
    )
    order: str = declared(
        "fcfs", "The policy that sorts the jobs that can be chosen.", option="order", metavar="NAME|FILE"
    )
    window: int = declared(
        128, "How many waiting jobs the policy sees.", low=1, high=_LARGEST, option="window", metavar="N"
    )
    lookahead: str = declared(
        "cdf", "How the policy sees future capacity.", choices=LOOKAHEADS, option="lookahead", metavar="NAME"
    )
    lookahead_size: int = declared(16, "How many numbers describe future capacity.", low=1, high=_LARGEST)
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
        high=_LARGEST,
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
    stops: int = declared(
        0,
        "How many running jobs the policy sees, and may stop.",
        low=0,
        high=_LARGEST,
        option="stops",
        metavar="N",
    )
    preemption_overhead_s: float = declared(
        0.0,
        "What each restart of a stopped job costs before it makes progress, as in 30s.",
        option="preemption-overhead",
        metavar=TIME,
    )
    preemption_overhead_per_gb_s: float = declared(
        0.0,
        "What it costs on top for each GB of the job's memory, as in 2s.",
        option="preemption-overhead-per-gb",
        metavar=TIME,
    )
    preempted_progress: str = declared(
        "kept",
        "Whether a job that the policy stops keeps or loses its work since its latest start.",
        choices=PROGRESS,
        option="preempted-progress",
        metavar="kept|lost",
    )
    min_run_s: float = declared(
        0.0, "How long a job runs at least before the policy may stop it, as in 5m.", option="min-run", metavar=TIME
    )

    def __post_init__(self) -> None:
        self.take_times("max_wait_s", "mtbf_s", "mttr_s", "history_interval_s", "min_run_s")
        self.take_times("preemption_overhead_s", "preemption_overhead_per_gb_s")
        check_fields(self)
        if self.stops and self.mode not in STOPPING_MODES:
            what = f"stops is {self.stops}, but mode is {self.mode!r}, in which no running job can be stopped"
            raise InputError(f"{what}; leave stops out, or choose the mode {' or '.join(STOPPING_MODES)}")
        # TOML and JSON give lists; a tuple can be compared and hashed.
        object.__setattr__(self, "features", distinct_names("features", self.features))
        _ = self.scheduler  # what is wrong in the settings is told now

    @cached_property
    def scheduler(self) -> Scheduler:
        """How the simulation schedules; the dispatch rule is the one that the mode is like."""
        # A policy in Python would have to be asked in the middle of a step that runs on several threads.
        if not names_native(self.order):
            raise InputError(f"order is {self.order!r}; expected a policy of Shunter's own, or a TOML file")
        order = resolve_native(self.order)
        check_only_starts(f"order is {self.order!r}", order)
        return resolve_scheduler(
            policy=order,
            dispatch=PICK_JOB_MODES[self.mode],
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
            preemption_overhead_s=self.preemption_overhead_s,
            preemption_overhead_per_gb_s=self.preemption_overhead_per_gb_s,
            preempted_progress=self.preempted_progress,
            min_run_s=self.min_run_s,
        )

    @property
    def layout(self) -> Layout:
        """The layout of the observations."""
        counts = "cores" if self.scheduler.size_by == CORES_ALONE else "size"
        shown = {"history": self.history, "stops": self.stops}
        return Layout(PICK_JOB, self.window, self.lookahead_size, self.features, counts=counts, **shown)

    @property
    def core_mode(self) -> CoreMode:
        """The core's numbers for what is decided."""
        return CoreMode.of(self.mode, self.lookahead, self.history_interval_s)

    def open_source(self, workloads: Sequence[str] = (), clusters: Sequence[str] = ()) -> PickJobSource:
        """Returns the logs that episodes are windows of.

        Raises:
            InputError: There is none, clusters are missing, or a log cannot be read.
        """
        if not workloads:
            raise InputError("no log to learn from; give --workload LOG, or [data] workload in --config")
        logs = read_logs(workloads, clusters)
        # Written down with the policy: where it decides later, nobody may know the whole log.
        pinned = replace(self, size_by=common_size_by(self.scheduler, logs))
        return PickJobSource(pinned, logs)


def pick_job_vector(
    logs: Sequence[Log],
    windows: Sequence[Windows],
    options: PickJobOptions,
    reward: RewardOptions,
    **keywords: Any,  # noqa: ANN401 - those of `log_vector`
) -> NativeVectorEnv:
    """Returns environments that choose jobs in windows of logs; the arguments are those of `log_vector`."""
    return log_vector(logs, windows, options, reward, **keywords)


def make_vector(
    num_envs: int,
    *,
    workload: str | Workload | None = None,
    cluster: str | Cluster | None = None,
    **keywords: Any,  # noqa: ANN401 - the fields of four classes, checked there
) -> NativeVectorEnv:
    """Returns environments on windows of one log.

    Args:
        num_envs: How many environments.
        workload: A log, or what `shunter.read_workload` reads; an error says so where there is none.
        cluster: A cluster, or what `shunter.read_cluster` takes; None: the one that the log tells of.
        keywords: The fields of `PickJobOptions`, `RewardOptions`, `EpisodeOptions` and `VectorOptions`.

    Raises:
        InputError: There is no workload, a keyword is unknown, or a value is wrong.
    """
    kinds = (PickJobOptions, RewardOptions, EpisodeOptions, VectorOptions)
    # First the keywords: a workload may be missing because its name is mistyped.
    given = {**keywords, "num_envs": num_envs}
    options, reward, episodes, vector = deal_out(given, *kinds, also=("workload", "cluster"))
    if workload is None:
        raise InputError(
            "PickJob needs a log to schedule: pass workload=, a file or a generator, as in "
            f'gymnasium.make("shunter/PickJob-v0", workload="{EXAMPLE}")'
        )

    def world() -> World:
        log = read_log(workload, cluster)
        return log_world([log], [episode_windows(log, episodes)], options.scheduler, reward, vector)

    made_from = {"workload": workload, "cluster": cluster, **keywords}
    return build_vector(lambda: prepared(PICK_JOB, made_from, world), options, reward, vector)


class PickJobSource(LogSource):
    """Windows of logs, on which a policy that chooses jobs is trained and judged."""

    options: PickJobOptions

    def rivals(self, *, same_estimate: bool = False) -> Sequence[Combination]:
        """Returns the classics, with requested times: what a site can have by changing its settings."""
        scheduler = self.options.scheduler
        if same_estimate and not learns(scheduler):
            return ()
        found = classics(scheduler, [scheduler.settings.estimate if same_estimate else REQUESTED])
        if self.options.size_by != CORES_ALONE:
            return found
        # A run that an earlier version began goes on against what it was held against.
        before = (one.scheduler.changed(policy=of_before(one.scheduler.settings.policy)) for one in found)
        return [replace(one, scheduler=scheduler) for one, scheduler in zip(found, before, strict=True)]

    def usual(self) -> Combination:
        """Returns `USUAL` with the placement, the starvation guard and so on of the environment."""
        return combine_like(USUAL, self.options.scheduler)[0]

    def tuned(self) -> Combination | None:
        """Returns the file that the window is sorted by, under its own dispatch rule; None: a name sorts it."""
        order = self.options.order
        return None if spec_file(order) is None else with_own_estimate(order, self.options.scheduler)


class PickJobEnv(SingleEnv):
    """Decides which waiting job goes next on the cluster of a log.

    Observation: ``Box(0, 1)`` of ``float32``, flat, in three parts that `layout` names and splits.
        ``cluster`` (16,): free capacity, queue, reservation, time of day and week (`CLUSTER_FEATURES`); with `history`
        five more for each interval of the recent past (`HISTORY_FEATURES`).
        ``lookahead`` (lookahead_size,): when running jobs give capacity back.
        ``jobs`` (window, 21 + own features): the waiting jobs in the order of `order` (`JOB_FEATURES`). Jobs that may
        be chosen come first, then others; rows without a job are zeros. With `stops` there are so many rows more, for
        running jobs behind those that wait, and four features more of each job (`RUNNING_FEATURES`).

    Action: ``Discrete(window + stops + 1)``. 0 waits until the next event; *k* chooses the job in row *k* − 1. What
        choosing does depends on `mode`: the job starts, gets the pass's reservation, or is committed. A job that runs
        is stopped.

    Mask: ``action_masks()`` or ``info["action_mask"]``, (window + stops + 1,) of ``bool``. An action that it
        forbids is taken as *wait*, or as the first job that may be chosen, costs `invalid_penalty`, and
        ``info["invalid_action"]`` is True. At least one action is always allowed.

    Reward: the weighted sum of objectives (`RewardOptions`), larger is better. ``dense``: each step brings the change
        of the objectives since the last; their sum over an episode is the objective. ``final``: all of it at the end.

    Ending: an episode is one window of the log, on an empty cluster. ``terminated`` when every job has started (the
        clock then runs on until the last has ended). ``truncated`` after `max_steps` decisions, or at the first
        decision behind the horizon; by default never. Then ``info["totals"]`` has the objectives of the episode.
    """

    def __init__(
        self,
        workload: str | Workload | None = None,
        cluster: str | Cluster | None = None,
        *,
        render_mode: str | None = None,
        **keywords: Any,  # noqa: ANN401 - the fields of three classes, checked there
    ) -> None:
        """Opens the environment; the arguments are those of `make_vector`, and what `render` returns."""
        check_render_mode(render_mode)
        vector = make_vector(1, workload=workload, cluster=cluster, autoreset=False, **keywords)
        super().__init__(vector, render_mode)
