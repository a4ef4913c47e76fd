"""What all environments of a vector share: jobs, clusters, episodes, and how simulations behave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shunter.envs.baselines import scaled_priority
from shunter.envs.rewards import core_logarithms, core_weights
from shunter.errors import InputError
from shunter.model.access import access_of
from shunter.native import Handle, core_numbers, ffi, lib, opened, pointer
from shunter.simulation.core_inputs import core_config, open_cluster, open_jobs
from shunter.simulation.rule_support import refuse_rules

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.envs.build import VectorOptions
    from shunter.envs.episodes import Episodes
    from shunter.envs.layout import Layout
    from shunter.envs.rewards import RewardOptions
    from shunter.model.access import Access
    from shunter.model.cluster import Cluster
    from shunter.model.workload import Workload
    from shunter.policies.scheduler import Scheduler
    from shunter.simulation.core_inputs import CoreConfig


@dataclass(frozen=True)
class CoreMode:
    """The core's numbers for who decides what, and how future capacity is described."""

    mode: int
    lookahead: int
    history_interval_ms: int = 0

    @staticmethod
    def of(mode: str, lookahead: str = "off", history_interval_s: float = 0.0) -> CoreMode:
        """Returns the numbers for the names."""
        return CoreMode(
            core_numbers("Mode")[mode],
            core_numbers("Lookahead")[lookahead.replace("_", "-")],
            round(history_interval_s * 1000),
        )

    def shown_fields(self, layout: Layout) -> dict[str, int]:
        """Returns those fields of the core's ``ShunterEnvConfig`` that say what is decided, and what is shown."""
        return {
            "mode": self.mode,
            "lookahead": self.lookahead,
            "lookahead_size": layout.lookahead_size,
            "window": layout.window,
            "extra_features": len(layout.extra_features),
            "history": layout.history,
            "history_interval_ms": self.history_interval_ms,
            "stops": layout.stops,
            "types": len(layout.types),
        }


class World:
    """Jobs, clusters and episodes, handed to the core once."""

    def __init__(
        self,
        workloads: tuple[Workload, ...],
        clusters: tuple[Cluster, ...],
        episodes: Episodes,
        scheduler: Scheduler,
    ) -> None:
        """Hands everything over.

        Args:
            workloads: Whole tables of jobs, no windows; partitions are numbered as the cluster of the same place has
                them, or the first one.
            clusters: One for each table, or any number where there is one table.
            episodes: What can be played, naming tables and clusters by their places.
            scheduler: Of the simulations.
        """
        for cluster in clusters:
            if cluster.rules.bind_starts:
                refuse_rules("an environment", cluster, "choose a policy that is not learned")
        self.workloads = workloads
        self.clusters = clusters
        self.hosts = len(clusters[0].nodes)
        """How many hosts the first cluster has."""
        self.episodes = episodes.rows
        self._relative_start_ms = episodes.relative_start_ms
        self.first_place = np.cumsum([0, *map(len, workloads)])
        """(tables + 1): the place of each table's first job among the jobs of all tables."""
        self._configs = [core_config(scheduler, workload, clusters[place]) for place, workload in enumerate(workloads)]
        _check_same(self._configs)
        _check_placer(self._configs, len(clusters))
        self.asked = self._configs[0].asked
        """The placement that lives in Python, if there is one."""
        accesses = [
            access_of(workloads[min(place, len(workloads) - 1)].jobs, cluster) for place, cluster in enumerate(clusters)
        ]
        _check_access(accesses, len(workloads))
        self._tables = [
            open_jobs(workload, clusters[place], accesses[place]) for place, workload in enumerate(workloads)
        ]
        self._clusters = [open_cluster(cluster, access) for cluster, access in zip(clusters, accesses, strict=True)]

    def open(
        self,
        core_mode: CoreMode,
        layout: Layout,
        reward: RewardOptions,
        vector: VectorOptions,
        *,
        autoreset: bool,
    ) -> Handle:
        """Opens environments on this world.

        Args:
            core_mode: What is decided.
            layout: What an observation is made of.
            reward: What the reward is.
            vector: How many environments, how many threads, and so on.
            autoreset: Whether the core itself begins the next episode where one has ended.
        """
        env_config = ffi.new(
            "ShunterEnvConfig *",
            {
                **core_mode.shown_fields(layout),
                "max_steps": vector.max_steps or 0,
                "dense": reward.timing == "dense",
                "log": core_logarithms(reward),
                "autoreset": autoreset,
                "threads": vector.threads,
                "seed": vector.seed,
                "weights": core_weights(reward).tolist(),
                "invalid_penalty": reward.invalid_penalty,
                "bound_weight": reward.bound_weight,
            },
        )
        scores = np.concatenate([config.policy.scores for config in self._configs])
        priority = self._priority()
        return opened(
            lib.shunter_env_open,
            *_numbers(self._tables),
            *_numbers(self._clusters),
            self._configs[0].pointer,
            env_config,
            pointer(priority),
            len(priority),
            pointer(scores),
            len(scores),
            ffi.from_buffer("ShunterEpisode[]", self.episodes),
            len(self.episodes),
            pointer(self._relative_start_ms),
            len(self._relative_start_ms),
            vector.num_envs,
        )

    def raise_failure(self) -> None:
        """Raises what went wrong in a placement that lives in Python, if anything did."""
        if self.asked is not None:
            self.asked.raise_failure()

    def tables_of(self, episode: int) -> tuple[Handle, Handle]:
        """Returns the cluster and the jobs of an episode."""
        one = self.episodes[episode]
        return self._clusters[one["cluster"]], self._tables[one["table"]]

    def _priority(self) -> NDArray[np.float64]:
        # An empty array spares the core a column of zeros for every job.
        if all(workload.jobs["priority"].null_count() == len(workload) for workload in self.workloads):
            return np.empty(0)
        return np.concatenate([scaled_priority(workload) for workload in self.workloads])


def _check_same(configs: list[CoreConfig]) -> None:
    """Raises an error if the order has other parameters for another log, for environments have one order."""
    for config in configs[1:]:
        if not np.array_equal(config.policy.parameters, configs[0].policy.parameters):
            raise InputError("the order has shares by user, and the logs have different users; train on one log")


def _check_placer(configs: list[CoreConfig], clusters: int) -> None:
    """Raises an error if a placement that lives in Python would have to know several logs or clusters."""
    asked = configs[0].asked
    if asked is not None and (len(configs) > 1 or clusters > 1):
        what = f"placement {asked.placer.name!r} lives in Python, and knows one log and one cluster"
        raise InputError(f"{what}; train on one of each, or choose a placement that the core knows, such as 'pack'")


def _check_access(accesses: list[Access], tables: int) -> None:
    """Raises an error if the jobs of one table would go to other places on another cluster."""
    if len(accesses) > tables and not all(access.is_plain for access in accesses):
        raise InputError("nodes in several partitions and features work with one cluster; give each log its own")


def _numbers(handles: list[Handle]) -> tuple[Any, int]:
    return ffi.new("uint64_t[]", [handle.number for handle in handles]), len(handles)
