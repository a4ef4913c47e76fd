"""``shunter/PickHost-v0``: which host for the job at the head of the queue."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from shunter.checks import deal_out, declared
from shunter.envs.build import build_vector
from shunter.envs.episodes import Episodes, log_episodes
from shunter.envs.options import Ending, PickHostOptions, RewardOptions
from shunter.envs.single import SingleEnv
from shunter.envs.world import CoreMode, World
from shunter.model.cluster import Cluster, Node
from shunter.model.log import Log
from shunter.model.windows import Windows
from shunter.model.workload import Workload
from shunter.policies.scheduler import resolve_scheduler
from shunter.workloads.generators.eda import GB

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shunter.envs.vector import NativeVectorEnv
    from shunter.policies.scheduler import Scheduler

EPISODES: Final = 64
"""So many episodes are drawn, unless the user says otherwise."""
MOST_EPISODES: Final = 100_000


@dataclass(frozen=True)
class DrawnEpisodes(Ending):
    """How many episodes there are, and what ends one before its own end."""

    episodes: int = declared(EPISODES, "How many episodes are drawn.", low=1, high=MOST_EPISODES)


def drawn_log(options: PickHostOptions, episode: int) -> Log:
    """Returns the jobs and hosts of one episode: a pure function of the options' seed and the episode's number."""
    random = np.random.default_rng([options.seed, episode])
    nodes = tuple(
        Node(f"host{place}", float(_drawn(random, options.host_cores)), _drawn(random, options.host_memory_gb) * GB)
        for place in range(options.num_hosts)
    )
    arrivals = random.integers(0, options.max_jobs_per_step, options.episode_length, endpoint=True)
    if not arrivals.any():
        # An episode without a job would have nothing to decide.
        arrivals[0] = 1
    count = int(arrivals.sum())
    jobs = pl.DataFrame(
        {
            "submit_s": np.repeat(np.arange(options.episode_length), arrivals),
            "run_s": random.integers(*options.job_run_s, count, endpoint=True),
            "cores_per_task": random.integers(*options.job_cores, count, endpoint=True),
            "memory_mb_per_task": random.integers(*options.job_memory_mb, count, endpoint=True),
        }
    )
    name = f"PickHost seed {options.seed} episode {episode}"
    return Log(Workload.from_frame(jobs, name=name), Cluster.from_nodes(nodes, name))


def _drawn(random: np.random.Generator, bounds: tuple[int, int]) -> int:
    return int(random.integers(*bounds, endpoint=True))


def pick_host_vector(
    options: PickHostOptions,
    reward: RewardOptions,
    *,
    num_envs: int,
    threads: int = 1,
    seed: int = 0,
    episodes: int = EPISODES,
    autoreset: bool = True,
    max_steps: int | None = None,
    horizon_factor: float | None = None,
    bounding: Scheduler | None = None,
) -> NativeVectorEnv:
    """Returns environments whose episodes each have hosts and jobs of their own.

    Args:
        options: What is drawn, and from which seed.
        reward: What the reward is.
        num_envs: How many environments.
        threads: How many threads step them.
        seed: Where the drawing begins of which environment plays which episode.
        episodes: How many episodes there are.
        autoreset: Whether an environment that is done begins its next episode in the same step.
        max_steps: After how many decisions an episode is cut; None: never.
        horizon_factor: When the clock cuts an episode; None: never.
        bounding: Of the placement whose values the reward's bounds multiply; None: as the reward says.

    Raises:
        InputError: A number or a name is wrong.
    """
    DrawnEpisodes(episodes=episodes)
    scheduler = resolve_scheduler(dispatch="strict")

    def world() -> World:
        logs = [drawn_log(options, episode) for episode in range(episodes)]
        rows = [
            log_episodes(
                0,
                log,
                Windows.whole(len(log.workload)),
                scheduler,
                reward,
                horizon_factor=horizon_factor,
                threads=threads,
                bounding=bounding,
            )
            for log in logs
        ]
        table, played = _one_table(logs, rows, options.episode_length)
        return World((table,), tuple(log.cluster for log in logs), played, scheduler)

    return build_vector(
        world,
        CoreMode.of("host"),
        options,
        reward,
        num_envs=num_envs,
        threads=threads,
        seed=seed,
        autoreset=autoreset,
        max_steps=max_steps,
        horizon_factor=horizon_factor,
    )


def _one_table(logs: Sequence[Log], parts: Sequence[Episodes], length_s: int) -> tuple[Workload, Episodes]:
    """Returns all jobs as one table, each log's behind those of the log before it, and the episodes in it."""
    shifted = [log.workload.jobs.with_columns(pl.col("submit_s") + place * length_s) for place, log in enumerate(logs)]
    jobs = pl.concat(shifted).with_columns(job_id=pl.int_range(1, pl.len() + 1, dtype=pl.Int64))
    played = Episodes.joined([part.later(place * length_s) for place, part in enumerate(parts)])
    played.rows["cluster"] = np.arange(len(logs))
    played.rows["first"] = np.cumsum([0, *(len(log.workload) for log in logs[:-1])])
    return replace(logs[0].workload, jobs=jobs), played


def make_vector(
    num_envs: int,
    *,
    threads: int = 1,
    autoreset: bool = True,
    **keywords: Any,  # noqa: ANN401 - the fields of three classes, checked there
) -> NativeVectorEnv:
    """Returns environments with hosts and jobs that are drawn.

    Args:
        num_envs: How many environments.
        threads: How many threads step them.
        autoreset: Whether an environment that is done begins its next episode in the same step.
        keywords: The fields of `PickHostOptions`, `RewardOptions` and `DrawnEpisodes`.

    Raises:
        InputError: A keyword is unknown, or a value is wrong.
    """
    options, reward, drawn = deal_out(keywords, PickHostOptions, RewardOptions, DrawnEpisodes)
    return pick_host_vector(
        options,
        reward,
        num_envs=num_envs,
        threads=threads,
        seed=options.seed,
        episodes=drawn.episodes,
        autoreset=autoreset,
        max_steps=drawn.max_steps,
        horizon_factor=drawn.horizon_factor,
    )


class PickHostEnv(SingleEnv):
    """Decides on which host the job at the head of the queue runs; hosts and jobs are drawn.

    Observation: ``Box(0, 1)`` of ``float32``, flat, in two parts that `layout` names and splits.
        ``hosts`` (num_hosts, 4): used cores, used memory, cores and memory of each host (`HOST_FEATURES`); the last two
        as parts of the largest host's.
        ``job`` (2,): cores and memory that the job asks for, as parts of the largest host's (`HOST_JOB_FEATURES`).

    Action: ``Discrete(num_hosts)``: the host. The job starts there at once.

    Mask: ``action_masks()`` or ``info["action_mask"]``, (num_hosts,) of ``bool``: the hosts on which the job fits now;
        the clock moves until there is one. An action that it forbids is taken as the first host that it allows, costs
        `invalid_penalty`, and ``info["invalid_action"]`` is True.

    Reward: the weighted sum of objectives (`RewardOptions`), larger is better. ``dense``: each step brings the change
        of the objectives since the last; their sum over an episode is the objective. ``final``: all of it at the end.

    Ending: jobs arrive for `episode_length` seconds. ``terminated`` when every job has started (the clock then runs on
        until the last has ended). ``truncated`` after `max_steps` decisions, or at the first decision behind the
        horizon; by default never. Then ``info["totals"]`` has the objectives of the episode.
    """

    def __init__(self, **keywords: Any) -> None:  # noqa: ANN401 - the fields of three classes, checked there
        """Opens the environment; the keywords are those of `make_vector`."""
        super().__init__(make_vector(1, autoreset=False, **keywords))
