"""``shunter/PickJob-v0``: which waiting job next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from shunter.checks import TIME, declared
from shunter.comparison.classics import classics, learns
from shunter.comparison.combinations import combine_like
from shunter.comparison.origins import with_own_estimate
from shunter.envs.layout import Layout
from shunter.envs.log_source import LogSource, log_vector
from shunter.envs.queue_options import LARGEST, QueueOptions, queue_vector
from shunter.envs.rewards import RewardOptions
from shunter.envs.single import SingleEnv, check_render_mode
from shunter.envs.world import CoreMode
from shunter.errors import InputError
from shunter.model.settings import CORES_ALONE, PROGRESS
from shunter.policies.catalog import PICK_JOB, PICK_JOB_MODES
from shunter.policies.native import REQUESTED, of_before, spec_file

if TYPE_CHECKING:
    from shunter.comparison.combinations import Combination
    from shunter.envs.vector import NativeVectorEnv
    from shunter.model.cluster import Cluster
    from shunter.model.log import Log
    from shunter.model.settings import Settings
    from shunter.model.windows import Windows
    from shunter.model.workload import Workload

USUAL: Final = "fcfs/easy"
"""What sites have that have never thought about it."""

EXAMPLE: Final = "generate:lublin?seed=1&jobs=5000&cores=256"
"""A workload for whoever has none at hand."""

STOPPING_MODES: Final = ("reserve", "feasible")
"""The modes in which running jobs may be stopped."""

STOP_SETTINGS: Final = ("preemption_overhead_s", "preemption_overhead_per_gb_s", "preempted_progress", "min_run_s")
"""What stops cost, and when jobs may be stopped: settings and options have the same names."""


@dataclass(frozen=True)
class PickJobOptions(QueueOptions):
    """What a policy that chooses jobs sees, and what choosing a job does: the section ``[environment]``."""

    mode: str = declared(
        "reserve",
        "What choosing a job does: reserve leaves the freedom that EASY backfilling has.",
        choices=PICK_JOB_MODES,
        option="mode",
        metavar="NAME",
    )
    stops: int = declared(
        0,
        "How many running jobs the policy sees, and may stop.",
        low=0,
        high=LARGEST,
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

    @classmethod
    def own_times(cls) -> tuple[str, ...]:
        """Returns the times that are about stops."""
        return "preemption_overhead_s", "preemption_overhead_per_gb_s", "min_run_s"

    def check_own(self) -> None:
        """Raises an error if jobs are to be stopped in a mode in which none can be."""
        if self.stops and self.mode not in STOPPING_MODES:
            what = f"stops is {self.stops}, but mode is {self.mode!r}, in which no running job can be stopped"
            raise InputError(f"{what}; leave stops out, or choose the mode {' or '.join(STOPPING_MODES)}")

    def own_settings(self) -> Mapping[str, Any]:
        """Returns what stops cost."""
        return {name: getattr(self, name) for name in STOP_SETTINGS}

    def settings_told(self, settings: Settings) -> dict[str, Any]:
        """Returns the fields that settings stand for: what stops cost is as is asked for, too."""
        return super().settings_told(settings) | {name: getattr(settings, name) for name in STOP_SETTINGS}

    @property
    def kind(self) -> str:
        """`PICK_JOB`."""
        return PICK_JOB

    @property
    def dispatch(self) -> str:
        """The dispatch rule that the mode is like."""
        return PICK_JOB_MODES[self.mode]

    @property
    def source(self) -> type[LogSource]:
        """Windows of logs."""
        return PickJobSource

    @property
    def layout(self) -> Layout:
        """The layout of the observations."""
        return replace(super().layout, stops=self.stops)

    @property
    def core_mode(self) -> CoreMode:
        """The core's numbers for what is decided."""
        return CoreMode.of(self.mode, self.lookahead, self.history_interval_s)


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
    example = f'gymnasium.make("shunter/PickJob-v0", workload="{EXAMPLE}")'
    return queue_vector(PickJobOptions, example, num_envs, workload, cluster, keywords)


class PickJobSource(LogSource):
    """Windows of logs, on which a policy that chooses jobs is trained and judged."""

    options: QueueOptions

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
