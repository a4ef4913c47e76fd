"""Observations as networks meet them: played on generated workloads, with short queues and long ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from shunter import Cluster, read_workload
from shunter.envs import (
    EpisodeOptions,
    JobView,
    NativeVectorEnv,
    PickHostOptions,
    PickJobOptions,
    RewardOptions,
    pick_host_vector,
    register_feature,
)
from shunter.envs import features as features_module
from shunter.envs.layout import Layout
from shunter.model.log import Log
from tests.envs.small import allowed_action, crowded_log, vector_of

JOB_SOURCES = ("long-queues", "few-nodes", "own-features", "blind", "without-slots")
HOST_SOURCES = ("twenty-hosts", "seven-hosts", "fifty-hosts")
OBSERVATIONS = 10_000
"""Of jobs, and as many of hosts."""
ENVS = 50


@dataclass(frozen=True, eq=False)
class Observations:
    """What was seen, in a random order."""

    layout: Layout
    observations: NDArray[np.float32]
    masks: NDArray[np.bool_]

    def first(self, count: int) -> Observations:
        """Returns some of them: since they are in a random order, of every length."""
        return Observations(self.layout, self.observations[:count], self.masks[:count])

    def of_choices(self) -> Observations:
        """Returns those with more than one action."""
        several = self.masks.sum(axis=1) > 1
        return Observations(self.layout, self.observations[several], self.masks[several])

    @property
    def filled(self) -> NDArray[np.int64]:
        """How many jobs each window shows."""
        return np.asarray((self.layout.split(self.observations)["jobs"][..., 0] > 0).sum(axis=1), dtype=np.int64)


@cache
def played(source: str) -> Observations:
    """Returns one source's part of 10,000 observations."""
    sources = JOB_SOURCES if source in JOB_SOURCES else HOST_SOURCES
    count = -(-OBSERVATIONS // len(sources))
    if source in HOST_SOURCES:
        hosts = {"twenty-hosts": 20, "seven-hosts": 7, "fifty-hosts": 50}[source]
        drawn = PickHostOptions(num_hosts=hosts, episode_length=20 + hosts, max_jobs_per_step=1 + hosts // 2)
        return _play(pick_host_vector(drawn, RewardOptions(), num_envs=ENVS, seed=1), count)
    if source == "own-features":
        with _own_features():
            return _play(_own(), count)
    if source == "without-slots":
        return _without_slots(_play(_on_a_pool("committed", "cdf", 3, 12, 1.1), count))
    if source == "few-nodes":
        options = PickJobOptions(window=10, lookahead="sorted", lookahead_size=5, mode="feasible")
        log = crowded_log(3, jobs=400)
        return _play(vector_of(log, options=options, num_envs=ENVS, autoreset=True, seed=1), count)
    if source == "blind":
        return _play(_on_a_pool("committed-backfill", "off", 1, 33, 1.3), count)
    return _play(_on_a_pool("reserve", "cdf", 16, 128, 8.0), count)


@cache
def played_with(history: int, stops: int) -> Observations:
    """Returns observations that tell of the recent past, and of running jobs that may be stopped."""
    shown = {"history": history, "stops": stops, "history_interval_s": 60.0}
    options = PickJobOptions(window=10, lookahead_size=5, **shown)  # type: ignore[arg-type]
    log = crowded_log(3, jobs=400, hosts=4)
    return _play(vector_of(log, options=options, num_envs=ENVS, autoreset=True, seed=1), 500)


def _on_a_pool(mode: str, lookahead: str, size: int, window: int, load: float) -> NativeVectorEnv:
    workload = read_workload(f"generate:lublin?seed=3&jobs=1500&cores=64&load={load}&requests=factor")
    log = Log(workload, Cluster.pool(64))
    options = PickJobOptions(mode=mode, order="sjf", window=window, lookahead=lookahead, lookahead_size=size)
    episodes = EpisodeOptions(part=(0.0, 1.0), length=400)
    return vector_of(log, options=options, episodes=episodes, num_envs=ENVS, autoreset=True, seed=1)


@contextmanager
def _own_features() -> Iterator[None]:
    """Registers features, and forgets them again: no other test may see them."""
    before = dict(features_module._OWN)

    @register_feature("net_waited")
    def waited(view: JobView) -> NDArray[np.float64]:
        return np.asarray(view.wait_s / (view.wait_s + 60))

    @register_feature("net_user")
    def user(view: JobView) -> NDArray[np.float64]:
        return np.asarray((view.user % 3) / 2.0)

    try:
        yield
    finally:
        features_module._OWN.clear()
        features_module._OWN.update(before)


def _own() -> NativeVectorEnv:
    options = PickJobOptions(
        window=16, lookahead="per_gpu", lookahead_size=6, order="saf", features=("net_waited", "net_user")
    )
    episodes = EpisodeOptions(part=(0.0, 1.0), length=60, warmup=3)
    log = crowded_log(5, jobs=300)
    return vector_of(log, options=options, episodes=episodes, num_envs=ENVS, autoreset=True, seed=1)


def _without_slots(seen: Observations) -> Observations:
    """Returns the same without the look-ahead, as a layout may have it."""
    parts = seen.layout.split(seen.observations)
    rows = parts["jobs"].reshape(len(seen.masks), -1)
    layout = replace(seen.layout, lookahead_size=0)
    return Observations(layout, np.concatenate([parts["cluster"], rows], axis=1), seen.masks)


def _play(vector: NativeVectorEnv, count: int) -> Observations:
    """Plays with random actions, *wait* rarely among them; keeps some of what is seen."""
    random, arrays = np.random.default_rng(7), vector.step_arrays()
    vector.reset_into(arrays.observations, arrays.masks)
    observations, masks = [], []
    # Several times as many steps as are kept: neighbours are much alike.
    for step in range(4 * -(-count // vector.num_envs)):
        if step % 4 == 3:
            observations.append(arrays.observations.copy())
            masks.append(arrays.masks.copy())
        vector.step_into(allowed_action(arrays.masks, random), arrays)
    order = random.permutation(len(masks) * vector.num_envs)
    return Observations(vector.layout, np.concatenate(observations)[order], np.concatenate(masks)[order])
