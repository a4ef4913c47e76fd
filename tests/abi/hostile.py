"""A scene for hostile callers, in which jobs run, wait, hold reservations, or can never run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import strategies as st

from shunter.policies.catalog import ESTIMATE_CODES as ESTIMATES
from shunter.policies.catalog import GIVEN, KNOWN_POLICIES
from tests.abi import opening
from tests.abi.opening import Config
from tests.abi.scene import Scene
from tests.support import examples

HOSTILE = examples(200)
POLICIES = {name: known.code for name, known in KNOWN_POLICIES.items() if known.code != GIVEN}
"""The core's numbers for policies, without the one that brings its own scores."""

JOBS = 5
USERS = 3
"""Two with names, and those without."""
ANY_INT32 = st.integers(-(2**31), 2**31 - 1)
TIMES = st.integers(-3, 20_000) | st.integers(-(2**63), 2**63 - 1)
JOB_NUMBERS = st.integers(0, JOBS) | st.just(2**32 - 1)

PRIOR = (0.9, 0.5, 2.0, 1.0, 3.0, 0.8, 0.1, 3.0, 0.05, 2.0, 0.09)
"""For requests below 2 s, longer ones, and none."""


def open_scene(config: Config | None = None, scores: Sequence[float] = ()) -> Scene:
    """Opens a simulation on two unlike nodes, of which one is slow, in which the third job can never run."""
    cluster = opening.open_cluster(
        [2000, 3000],
        memory_mb=[4096, opening.UNKNOWN],
        gpus=[1, 2],
        partition=[0, 1],
        gpu_type=[0, 1],
        speed_milli=[1000, 400],
        rack=[0, 0],
        switch=[opening.UNKNOWN, 0],
    )
    jobs = opening.open_jobs(
        [0, 0, 1000, 2000, 2500],
        [4000, 3000, 10, 0, 1500],
        [1000, 500, 9000, 2000, 1000],
        tasks=[2, 4, 1, 1, 2],
        gpu_milli=[0, 250, 0, 1000, 0],
        partition=[opening.UNKNOWN, opening.UNKNOWN, opening.UNKNOWN, 1, opening.UNKNOWN],
        user=[0, 1, opening.UNKNOWN, 1, 0],
        logged_wait_ms=[0, 5000, opening.UNKNOWN, 0, 100],
        gpu_types=[0, 0b11, 0, 0b10, 0],
    )
    return Scene(cluster, jobs, JOBS, config, scores=scores)


NODE_EVENTS = ((700, 1, 0), (1200, 0, 0), (1900, 1, 1), (2000, 0, 1))
"""Both nodes go down and come up again."""


def failing(**changes: int) -> Config:
    """Returns a configuration in which nodes go down at given and at drawn times."""
    return Config((), (), NODE_EVENTS, **{"mtbf_ms": 1500, "mttr_ms": 300, "preemption_overhead_ms": 20, **changes})


def remaining(**changes: int) -> Config:
    """Returns shortest remaining time first, by estimates from history, with nodes that go down at drawn times."""
    codes = {"policy": POLICIES["srtf"], "estimate": ESTIMATES["history"], "reservation_depth": 0}
    return Config(**{**codes, "minimum_run_ms": 150, "mtbf_ms": 4000, "mttr_ms": 100, **changes})


def attained(**changes: int) -> Config:
    """Returns least attained service first, with progress that is lost."""
    codes = {"policy": POLICIES["las"], "reservation_depth": 0, "keep_progress": 0}
    return Config([0.1, 0.5, 2.0], **{**codes, "minimum_run_ms": 10, "preemption_overhead_ms": 5, **changes})


PLACES = opening.open_policy("pick-host")


def placing(**changes: int) -> Config:
    """Returns a configuration in which a policy that chooses hosts places the jobs."""
    return Config(placement=opening.LEARNED, host_policy=PLACES.number, **changes)


def learning(**changes: int) -> Config:
    """Returns the configuration with the most to remember: fair share, and estimates that are learned."""
    codes = {"policy": POLICIES["fair-share"], "estimate": ESTIMATES["posterior"], "reserve_by_estimate": 1}
    return Config([7.0, 1.0, 2.0, 0.5], PRIOR, **{**codes, **changes})


KINDS: dict[str, Callable[..., Config]] = {
    "plain": Config,
    "learning": learning,
    "placing": placing,
    "failing": failing,
    "remaining": remaining,
    "attained": attained,
}
"""Configurations by what a state has to remember."""
