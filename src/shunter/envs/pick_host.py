"""``shunter/PickHost-v0``: which host for each task of the job at the head of the queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from shunter.checks import MOST_SEED, RANGE, check_fields, deal_out, declarations, declared, pair
from shunter.comparison.combinations import Combination
from shunter.envs.build import VectorOptions, build_vector
from shunter.envs.episodes import MILLI, EpisodeOptions, Episodes, log_episodes
from shunter.envs.forking import prepared
from shunter.envs.layout import Layout
from shunter.envs.log_source import LogSource, episode_windows, log_world, read_logs
from shunter.envs.rewards import RewardOptions
from shunter.envs.single import SingleEnv, check_render_mode
from shunter.envs.sources import (
    EnvironmentOptions,
    EpisodeGroup,
    EpisodeSource,
    Use,
    failed_progress_field,
    mtbf_field,
    mttr_field,
)
from shunter.envs.world import CoreMode, World
from shunter.errors import InputError
from shunter.model.cluster import Cluster, Node
from shunter.model.fitting import why_any_node_will_do
from shunter.model.log import Log
from shunter.model.windows import Windows
from shunter.model.workload import Workload
from shunter.policies.catalog import PICK_HOST, PLACEMENTS, PYTHON_PLACEMENTS
from shunter.policies.scheduler import resolve_scheduler
from shunter.workloads.generators import eda
from shunter.workloads.reading import SEED_STEP, read_log

if TYPE_CHECKING:
    from shunter.envs.vector import NativeVectorEnv
    from shunter.policies.scheduler import Scheduler

EPISODES: Final = 64
"""So many episodes are drawn, unless the user says otherwise."""
TRAINING_EPISODES: Final = 256
"""So many episodes are drawn for a training, unless ``[episodes] windows`` says otherwise."""
MOST_EPISODES: Final = 100_000

LOG_RIVALS: Final = ("first-fit", "best-fit", "worst-fit", "pack", "spread")
"""The placements that a policy is held against on logs."""

_LARGEST: Final = 2**16
"""More hosts, jobs or seconds are a slip of the finger."""
_MOST: Final = 10**6


def _drawn_number(default: int, help: str, option: str) -> Any:  # noqa: ANN401 - as `dataclasses.field` is typed
    """Returns a field with an option of the command line, which means something where jobs are drawn."""
    said: dict[str, Any] = {"low": 1, "high": _LARGEST, "option": option, "metavar": "N"}
    return declared(default, f"pick-host without a log: {_lowered(help)}", shown_default=str(default), **said)


def _drawn_range(default: tuple[int, int], help: str, option: str) -> Any:  # noqa: ANN401 - as above
    """Returns the same for a range that is drawn from; both ends are in it."""
    said = {"option": option, "metavar": RANGE, "shown_default": ":".join(map(str, default))}
    return declared(default, f"pick-host without a log: {_lowered(help)}", **said)


def _lowered(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


@dataclass(frozen=True)
class PickHostOptions(EnvironmentOptions):
    """Which hosts and jobs are drawn: the section ``[environment]``. Ranges include both ends.

    On a log nothing is drawn: hosts and jobs are those of the cluster and the log.
    """

    num_hosts: int = _drawn_number(20, "How many hosts there are.", "num-hosts")
    max_jobs_per_step: int = _drawn_number(10, "How many jobs arrive in a second at most.", "max-jobs-per-step")
    episode_length: int = _drawn_number(100, "In how many seconds jobs arrive.", "episode-length")
    host_cores: tuple[int, int] = _drawn_range(eda.HOST_CORES, "The cores of a host.", "host-cores")
    host_memory_gb: tuple[int, int] = _drawn_range(eda.HOST_MEMORY_GB, "The memory of a host, in GB.", "host-memory")
    job_cores: tuple[int, int] = _drawn_range(eda.JOB_CORES, "The cores of a job.", "job-cores")
    job_memory_mb: tuple[int, int] = _drawn_range(eda.JOB_MEMORY_MB, "The memory of a job, in MB.", "job-memory")
    job_run_s: tuple[int, int] = declared((1, 60), "How long a job runs, in seconds.")
    seed: int = declared(0, "The seed that episodes and failures are drawn from.", low=0, high=MOST_SEED)
    mtbf_s: float | None = mtbf_field()
    mttr_s: float | None = mttr_field()
    failed_progress: str = failed_progress_field()

    def __post_init__(self) -> None:
        self.take_times("mtbf_s", "mttr_s")
        check_fields(self)
        for name in ("host_cores", "host_memory_gb", "job_cores", "job_memory_mb", "job_run_s"):
            object.__setattr__(self, name, pair(name, getattr(self, name), 1, _MOST))
        # Hosts are drawn: a job larger than the smallest of them may turn out to fit on none.
        for asked, most, has, least in (
            ("job_cores", self.job_cores[1], "host_cores", self.host_cores[0]),
            ("job_memory_mb", self.job_memory_mb[1], "host_memory_gb", self.host_memory_gb[0] * eda.GB),
        ):
            if most > least:
                raise InputError(f"{asked} goes up to {most}, {has} down to {least}; expected jobs that fit everywhere")
        _ = self.scheduler  # what is wrong with the failures is told now

    @classmethod
    def drawn(cls) -> tuple[str, ...]:
        """Returns what is drawn: on a log, none of it has a meaning."""
        return tuple(name for name in declarations(cls) if name not in ("seed", "mtbf_s", "mttr_s", "failed_progress"))

    @property
    def layout(self) -> Layout:
        """The layout of the observations."""
        return Layout(PICK_HOST, num_hosts=self.num_hosts)

    @property
    def core_mode(self) -> CoreMode:
        """The core's numbers for what is decided."""
        return CoreMode.of("host")

    @property
    def scheduler(self) -> Scheduler:
        """How the simulations behind the environments schedule."""
        return self.placed_by(None)

    def placed_by(self, placement: str | None) -> Scheduler:
        """Returns the same with a placement of Shunter's; None: the first of all."""
        # Where nothing is drawn in the simulations the seed means nothing, and environments that were kept have none.
        drawn = {} if self.mtbf_s is None else {"seed": self.seed}
        failures = {"mtbf_s": self.mtbf_s, "mttr_s": self.mttr_s, "failed_progress": self.failed_progress}
        return host_scheduler(placement, **drawn, **failures)

    @property
    def chooses_jobs(self) -> bool:
        """No: the order decides, and what is decided is where a job runs."""
        return False

    def notes(self, logs: Sequence[Log]) -> list[str]:
        """Returns what a user must know before a training: where there is nothing to learn."""
        every = {log.workload.name: why_any_node_will_do(log.workload.jobs, log.cluster) for log in logs}
        if not logs and self.num_hosts == 1:
            every = {"--num-hosts 1": "there is one node"}
        useless = "every placement starts each job at the same time, and nothing can be learned about waits"
        return [
            f"{name}: it does not matter where jobs run, for {why}: {useless}"
            for name, why in every.items()
            if why is not None
        ]

    def open_source(self, workloads: Sequence[str] = (), clusters: Sequence[str] = ()) -> EpisodeSource:
        """Returns windows of logs, or where there is no log the drawn episodes.

        Raises:
            InputError: Clusters are given without logs, the clusters have not the same number of hosts, or a log cannot
                be read.
        """
        if workloads:
            logs = read_logs(workloads, clusters)
            return PickHostLogSource(self.on(logs), logs)
        if clusters:
            raise InputError("pick-host draws its own hosts and jobs; leave --cluster out, or give a log with it")
        return PickHostSource(self)

    def on(self, logs: Sequence[Log]) -> PickHostOptions:
        """Returns the options of environments on logs: an observation shows the hosts of their clusters.

        Raises:
            InputError: The clusters have not the same number of hosts, or one alone.
        """
        hosts = [len(log.cluster.nodes) for log in logs]
        for log, count in zip(logs, hosts, strict=True):
            if count != hosts[0]:
                what = f"{logs[0].cluster.name} has {hosts[0]} hosts, {log.cluster.name} {count}"
                raise InputError(f"{what}; an observation has one size: train on clusters of equally many")
            if count == 1:
                what = f"the cluster {log.cluster.name} is one node: there is no host to choose"
                raise InputError(f"{what}; give its nodes, as in --cluster FILE.toml")
        return replace(self, num_hosts=hosts[0])


@dataclass(frozen=True)
class DrawnEpisodes:
    """How many episodes there are."""

    episodes: int = declared(EPISODES, "How many episodes are drawn.", low=1, high=MOST_EPISODES)

    def __post_init__(self) -> None:
        check_fields(self)


def drawn_log(options: PickHostOptions, episode: int) -> Log:
    """Returns the jobs and hosts of one episode: a pure function of the options' seed and the episode's number."""
    # A generator for each episode: any one of them can be drawn alone, and is the same however many there are.
    random = np.random.default_rng([options.seed, episode])
    nodes = tuple(
        Node(f"host{place}", float(_drawn(random, options.host_cores)), _drawn(random, options.host_memory_gb) * eda.GB)
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


def host_scheduler(placement: str | None = None, **settings: Any) -> Scheduler:  # noqa: ANN401 - checked there
    """Returns how simulations schedule here: first come, first served, and nobody passes the head of the queue."""
    return resolve_scheduler(dispatch="strict", placement=placement, **settings)


def pick_host_vector(
    options: PickHostOptions,
    reward: RewardOptions,
    *,
    episodes: int = EPISODES,
    bounding: Scheduler | None = None,
    **vector: Any,  # noqa: ANN401 - the fields of VectorOptions, checked there
) -> NativeVectorEnv:
    """Returns environments whose episodes each have hosts and jobs of their own.

    Args:
        options: What is drawn, and from which seed.
        reward: What the reward is.
        episodes: How many episodes there are.
        bounding: Of the placement whose values the reward's bounds multiply; None: as the reward says.
        vector: The fields of `VectorOptions`: ``num_envs``, ``threads``, ``seed``, ``autoreset`` and so on.

    Raises:
        InputError: A number or a name is wrong.
    """
    # Its checks are those of the keyword.
    DrawnEpisodes(episodes)
    stepping = VectorOptions(**vector)
    return build_vector(lambda: _world(options, reward, episodes, stepping, bounding), options, reward, stepping)


def _world(
    options: PickHostOptions,
    reward: RewardOptions,
    episodes: int,
    stepping: VectorOptions,
    bounding: Scheduler | None = None,
) -> World:
    """Returns what environments are made of; the arguments are those of `pick_host_vector`."""
    logs, scheduler = [drawn_log(options, episode) for episode in range(episodes)], options.scheduler
    rows = [
        log_episodes(0, log, Windows.whole(len(log.workload)), scheduler, reward, stepping, bounding) for log in logs
    ]
    table, played = _one_table(logs, rows, options.episode_length)
    return World((table,), tuple(log.cluster for log in logs), played, scheduler)


def _one_table(logs: Sequence[Log], parts: Sequence[Episodes], length_s: int) -> tuple[Workload, Episodes]:
    """Returns all jobs as one table, each log's behind those of the log before it, and the episodes in it."""
    # The core takes one table with any number of clusters. Times are shifted so that the table stays sorted by submit
    # time.
    shifted = [log.workload.jobs.with_columns(pl.col("submit_s") + place * length_s) for place, log in enumerate(logs)]
    jobs = pl.concat(shifted).with_columns(job_id=pl.int_range(1, pl.len() + 1, dtype=pl.Int64))
    played = Episodes.joined([part.later(place * length_s) for place, part in enumerate(parts)])
    # Each part was made as if it were the first and only one.
    played.rows["cluster"] = np.arange(len(logs))
    played.rows["first"] = np.cumsum([0, *(len(log.workload) for log in logs[:-1])])
    return replace(logs[0].workload, jobs=jobs), played


def make_vector(
    num_envs: int,
    *,
    workload: str | Workload | None = None,
    cluster: str | Cluster | None = None,
    **keywords: Any,  # noqa: ANN401 - the fields of four classes, checked there
) -> NativeVectorEnv:
    """Returns environments on windows of a log, or with hosts and jobs that are drawn.

    Args:
        num_envs: How many environments.
        workload: A log, or what `shunter.read_workload` reads; None: hosts and jobs are drawn.
        cluster: A cluster, or what `shunter.read_cluster` takes; None: the one that the log tells of.
        keywords: The fields of `PickHostOptions`, `RewardOptions` and `VectorOptions`; of `EpisodeOptions` with a log,
            and of `DrawnEpisodes` without.

    Raises:
        InputError: A keyword is unknown, a value is wrong, or a cluster is given without a log.
    """
    if workload is not None:
        return _make_log_vector(num_envs, workload, cluster, keywords)
    if cluster is not None:
        raise InputError("pick-host draws its own hosts and jobs; leave cluster out, or give a workload with it")
    kinds = (PickHostOptions, RewardOptions, DrawnEpisodes, VectorOptions)
    given = {**keywords, "num_envs": num_envs}
    options, reward, drawn, vector = deal_out(given, *kinds, also=("workload", "cluster"))

    def world() -> World:
        return _world(options, reward, drawn.episodes, vector)

    return build_vector(lambda: prepared(PICK_HOST, keywords, world), options, reward, vector)


def _make_log_vector(
    num_envs: int, workload: str | Workload, cluster: str | Cluster | None, keywords: Mapping[str, Any]
) -> NativeVectorEnv:
    """Returns environments on windows of one log; the arguments are those of `make_vector`."""
    for name in PickHostOptions.drawn():
        if name in keywords:
            raise InputError(f"{name} is given with a workload, which has its own jobs and hosts; leave it out")
    kinds = (PickHostOptions, RewardOptions, EpisodeOptions, VectorOptions)
    given = {**keywords, "num_envs": num_envs}
    options, reward, episodes, vector = deal_out(given, *kinds, also=("workload", "cluster"))

    def world() -> World:
        log = read_log(workload, cluster)
        options.on([log])
        return log_world([log], [episode_windows(log, episodes)], options.scheduler, reward, vector)

    # How many hosts an observation shows is known when the log has been read.
    made = prepared(PICK_HOST, {"workload": workload, "cluster": cluster, **keywords}, world)
    return build_vector(lambda: made, replace(options, num_hosts=made.hosts), reward, vector)


class PickHostLogSource(LogSource):
    """Windows of logs, on which a policy that chooses hosts is trained and judged."""

    options: PickHostOptions

    def rivals(self, *, same_estimate: bool = False) -> Sequence[Combination]:
        """Returns the placements that look at cores and memory, as the policy does; none looks at run times."""
        return () if same_estimate else [Combination(name, self.options.placed_by(name)) for name in LOG_RIVALS]

    def usual(self) -> Combination:
        """Returns the first placement of all, which takes the first host that has room."""
        return self.rivals()[0]


class PickHostSource(EpisodeSource):
    """Drawn episodes, on which a policy that chooses hosts is trained and judged."""

    options: PickHostOptions

    def __init__(self, options: PickHostOptions) -> None:
        """Takes what is drawn; `PickHostOptions.open_source` makes it."""
        self.options = options

    def check(self, parts: Mapping[str, EpisodeOptions]) -> None:
        """Finds nothing wrong: parts of a log mean nothing here."""

    def groups(self, episodes: EpisodeOptions, use: Use = Use.TRAINING) -> list[EpisodeGroup]:
        """Returns all drawn episodes as one group.

        Each is a log, and so a block of its own in the statistics: they have nothing to do with each other.
        """
        options, count = self._drawn(use), self._count(episodes)
        logs = [drawn_log(options, episode) for episode in range(count)]
        # The environments have all episodes in one table, one behind the other.
        later_ms = tuple(episode * options.episode_length * MILLI for episode in range(count))
        parts = tuple((log, Windows.whole(len(log.workload))) for log in logs)
        return [EpisodeGroup(f"{count} drawn episodes", parts, later_ms)]

    def vector(
        self,
        episodes: EpisodeOptions,
        reward: RewardOptions,
        use: Use = Use.TRAINING,
        *,
        bounding: Sequence[Scheduler] | None = None,
        **vector: Any,  # noqa: ANN401 - the fields of VectorOptions
    ) -> NativeVectorEnv:
        """Returns environments that play the same episodes."""
        # All drawn episodes are one group, so that there is one policy for all of them.
        one = None if bounding is None else bounding[0]
        drawn = self._count(episodes)
        return pick_host_vector(self._drawn(use), reward, episodes=drawn, bounding=one, **vector)

    def rivals(self, *, same_estimate: bool = False) -> Sequence[Combination]:
        """Returns every placement of Shunter's; none of them looks at run times."""
        # A solver is asked about whole GPUs alone, which drawn jobs do not have.
        names = [name for name in PLACEMENTS if name not in PYTHON_PLACEMENTS]
        return () if same_estimate else [Combination(name, self.options.placed_by(name)) for name in names]

    def usual(self) -> Combination:
        """Returns the first placement of all, which takes the first host that has room."""
        return self.rivals()[0]

    def further(self, number: int) -> PickHostSource:
        """Returns what is drawn with another seed."""
        return PickHostSource(replace(self.options, seed=(self.options.seed + number * SEED_STEP) % (MOST_SEED - 1)))

    def _drawn(self, use: Use) -> PickHostOptions:
        return replace(self.options, seed=self.options.seed + use)

    @staticmethod
    def _count(episodes: EpisodeOptions) -> int:
        return episodes.windows or TRAINING_EPISODES


class PickHostEnv(SingleEnv):
    """Decides on which host each task of the job at the head of the queue runs.

    Hosts and jobs are drawn, jobs of one task each; or they are those of a log and its cluster.

    Observation: ``Box(0, 1)`` of ``float32``, flat, in two parts that `layout` names and splits.
        ``hosts`` (num_hosts, 4): used cores, used memory, cores and memory of each host (`HOST_FEATURES`); the last two
        as parts of the largest host's.
        ``job`` (2,): cores and memory that one task asks for, as parts of the largest host's (`HOST_JOB_FEATURES`).

    Action: ``Discrete(num_hosts)``: the host of the next task, which counts as used from then on. When all tasks have
        one, the job starts at once.

    Mask: ``action_masks()`` or ``info["action_mask"]``, (num_hosts,) of ``bool``: the hosts on which one more task fits
        now; the clock moves until there is room for all tasks. An action that it forbids is taken as the first host
        that it allows, costs `invalid_penalty`, and ``info["invalid_action"]`` is True.

    Reward: the weighted sum of objectives (`RewardOptions`), larger is better. ``dense``: each step brings the change
        of the objectives since the last; their sum over an episode is the objective. ``final``: all of it at the end.

    Ending: an episode is one window of a log, or all that is drawn: jobs then arrive for `episode_length` seconds.
        ``terminated`` when every job has started (the clock then runs on until the last has ended). ``truncated`` after
        `max_steps` decisions, or at the first decision behind the horizon; by default never. Then ``info["totals"]``
        has the objectives of the episode.
    """

    def __init__(self, *, render_mode: str | None = None, **keywords: Any) -> None:  # noqa: ANN401 - checked there
        """Opens the environment; the keywords are those of `make_vector`, and what `render` returns."""
        check_render_mode(render_mode)
        super().__init__(make_vector(1, autoreset=False, **keywords), render_mode)
