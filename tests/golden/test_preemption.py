"""Drawings in which jobs are stopped for others; a core is a resource as good as a GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from tests.golden.seconds import job, pool
from tests.properties.strategies import Scene
from tests.reference.model import Config, RefJob, RefNode, Result
from tests.reference.simulator import simulate

Run = Callable[[Sequence[RefJob], Sequence[RefNode], Config], Result]


def run_core(jobs: Sequence[RefJob], nodes: Sequence[RefNode], config: Config) -> Result:
    """Runs the core by way of the adapter that tells of stops."""
    from tests.properties import gpu_adapter

    return gpu_adapter.run_core(Scene(tuple(nodes), tuple(jobs)), config)[0]


@pytest.fixture(params=["reference", "core"])
def run(request: pytest.FixtureRequest) -> Run:
    """Returns one of the two simulators."""
    return simulate if request.param == "reference" else run_core


def stops_s(result: Result) -> list[tuple[int, float, float]]:
    """Returns job, start and end of the runs that did not end a job, in seconds."""
    return [(stop.job, stop.start_ms / 1000, stop.end_ms / 1000) for stop in result.stops]


def ends_s(result: Result) -> list[float]:
    """Returns the ends in seconds."""
    return [(end_ms or 0) / 1000 for end_ms in result.end_ms]


def test_las_without_levels_takes_turns(run: Run) -> None:
    """Who has had less goes first, and nobody is stopped before 2 seconds have passed.

    At 2 A has had 2 core-seconds, and B none. At 4 both have had 2: A came first. At 6 A has had 4::

        second 0123456789
        core   AABBAABAA.
    """
    config = Config(policy="las", dispatch="greedy", minimum_run_ms=2000)
    result = run([job(0, 6), job(1, 3)], pool(1), config)
    assert stops_s(result) == [(0, 0, 2), (1, 2, 4), (0, 4, 6)]
    assert ends_s(result) == [9, 7]


@pytest.mark.parametrize(
    ("policy", "stops", "ends"),
    [
        ("srtf?outlived=ends", [], [10, 13]),
        ("srtf", [(0, 0, 4)], [13, 7]),
        ("srsf", [(0, 0, 8)], [13, 11]),
    ],
)
def test_an_estimate_that_is_outlived_doubles(
    policy: str, stops: list[tuple[int, float, float]], ends: list[float], run: Run
) -> None:
    """A asked for 2 seconds and takes 10. B, there since 1, takes both cores for 3 seconds.

    At 2, 4 and 8 seconds A is taken for a job of 4, 8 and 16 seconds: 2, 4 and 8 are left. B has 3 seconds left, or 6
    core-seconds, so A stops at 4 under srtf, and at 8 under srsf::

        second                  0123456789012
        core 1, outlived=ends   AAAAAAAAAABBB
        core 1, srtf            AAAABBBAAAAAA
        core 1, srsf            AAAAAAAABBBAA
    """
    jobs = [job(0, 10, requested_s=2), job(1, 3, cores=2)]
    result = run(jobs, pool(2), Config(policy=policy, dispatch="greedy"))
    assert stops_s(result) == stops
    assert ends_s(result) == ends


@pytest.mark.parametrize("cores", [1, 2, 4])
def test_gittins_lets_a_job_go_that_has_run_for_longer_than_most(cores: int, run: Run) -> None:
    """Two bins, up to 4 seconds and up to 40. Nothing is known, so that a job is in each with a chance of 1/2.

    A newcomer: 1/2 end within 4 seconds, of which (1 + 1/2)/2 are spent: 1/2 / 3 = 1/6. (All end within 40 seconds, of
    which 3 + 36/4 = 12 are spent: 1/12 is less.) Who has run for 4 seconds: all end within 36 seconds, of which half
    are spent: 1/18. B needs the whole pool, and is divided by its cores: with 1 or 2, 1/6 or 1/12 is more than A's 1/18
    from second 4 on; with 4, 1/24 is less::

        second          012345678901
        1 or 2 cores    AAAABBAAAAAA
        4 cores, core 1 AAAAAAAAAABB
    """
    policy = "gittins?bins=2&shortest_s=4&growth=10&decay=1&common_decay=1&shrinkage=1"
    result = run([job(0, 10), job(1, 2, cores=cores)], pool(cores), Config(policy=policy, dispatch="greedy"))
    assert stops_s(result) == ([] if cores == 4 else [(0, 0, 4)])
    assert ends_s(result) == ([10, 12] if cores == 4 else [12, 6])


def test_gittins_goes_by_the_users_own_jobs(run: Run) -> None:
    """Ann's jobs took 2 seconds, and Bob's 20; the next one of each comes at 30, and Ann's goes first.

    One core; A and B are what the two have learned from, C is Bob's and D is Ann's::

        second 0         1         2         3         4         5
               01234567890123456789012345678901234567890123456789012345
        core   AABBBBBBBBBBBBBBBBBBBB........DDCCCCCCCCCCCCCCCCCCCC
    """
    by = ["ann", "bob", "bob", "ann"]
    plain = [job(0, 2), job(0, 20), job(30, 20), job(30, 2)]
    jobs = [RefJob(one.submit_ms, one.run_ms, user=user) for one, user in zip(plain, by, strict=True)]
    result = run(jobs, pool(1), Config(policy="gittins?shortest_s=4&growth=3&bins=3", dispatch="greedy"))
    assert stops_s(result) == []
    assert ends_s(result) == [2, 22, 52, 32]


def test_a_restart_costs_what_the_memory_of_a_job_costs(run: Run) -> None:
    """A has 3 GB: its restart takes 1 second, and 1 for each GB.

    It is stopped at 3, and has 7 seconds left::

        second 0         1
               0123456789012345678
        core   AAABBBBB----AAAAAAA
    """
    config = Config(
        policy="srtf",
        estimate="perfect",
        dispatch="greedy",
        preemption_overhead_ms=1000,
        preemption_overhead_per_gb_ms=1000,
    )
    result = run([job(0, 10, memory_mb=3072), job(3, 5, memory_mb=1)], [RefNode(1000, 4096)], config)
    assert stops_s(result) == [(0, 0, 3)]
    assert ends_s(result) == [19, 8]
