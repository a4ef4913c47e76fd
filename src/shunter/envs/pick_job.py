"""``shunter/PickJob-v0``: which waiting job next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shunter.checks import deal_out
from shunter.envs.build import build_vector
from shunter.envs.episodes import Episodes, log_episodes, with_fitting_jobs
from shunter.envs.options import EpisodeOptions, PickJobOptions, RewardOptions
from shunter.envs.single import SingleEnv
from shunter.envs.world import CoreMode, World
from shunter.model.cluster import Cluster
from shunter.model.log import Log
from shunter.workloads import cluster_of, read_cluster, read_workload

if TYPE_CHECKING:
    from shunter.envs.vector import NativeVectorEnv
    from shunter.model.windows import Windows
    from shunter.model.workload import Workload
    from shunter.policies.scheduler import Scheduler


def pick_job_vector(
    logs: Sequence[Log],
    windows: Sequence[Windows],
    options: PickJobOptions,
    reward: RewardOptions,
    *,
    num_envs: int,
    threads: int = 1,
    seed: int = 0,
    autoreset: bool = True,
    max_steps: int | None = None,
    horizon_factor: float | None = None,
    bounding: Sequence[Scheduler | None] | None = None,
) -> NativeVectorEnv:
    """Returns environments whose episodes are windows of logs, numbered through all logs in their order.

    Args:
        logs: The logs and their clusters.
        windows: For each log, which parts of it are episodes.
        options: What the environments are.
        reward: What the reward is.
        num_envs: How many environments.
        threads: How many threads step them.
        seed: Where the drawing of episodes begins.
        autoreset: Whether an environment that is done begins its next episode in the same step.
        max_steps: After how many decisions an episode is cut; None: never.
        horizon_factor: When the clock cuts an episode; None: never.
        bounding: For each log, the policy whose values the reward's bounds multiply; None: as the reward says.

    Raises:
        InputError: A number or a name is wrong, or no job of a window can ever run.
    """
    scheduler = options.scheduler
    bounding = bounding or [None] * len(logs)

    def world() -> World:
        episodes = [
            log_episodes(
                place, log, chosen, scheduler, reward, horizon_factor=horizon_factor, threads=threads, bounding=one
            )
            for place, (log, chosen, one) in enumerate(zip(logs, windows, bounding, strict=True))
        ]
        tables = tuple(log.workload.whole() for log in logs)
        return World(tables, tuple(log.cluster for log in logs), Episodes.joined(episodes), scheduler)

    mode = CoreMode.of(options.mode, options.lookahead)
    return build_vector(
        world,
        mode,
        options,
        reward,
        num_envs=num_envs,
        threads=threads,
        seed=seed,
        autoreset=autoreset,
        max_steps=max_steps,
        horizon_factor=horizon_factor,
    )


def make_vector(
    num_envs: int,
    *,
    workload: str | Workload,
    cluster: str | Cluster | None = None,
    threads: int = 1,
    autoreset: bool = True,
    **keywords: Any,  # noqa: ANN401 - the fields of three classes, checked there
) -> NativeVectorEnv:
    """Returns environments on windows of one log.

    Args:
        num_envs: How many environments.
        workload: A log, or what `shunter.read_workload` reads.
        cluster: A cluster, or what `shunter.read_cluster` takes; None: the one that the log tells of.
        threads: How many threads step them.
        autoreset: Whether an environment that is done begins its next episode in the same step.
        keywords: The fields of `PickJobOptions`, `RewardOptions` and `EpisodeOptions`.

    Raises:
        InputError: A keyword is unknown, or a value is wrong.
    """
    options, reward, episodes = deal_out(keywords, PickJobOptions, RewardOptions, EpisodeOptions)
    log = read_log(workload, cluster)
    return pick_job_vector(
        [log],
        [episode_windows(log, episodes)],
        options,
        reward,
        num_envs=num_envs,
        threads=threads,
        seed=options.seed,
        autoreset=autoreset,
        max_steps=episodes.max_steps,
        horizon_factor=episodes.horizon_factor,
    )


def read_log(workload: str | Workload, cluster: str | Cluster | None) -> Log:
    """Returns a log and its cluster.

    Raises:
        InputError: Either cannot be read, or the log tells of no cluster and none is given.
    """
    if isinstance(cluster, str):
        cluster = read_cluster(cluster)
    jobs = read_workload(workload) if isinstance(workload, str) else workload
    if cluster is None:
        cluster = cluster_of(jobs, "cluster")
    return Log(jobs, cluster)


def episode_windows(log: Log, episodes: EpisodeOptions) -> Windows:
    """Returns the windows of a log that are episodes."""
    return with_fitting_jobs(log, episodes.windows_of(log))


class PickJobEnv(SingleEnv):
    """Decides which waiting job goes next on the cluster of a log.

    Observation: ``Box(0, 1)`` of ``float32``, flat, in three parts that `layout` names and splits.
        ``cluster`` (16,): free capacity, queue, reservation, time of day and week (`CLUSTER_FEATURES`).
        ``lookahead`` (lookahead_size,): when running jobs give capacity back.
        ``jobs`` (window, 21 + own features): the waiting jobs in the order of `order` (`JOB_FEATURES`). Jobs that may
        be chosen come first, then others; rows without a job are zeros.

    Action: ``Discrete(window + 1)``. 0 waits until the next event; *k* chooses the job in row *k* − 1. What choosing
        does depends on `mode`: the job starts, gets the pass's reservation, or is committed.

    Mask: ``action_masks()`` or ``info["action_mask"]``, (window + 1,) of ``bool``. An action that it forbids is taken
        as *wait*, or as the first job that may be chosen, costs `invalid_penalty`, and ``info["invalid_action"]`` is
        True. At least one action is always allowed.

    Reward: the weighted sum of objectives (`RewardOptions`), larger is better. ``dense``: each step brings the change
        of the objectives since the last; their sum over an episode is the objective. ``final``: all of it at the end.

    Ending: an episode is one window of the log, on an empty cluster. ``terminated`` when every job has started (the
        clock then runs on until the last has ended). ``truncated`` after `max_steps` decisions, or at the first
        decision behind the horizon; by default never. Then ``info["totals"]`` has the objectives of the episode.
    """

    def __init__(
        self,
        workload: str | Workload,
        cluster: str | Cluster | None = None,
        **keywords: Any,  # noqa: ANN401 - the fields of three classes, checked there
    ) -> None:
        """Opens the environment; the arguments are those of `make_vector`."""
        super().__init__(make_vector(1, workload=workload, cluster=cluster, autoreset=False, **keywords))
