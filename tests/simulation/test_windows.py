"""Windows on several threads, and what a seed decides."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl
import pytest

from shunter import Cluster, InputError, Schedule, Workload, read_workload
from shunter.model.cluster import Node
from shunter.model.schedule import Outcome, Phase
from shunter.policies.catalog import DISPATCHES, ESTIMATES, PLACEMENTS, POLICIES
from shunter.policies.scheduler import Scheduler, resolve_scheduler
from shunter.simulation import WindowRunner, simulate

FIRST = [0, 1, 40, 200, 333, 400]
LENGTH = 100


@cache
def workload() -> Workload:
    """Jobs of some users with requests, waits and priorities, so that every policy has something to go by."""
    generated = read_workload("generate:lublin?seed=3&jobs=500&cores=64&load=1.3&requests=factor")
    random = np.random.default_rng(5)
    columns = {
        "user": [f"user{number}" for number in random.zipf(1.5, 500) % 40],
        "queue": random.choice(["high", "low"], 500),
        "priority": random.integers(0, 9, 500),
        "logged_wait_s": random.integers(0, 9000, 500),
    }
    return Workload.from_frame(generated.jobs.with_columns(pl.DataFrame(columns)), name="500")


CLUSTER = Cluster.from_nodes(tuple(Node(f"n{number}", 16.0) for number in range(4)), name="four")


def settings(
    policy: str = "sjf", dispatch: str | None = None, placement: str | None = None, estimate: str = "requested"
) -> Scheduler:
    """Returns settings, with a guard so that every part of the core has something to do."""
    return resolve_scheduler(
        policy=policy, dispatch=dispatch, placement=placement, estimate=estimate, max_wait_s=200_000.0, seed=7
    )


@pytest.mark.parametrize("dispatch", [*DISPATCHES, "3"])
@pytest.mark.parametrize("placement", ["first-fit", "pack", "random"])
def test_windows_equal_runs_of_their_own(dispatch: str, placement: str) -> None:
    check_windows(settings(dispatch=dispatch, placement=placement))


@pytest.mark.parametrize("policy", POLICIES)
def test_windows_equal_runs_of_their_own_by_any_policy(policy: str) -> None:
    check_windows(settings(policy))


@pytest.mark.parametrize("estimate", ESTIMATES)
@pytest.mark.parametrize("policy", ["sjf", "wfp3"])
def test_windows_equal_runs_of_their_own_by_any_estimate(policy: str, estimate: str) -> None:
    check_windows(settings(policy, estimate=estimate))


@pytest.mark.parametrize(
    ("policy", "estimate"),
    [("sjf", "noisy"), ("sjf", "last-two"), ("sjf", "posterior"), ("priority", "requested"), ("random", "requested")],
)
def test_windows_of_a_window_know_the_jobs_before_it(policy: str, estimate: str) -> None:
    chosen = settings(policy, estimate=estimate)
    inner = WindowRunner(workload().window(200, 250), CLUSTER).run(chosen, [0, 33, 150], LENGTH)
    outer = WindowRunner(workload(), CLUSTER).run(chosen, [200, 233, 350], LENGTH)
    for name, expected in vars(outer).items():
        np.testing.assert_array_equal(getattr(inner, name), expected)


def check_windows(chosen: Scheduler) -> None:
    """Asserts that windows run together give what each gives alone: draws and what is known before are the same."""
    windows = WindowRunner(workload(), CLUSTER).run(chosen, FIRST, LENGTH)
    assert windows.start_ms.shape == (len(FIRST), LENGTH)
    for row, first in enumerate(FIRST):
        schedule = simulate(workload().window(first, LENGTH), CLUSTER, chosen)
        ended = schedule.outcome == Outcome.COMPLETED
        np.testing.assert_array_equal(windows.phase[row] == Phase.COMPLETED, ended)
        np.testing.assert_array_equal(windows.start_ms[row][ended], schedule.start_ms[ended])
        np.testing.assert_array_equal(windows.end_ms[row][ended], schedule.end_ms[ended])
        np.testing.assert_array_equal(windows.basis[row], schedule.estimate_basis)


@pytest.mark.parametrize("policy", ["fcfs", "f1", "random"])
@pytest.mark.parametrize("dispatch", [*DISPATCHES, "3"])
def test_threads_do_not_matter(policy: str, dispatch: str) -> None:
    check_threads(settings(policy, dispatch, "random"))


@pytest.mark.parametrize("policy", ["fair-share", "multifactor", "priority", "random-feasible", "linear"])
@pytest.mark.parametrize("estimate", ["noisy", "last-two", "posterior"])
def test_threads_do_not_matter_where_something_is_remembered(policy: str, estimate: str) -> None:
    check_threads(settings(policy, estimate=estimate))


def check_threads(chosen: Scheduler) -> None:
    """Asserts that the results of windows are the same on any number of threads."""
    runner = WindowRunner(workload(), CLUSTER)
    alone = runner.run(chosen, FIRST, LENGTH, threads=1)
    for threads in (2, 4, 100):
        shared = runner.run(chosen, FIRST, LENGTH, threads=threads)
        for name, expected in vars(alone).items():
            np.testing.assert_array_equal(getattr(shared, name), expected)


@pytest.mark.parametrize("threads", [1, 4])
def test_a_window_beyond_the_workload_is_refused(threads: int) -> None:
    runner = WindowRunner(workload(), CLUSTER)
    with pytest.raises(InputError, match="jobs 450 to 550 are not a window of a table of 500 jobs"):
        runner.run(settings(), [0, 450, 10], LENGTH, threads=threads)


def run(policy: str, placement: str | None, seed: int) -> Schedule:
    return simulate(workload(), CLUSTER, policy=policy, placement=placement, seed=seed)


@pytest.mark.parametrize(
    ("policy", "placement"),
    [("random", "first-fit"), ("fcfs", "random"), ("random", "random"), ("random-feasible", "first-fit")],
)
def test_a_seed_decides_what_is_random(policy: str, placement: str) -> None:
    hashes = [run(policy, placement, seed).content_sha256 for seed in (0, 1, 2, 3, 2**64 - 1)]
    assert len(set(hashes)) == len(hashes)
    assert run(policy, placement, 2).content_sha256 == hashes[2]


@pytest.mark.parametrize(
    ("policy", "placement"),
    [*((policy, None) for policy in POLICIES if not policy.startswith("random"))]
    + [("sjf", placement) for placement in PLACEMENTS if placement != "random"],
)
def test_a_seed_does_not_touch_what_is_not(policy: str, placement: str | None) -> None:
    assert run(policy, placement, 1).content_sha256 == run(policy, placement, 2).content_sha256
