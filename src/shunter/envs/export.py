"""The fixed test episodes as files that any tool can read: jobs as CSV and Parquet, the cluster as TOML."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from gymnasium.utils.seeding import np_random

from shunter.envs.log_source import episode_windows
from shunter.envs.pick_host import PickHostOptions, drawn_log
from shunter.envs.resets import draw_episode
from shunter.errors import InputError
from shunter.files import csv_writer
from shunter.metrics.run_folder import to_json_text, write_folder
from shunter.model.cluster_file import cluster_toml
from shunter.model.log import Log

if TYPE_CHECKING:
    from pathlib import Path

    from shunter.envs.episodes import EpisodeOptions
    from shunter.files import Writer
    from shunter.model.cluster import Cluster

SEEDS: Final = (42, 43, 44)
"""Of the test episodes: PickJob's ``reset(seed=...)`` chooses them, PickHost draws their hosts and jobs from them."""
HOST_EPISODE: Final = 0
"""Which of the episodes that PickHost draws from a seed is written."""
INDEX: Final = "episodes.json"
FILES: Final = (*(f"seed-{seed}.{suffix}" for seed in SEEDS for suffix in ("csv", "parquet", "toml")), INDEX)
"""What is written, besides the manifest."""


@dataclass(frozen=True)
class FixedEpisode:
    """One episode, on its own."""

    seed: int
    """Of PickJob's ``reset(seed=...)``; of PickHost's option ``seed``."""
    episode: int
    """Its place among the environment's episodes, as ``options={"episode": ...}`` takes it."""
    log: Log
    """Its jobs alone, the warm-up included, and its cluster."""
    warmup: int

    def record(self) -> dict[str, Any]:
        """Returns what the index says of it."""
        name = f"seed-{self.seed}"
        return {
            "seed": self.seed,
            "episode": self.episode,
            "source": self.log.workload.name,
            "source_sha256": self.log.workload.content_sha256,
            "jobs": [f"{name}.csv", f"{name}.parquet"],
            "cluster": f"{name}.toml",
            "warmup": self.warmup,
            "measured": len(self.log.workload) - self.warmup,
        }


def pick_job_episodes(log: Log, options: EpisodeOptions) -> list[FixedEpisode]:
    """Returns the test episodes of PickJob on a log."""
    windows = episode_windows(log, options)
    found = []
    for seed in SEEDS:
        # The same drawing as in reset(seed=...), so that files and environments agree.
        episode = _chosen(seed, len(windows))
        jobs = log.workload.window(int(windows.simulated_first[episode]), windows.simulated_length)
        found.append(FixedEpisode(seed, episode, Log(jobs, log.cluster), windows.warmup))
    return found


def pick_host_episodes(options: PickHostOptions) -> list[FixedEpisode]:
    """Returns the test episodes of PickHost; their own seeds stand in for that of the options.

    Training draws its episodes from the seed of its options (0 unless told otherwise), and those that judge it from the
    two behind it: so nobody has trained on these.
    """
    return [FixedEpisode(seed, HOST_EPISODE, drawn_log(replace(options, seed=seed), HOST_EPISODE), 0) for seed in SEEDS]


def _chosen(seed: int, episodes: int) -> int:
    """Returns the episode that ``reset(seed=...)`` chooses."""
    return draw_episode(np_random(seed)[0], episodes)


def write_episodes(
    folder: Path, id: str, options: EpisodeOptions | PickHostOptions, episodes: Iterable[FixedEpisode]
) -> dict[str, Any]:
    """Writes episodes to a folder, and returns what its index says.

    Args:
        folder: Where; created if need be.
        id: Of the environment.
        options: Which episodes there are.
        episodes: Those to write.

    Raises:
        InputError: A file cannot be written.
    """
    from shunter import __version__

    episodes = list(episodes)
    index = {
        "id": id,
        "shunter": __version__,
        "options": _shared(options),
        "episodes": [episode.record() for episode in episodes],
    }
    writers: dict[str, Writer] = {}
    for episode in episodes:
        name = f"seed-{episode.seed}"
        writers[f"{name}.csv"] = csv_writer(episode.log.workload.jobs)
        writers[f"{name}.parquet"] = episode.log.workload.jobs.write_parquet
        writers[f"{name}.toml"] = _text(cluster_text(episode.log.cluster))
    write_folder(folder, writers | {INDEX: _text(to_json_text(index) + "\n")}, {"shunter": __version__, "index": INDEX})
    return index


def _shared(options: EpisodeOptions | PickHostOptions) -> dict[str, Any]:
    """Returns the options that all episodes share: each of PickHost's has its own seed."""
    shared = asdict(options)
    # The seed of the options is replaced by that of each episode, and would only mislead.
    if isinstance(options, PickHostOptions):
        del shared["seed"]
    return shared


def _text(text: str) -> Writer:
    return lambda file: file.write(text.encode())


def cluster_text(cluster: Cluster) -> str:
    """Returns a cluster as a TOML file; reading it gives the same nodes in the same order.

    Raises:
        InputError: A node has a part of a core, which such a file cannot say.
    """
    for node in cluster.nodes:
        # Better an error than a file that describes another cluster.
        if node.cores != int(node.cores):
            raise InputError(f"{cluster.name}: {node.name} has {node.cores:g} cores; a file takes whole numbers")
    return cluster_toml(cluster, in_order=True)
