"""A scene for hostile callers, in which jobs run, wait, hold reservations, or can never run."""

from __future__ import annotations

import os
from collections.abc import Sequence

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from shunter.simulate.native_estimate import CODES as ESTIMATES
from shunter.simulate.native_policy import CODES as POLICIES
from tests.abi import scene
from tests.abi.scene import Config, Scene

HOSTILE = settings(
    deadline=None, max_examples=200, derandomize="CI" in os.environ, suppress_health_check=[HealthCheck.too_slow]
)

JOBS = 5
USERS = 3
"""Two with names, and those without."""
ANY_INT32 = st.integers(-(2**31), 2**31 - 1)
TIMES = st.integers(-3, 20_000) | st.integers(-(2**63), 2**63 - 1)
JOB_NUMBERS = st.integers(0, JOBS) | st.just(2**32 - 1)

PRIOR = (0.9, 0.5, 2.0, 1.0, 3.0, 0.8, 0.1, 3.0, 0.05, 2.0, 0.09)
"""For requests below 2 s, longer ones, and none."""


def open_scene(config: Config | None = None, scores: Sequence[float] = ()) -> Scene:
    """Opens a simulation on two unlike nodes, in which the third job can never run."""
    cluster = scene.open_cluster([2000, 3000], memory_mb=[4096, scene.UNKNOWN], gpus=[1, 2], partition=[0, 1])
    jobs = scene.open_jobs(
        [0, 0, 1000, 2000, 2500],
        [4000, 3000, 10, 0, 1500],
        [1000, 500, 9000, 2000, 1000],
        tasks=[2, 4, 1, 1, 2],
        gpu_milli=[0, 250, 0, 1000, 0],
        partition=[scene.UNKNOWN, scene.UNKNOWN, scene.UNKNOWN, 1, scene.UNKNOWN],
        user=[0, 1, scene.UNKNOWN, 1, 0],
        logged_wait_ms=[0, 5000, scene.UNKNOWN, 0, 100],
    )
    return Scene(cluster, jobs, JOBS, config, scores=scores)


def learning(**changes: int) -> Config:
    """Returns the configuration with the most to remember: fair share, and estimates that are learned."""
    codes = {"policy": POLICIES["fair-share"], "estimate": ESTIMATES["posterior"], "reserve_by_estimate": 1}
    return Config([7.0, 1.0, 2.0, 0.5], PRIOR, **{**codes, **changes})
