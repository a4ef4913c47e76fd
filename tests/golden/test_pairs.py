"""Drawings in which a job refuses a type of GPU that is free, and waits for another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.golden.seconds import job
from tests.properties.strategies import Scene
from tests.reference.kinds import RefRow, with_speeds
from tests.reference.model import Config, RefJob, RefNode, Result
from tests.reference.simulator import simulate

TWO = (RefNode(64_000, gpus=1, gpu_type=0), RefNode(64_000, gpus=1, gpu_type=1))
KINDS = (RefRow("broad", 1, (1_000_000, 500_000)), RefRow("narrow", 1, (1_000_000, 100_000)))
"""A broad job takes twice as long on the second type, a narrow one ten times."""
PRICED = Config(pairs="price", prices=(3.0, 1.0))
"""A broad job costs 3 on the first type and 2 on the second, a narrow one 3 and 10."""


@pytest.fixture(params=["reference", "core"])
def simulator(request: pytest.FixtureRequest) -> str:
    """Returns the name of one of the two simulators."""
    return str(request.param)


def run(simulator: str, jobs: Sequence[RefJob], config: Config) -> Result:
    """Runs the jobs on one GPU of each type."""
    if simulator == "reference":
        return simulate(jobs, TWO, config)
    from tests.properties import gpu_adapter

    return gpu_adapter.run_core(Scene(TWO, tuple(jobs), KINDS), config)[0]


def of_kind(kind: str, submit_s: float, run_s: float) -> RefJob:
    """Returns a job of one GPU."""
    return with_speeds(replace(job(submit_s, run_s, gpus=1), kind=kind), KINDS)


@pytest.mark.parametrize("dispatch", ["greedy", "easy", "conservative"])
def test_a_job_refuses_a_type_that_costs_it_too_much(simulator: str, dispatch: str) -> None:
    """B refuses the first type, 1.5 times as dear to it as the second. C, which comes later, takes it.

    ::

        second   0         1
                 0123456789012345
        first    .CCC............
        second   AAAAAAAABBBBBBBB
    """
    jobs = [of_kind("broad", 0, 4), of_kind("broad", 0, 4), of_kind("narrow", 1, 3)]
    result = run(simulator, jobs, replace(PRICED, dispatch=dispatch))
    assert result.start_ms == [0, 8000, 1000]
    assert result.end_ms == [8000, 16_000, 4000]


def test_with_a_larger_factor_it_takes_it(simulator: str) -> None:
    jobs = [of_kind("broad", 0, 4), of_kind("broad", 0, 4)]
    for factor, starts_ms in ((1.49, [0, 8000]), (1.5, [0, 0])):
        result = run(simulator, jobs, replace(PRICED, placement="slowest-that-fits", price_factor=factor))
        assert result.start_ms == starts_ms


@pytest.mark.parametrize("policy", ["las", "srtf"])
def test_a_job_that_is_stopped_keeps_to_its_types(simulator: str, policy: str) -> None:
    """B stops A on the second type, though the first is free: both refuse that.

    ::

        second   0         1
                 01234567890
        first    ...........
        second   AABBAAAAAA.
    """
    jobs = [of_kind("broad", 0, 4), of_kind("broad", 2, 1)]
    result = run(simulator, jobs, replace(PRICED, policy=policy, dispatch="greedy"))
    assert result.start_ms == [0, 2000]
    assert result.end_ms == [10_000, 4000]


@pytest.mark.parametrize("dispatch", ["greedy", "easy"])
def test_a_job_waits_for_the_type_on_which_it_ends_first(simulator: str, dispatch: str) -> None:
    """B would end at 12 on the second type, and ends at 10 on the first. C ends earlier on the second, and so does D.

    When D comes, the first type is to be free at 4; but then B has it::

        second   0         1
                 0123456789012
        first    AAAABBBBBB...
        second   CCCCCCDDDDDD.
    """
    jobs = [of_kind("broad", 0, 4), of_kind("broad", 0, 6), of_kind("broad", 0, 3), of_kind("broad", 1, 3)]
    result = run(simulator, jobs, Config(dispatch=dispatch, pairs="eft"))
    assert result.start_ms == [0, 4000, 0, 6000]
    assert result.end_ms == [4000, 10_000, 6000, 12_000]


@pytest.mark.parametrize("dispatch", ["greedy", "easy"])
def test_a_score_refuses_types_unless_nothing_runs(simulator: str, dispatch: str) -> None:
    """On the empty cluster nothing is refused: B, which ends first, takes the first type, and A the second.

    C refuses the first type from 2 on, and waits. D takes it::

        second   0
                 0123456789
        first    BB.DDDDDD.
        second   AAAAAAAACC
    """
    jobs = [of_kind("broad", 0, 4), of_kind("broad", 0, 2), of_kind("broad", 1, 1), of_kind("narrow", 3, 6)]
    result = run(simulator, jobs, replace(PRICED, policy="pairs", dispatch=dispatch))
    assert result.start_ms == [0, 0, 8000, 3000]
    assert result.end_ms == [8000, 2000, 10_000, 9000]
