"""Groups of jobs on two nodes, so small that brute force knows the best, in the native environments."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from shunter.agents.algorithms import PpoOptions
from shunter.envs.pick_host import PickHostOptions, pick_host_vector
from shunter.envs.rewards import TOTALS, RewardOptions
from shunter.model.cluster import Cluster, Node
from shunter.model.log import Log
from shunter.model.windows import Windows
from shunter.model.workload import Workload
from tests.agents import toy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.agents.learned_policy import LearnedPolicy
    from shunter.envs.vector import NativeVectorEnv

OPTIONS = PpoOptions(num_envs=64, rollout_steps=16, minibatch=256, learning_rate=3e-3, gamma=1.0, lr_schedule="linear")

Decide = Callable[["NDArray[np.float32]", "NDArray[np.bool_]"], "NDArray[np.int32]"]


def groups(episodes: int, seed: int) -> tuple[Log, Windows, NDArray[np.float64]]:
    """Returns groups of jobs that arrive together, on two nodes of one core; a window for each; their run times."""
    run_s = np.random.default_rng(seed).choice(toy.RUN_S, (episodes, toy.JOBS)).astype(np.float64)
    submit_s = np.repeat(np.arange(episodes) * 1000.0, toy.JOBS)
    jobs = pl.DataFrame({"submit_s": submit_s, "run_s": run_s.ravel(), "cores_per_task": 1.0})
    cluster = Cluster.from_nodes((Node("a", 1.0), Node("b", 1.0)), "two nodes")
    first = (np.arange(episodes) * toy.JOBS).astype(np.uintp)
    windows = Windows(first, np.zeros(episodes, np.int64), length=toy.JOBS, warmup=0)
    return Log(Workload.from_frame(jobs, name="groups"), cluster), windows, run_s


def totals(vector: NativeVectorEnv, episodes: NDArray[np.int64], decide: Decide, total: str) -> NDArray[np.float64]:
    """Returns a total of one episode in each environment."""
    arrays = vector.step_arrays()
    vector.reset_into(arrays.observations, arrays.masks, episodes)
    found = np.full(vector.num_envs, np.nan)
    while np.isnan(found).any():
        vector.step_into(decide(arrays.observations, arrays.masks), arrays)
        ended = np.isnan(found) & (arrays.terminated | arrays.truncated)
        found[ended] = arrays.totals[ended, TOTALS.index(total)]
    return found


def closed_host_gap(train: Callable[[NativeVectorEnv], LearnedPolicy]) -> float:
    """Returns which part of the way from chance to the optimum a policy goes that chooses one of two hosts."""
    hosts = {"num_hosts": 2, "host_cores": (12, 12), "episode_length": 1, "max_jobs_per_step": 6, "job_run_s": (60, 60)}
    reward = RewardOptions(reward="balance")

    def vector(seed: int, num_envs: int, episodes: int) -> NativeVectorEnv:
        options = PickHostOptions(**hosts, job_cores=(2, 2), seed=seed)  # type: ignore[arg-type]
        return pick_host_vector(options, reward, num_envs=num_envs, seed=seed, episodes=episodes)

    policy = train(vector(1, 64, 200))
    plans = np.array(list(product((0, 1), repeat=6)), np.int32)
    unseen = vector(2, len(plans), 20)
    reached, optimum, chance = [], [], []
    for episode in np.arange(20):
        places = np.full(len(plans), episode)
        steps = iter(plans.T)
        outcomes = totals(unseen, places, lambda *_, steps=steps: np.ascontiguousarray(next(steps)), "balance")
        optimum.append(outcomes.min())
        chance.append(outcomes.mean())
        reached.append(totals(unseen, places, policy.actions, "balance")[0])
    return float((np.mean(chance) - np.mean(reached)) / (np.mean(chance) - np.mean(optimum)))
