"""Terminated when every job has started; truncated when steps or time run out; and never both."""

from __future__ import annotations

import numpy as np
import pytest

from shunter.envs import (
    EpisodeOptions,
    PickHostOptions,
    PickJobOptions,
    RewardOptions,
    pick_host_vector,
    pick_job_vector,
)
from shunter.envs.log_source import episode_windows
from shunter.envs.rewards import TOTALS
from shunter.errors import InputError
from shunter.model.cluster import Cluster
from shunter.model.log import Log
from shunter.model.windows import Windows
from tests.envs.small import ALL, crowded_log, play, vector_of

LOG = crowded_log(5)


def test_by_default_episodes_terminate() -> None:
    arrays, rewards = play(vector_of(LOG), 0)
    assert (arrays.terminated[0], arrays.truncated[0]) == (True, False)
    assert len(rewards) >= ALL.length


def test_max_steps_truncates() -> None:
    arrays, rewards = play(vector_of(LOG, max_steps=4), 0)
    assert (arrays.terminated[0], arrays.truncated[0], len(rewards)) == (False, True, 4)
    totals = dict(zip(TOTALS, arrays.totals[0].tolist(), strict=True))
    assert totals["steps"] == 4
    assert totals["started_jobs"] < totals["measured_jobs"]


def test_max_steps_that_suffice_change_nothing() -> None:
    _, rewards = play(vector_of(LOG), 0)
    arrays, same = play(vector_of(LOG, max_steps=len(rewards)), 0)
    assert same == rewards
    assert (arrays.terminated[0], arrays.truncated[0]) == (True, False)


def test_the_horizon_truncates() -> None:
    factor = 0.5
    jobs = LOG.workload.jobs
    first = int(episode_windows(LOG, ALL).simulated_first[6])
    window = jobs.slice(first, ALL.length + ALL.warmup)
    span_s = window["submit_s"][-1] - window["submit_s"][0]
    tasks, run_s = window["tasks"].to_numpy(), window["run_s"].to_numpy()
    core_s = (tasks * window["cores_per_task"].to_numpy() * run_s).sum() / LOG.cluster.total_cores
    gpu_s = (tasks * window["gpus_per_task"].to_numpy() * run_s).sum() / LOG.cluster.total_gpus
    horizon_s = factor * (span_s + max(core_s, gpu_s))
    vector = vector_of(LOG, horizon_factor=factor)
    arrays, _ = play(vector, 6)
    assert (arrays.terminated[0], arrays.truncated[0]) == (False, True)
    assert arrays.totals[0, TOTALS.index("elapsed_s")] > horizon_s
    assert vector.world.episodes["horizon_ms"][6] == pytest.approx(1000 * horizon_s, abs=1)


def test_a_far_horizon_changes_nothing() -> None:
    arrays, rewards = play(vector_of(LOG, horizon_factor=1e300), 6)
    assert arrays.terminated[0]
    assert rewards == play(vector_of(LOG), 6)[1]


def test_hosts_have_the_same_endings() -> None:
    options, reward = PickHostOptions(num_hosts=2, episode_length=9), RewardOptions("balance")
    endings = []
    for keywords in ({}, {"max_steps": 5}, {"horizon_factor": 0.1}):
        vector = pick_host_vector(options, reward, num_envs=1, episodes=2, autoreset=False, **keywords)
        arrays, _ = play(vector, 1)
        endings.append((bool(arrays.terminated[0]), bool(arrays.truncated[0])))
    assert endings == [(True, False), (False, True), (False, True)]


def test_windows_in_which_nobody_fits_are_left_out() -> None:
    tiny = Log(LOG.workload, Cluster.pool(1))
    fitting = (LOG.workload.jobs["tasks"] * LOG.workload.jobs["cores_per_task"] <= 1) & (
        LOG.workload.jobs["gpus_per_task"] == 0
    )
    options = EpisodeOptions(part=(0, 1), length=2)
    windows = episode_windows(tiny, options)
    assert len(windows) < len(options.windows_of(tiny))
    assert all(fitting.slice(int(first), 2).any() for first in windows.first)
    assert play(vector_of(tiny, episodes=options), 0)[0].terminated[0]


def test_a_window_in_which_nobody_fits_is_an_error_where_it_is_asked_for() -> None:
    log = Log(LOG.workload.window(0, 3), Cluster.pool(1))
    nobody = Windows(np.array([0], dtype=np.uintp), np.zeros(1, dtype=np.int64), length=3, warmup=0)
    with pytest.raises(InputError, match=r"crowd\[0:3\]: none of the 3 jobs from job 0 on can ever fit on 1; check"):
        pick_job_vector([log], [nobody], PickJobOptions(), RewardOptions(), num_envs=1)
    with pytest.raises(InputError, match=r"crowd\[0:3\]: no job of any window can ever fit on 1; check cluster"):
        vector_of(log, episodes=EpisodeOptions(part=(0, 1), length=3))
