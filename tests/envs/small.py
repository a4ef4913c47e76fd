"""Environments small enough for a test, and random play in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shunter.envs import EpisodeOptions, NativeVectorEnv, PickJobOptions, RewardOptions, pick_job_vector
from shunter.envs.log_source import episode_windows
from shunter.envs.vector import StepArrays
from shunter.model.cluster import Cluster, Node
from shunter.model.log import Log
from shunter.model.workload import Workload

MODES = ("reserve", "feasible", "committed", "committed-backfill")
ALL = EpisodeOptions(part=(0.0, 1.0), length=12, warmup=3)
"""Every window of 12 jobs, the 3 before them being simulated too."""


def crowded_log(seed: int = 0, jobs: int = 40, hosts: int = 2) -> Log:
    """Returns jobs that have to wait on a few nodes with memory and GPUs; some of what a log may not say is unknown."""
    random = np.random.default_rng(seed)
    known = random.random(jobs) < 0.7
    frame = pl.DataFrame(
        {
            "submit_s": np.cumsum(random.integers(0, 40, jobs)) + 1000.5,
            "run_s": random.choice([0.0, 0.4, 3.0, 30.0, 90.0, 400.0], jobs),
            "requested_s": [
                float(value) if k else None for value, k in zip(random.integers(1, 500, jobs), known, strict=True)
            ],
            "tasks": random.integers(1, 3, jobs),
            "cores_per_task": random.integers(1, 4, jobs),
            "memory_mb_per_task": [
                float(v) if k else None for v, k in zip(random.integers(1, 60, jobs), known, strict=True)
            ],
            "gpus_per_task": random.choice([0.0, 0.0, 0.5, 1.0], jobs),
            "user": random.choice(["ada", "ben", "cem"], jobs),
            "priority": [float(v) if k else None for v, k in zip(random.integers(-5, 20, jobs), known, strict=True)],
        }
    )
    nodes = tuple(Node(f"n{place}", 4.0 + place, 100, gpus=2) for place in range(hosts))
    return Log(Workload.from_frame(frame, name="crowd"), Cluster.from_nodes(nodes, "few"))


def vector_of(
    log: Log | None = None,
    *,
    options: PickJobOptions | None = None,
    reward: RewardOptions | None = None,
    episodes: EpisodeOptions = ALL,
    num_envs: int = 1,
    **keywords: Any,  # noqa: ANN401 - passed on as they came
) -> NativeVectorEnv:
    """Returns environments on the windows of a log; by default one on the crowded log, that stops when it is done."""
    log = log or crowded_log()
    return pick_job_vector(
        [log],
        [episode_windows(log, episodes)],
        options or PickJobOptions(window=6, lookahead_size=4),
        reward or RewardOptions(),
        num_envs=num_envs,
        **{"autoreset": False, **keywords},
    )


def allowed_action(masks: NDArray[np.bool_], random: np.random.Generator) -> NDArray[np.int32]:
    """Returns an action for each row, drawn from those that are allowed."""
    assert masks.any(axis=1).all()
    return np.asarray((random.random(masks.shape) * masks).argmax(axis=1), dtype=np.int32)


def play(vector: NativeVectorEnv, episode: int, seed: int = 0, limit: int = 5000) -> tuple[StepArrays, list[float]]:
    """Plays an episode of a vector of one with random allowed actions; returns the last step and all rewards."""
    random = np.random.default_rng(seed)
    arrays = vector.step_arrays()
    vector.reset_into(arrays.observations, arrays.masks, np.array([episode]))
    rewards: list[float] = []
    for _ in range(limit):
        vector.step_into(allowed_action(arrays.masks, random), arrays)
        rewards.append(float(arrays.rewards[0]))
        if arrays.terminated[0] or arrays.truncated[0]:
            return arrays, rewards
    raise AssertionError("the episode does not end")
