"""Drawings in which jobs of several kinds run on several types of GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from shunter.model.schedule import Outcome, RejectReason
from tests.golden.seconds import job
from tests.properties.strategies import Scene
from tests.reference.kinds import RefRow, with_speeds
from tests.reference.model import Config, RefJob, RefNode, Result
from tests.reference.simulator import simulate

NODES = (RefNode(64_000, gpus=2, gpu_type=0), RefNode(64_000, gpus=2, gpu_type=1))
"""V100 and K80."""
TABLE = (
    RefRow("bert", 1, (1_000_000, 250_000)),
    RefRow("bert", 2, (1_000_000, 500_000)),
    RefRow("resnet", 1, (2_000_000, 0)),
    RefRow("odd", 1, (333_333, 1_000_000)),
)


@pytest.fixture(params=["reference", "core"])
def simulator(request: pytest.FixtureRequest) -> str:
    """Returns the name of one of the two simulators."""
    return str(request.param)


def run(simulator: str, jobs: Sequence[RefJob], config: Config) -> Result:
    """Runs the jobs on one V100 node and one K80 node of two GPUs each."""
    scene = Scene(NODES, tuple(with_speeds(one, TABLE) for one in jobs), TABLE)
    if simulator == "reference":
        return simulate(scene.jobs, scene.nodes, config)
    from tests.properties import gpu_adapter

    return gpu_adapter.run_core(scene, config)[0]


def kind(name: str | None, one: RefJob) -> RefJob:
    """Returns a job of a kind."""
    return replace(one, kind=name)


def test_each_kind_has_its_own_speed_on_each_type(simulator: str) -> None:
    """Every job has 8 s of work. D has two GPUs, whose row is faster on K80; B is of no kind, and runs as its nodes do.

    ``fastest`` puts each on its own fastest type that has room. C does not run on K80, so that it waits for V100::

        second      0         1
                    01234567890123456
        V100  GPU 0 AAAAAAAACCCC.....
              GPU 1 BBBBBBBB.........
        K80   GPU 0 .DDDDDDDDDDDDDDDD
              GPU 1 .DDDDDDDDDDDDDDDD
    """
    jobs = [
        kind("bert", job(0, 8, gpus=1)),  # A
        kind(None, job(0, 8, gpus=1)),  # B
        kind("resnet", job(1, 8, gpus=1)),  # C
        kind("bert", job(1, 8, tasks=2, gpus=1)),  # D
    ]
    result = run(simulator, jobs, Config(dispatch="greedy", placement="fastest"))
    assert result.start_ms == [0, 0, 8000, 1000]
    assert result.end_ms == [8000, 8000, 12_000, 17_000]
    assert [result.nodes(place) for place in range(4)] == [((0, 1),), ((0, 1),), ((0, 1),), ((1, 2),)]


def test_a_job_that_moves_to_another_type_goes_on_with_what_is_left(simulator: str) -> None:
    """A node fails under A at 6 s, with 6 s of its 10 s done. On K80 the 4 s left take 4 / 0.25 = 16 s.

    ::

        second      0         1         2
                    0123456789012345678901
        V100  GPU 0 AAAAAAxxxxxxxxxxxxxxxx
        K80   GPU 0 ......AAAAAAAAAAAAAAAA
    """
    config = Config(failures=((6000, 0, False),), failure_keeps_progress=True)
    result = run(simulator, [kind("bert", job(0, 10, gpus=1))], config)
    assert (result.start_ms, result.latest_start_ms, result.end_ms) == ([0], [6000], [22_000])


def test_work_is_rounded_in_whole_milliseconds(simulator: str) -> None:
    """At 0.333333 of full speed, 1 s takes 3,000.003 ms, so 3,001; 500 ms do 166.7 ms of it, so 166.

    The 834 ms that are left then run on K80, at full speed.
    """
    one = kind("odd", job(0, 1, gpus=1))
    assert run(simulator, [one], Config(failures=((0, 1, False),))).end_ms == [3001]
    config = Config(failures=((500, 0, False),), failure_keeps_progress=True, placement="slowest-that-fits")
    assert run(simulator, [one], config).end_ms == [500 + 834]


def test_a_reservation_lasts_as_long_as_the_job_on_the_slowest_type_that_it_runs_on(simulator: str) -> None:
    """C and D hold reservations. C, which has no speed on K80, is planned for 2 s on V100, from 4 on.

    D could have either type: it is planned for the 8 s that its 4 s take on K80, and only there so much is free, from 4
    on. E would end at 5 on V100, in C's time, and waits until 6; F has ended by 4::

        second      0         1
                    012345678901
        V100  GPU 0 AAAACCEEEE..
              GPU 1 .FF.CC......
        K80   GPU 0 BBBBDDDDDDDD
              GPU 1 BBBBDDDDDDDD
    """
    jobs = [
        kind(None, job(0, 4, gpus=1)),  # A
        kind(None, job(0, 4, tasks=2, gpus=1)),  # B
        kind("resnet", job(0, 4, tasks=2, gpus=1)),  # C
        kind("bert", job(0, 4, tasks=2, gpus=1)),  # D
        kind("bert", job(1, 4, gpus=1)),  # E
        kind("resnet", job(1, 4, gpus=1)),  # F
    ]
    result = run(simulator, jobs, Config(dispatch="2"))
    assert result.start_ms == [0, 0, 4000, 4000, 6000, 1000]
    assert result.end_ms == [4000, 4000, 6000, 12_000, 10_000, 3000]
    assert [result.nodes(place)[0][0] for place in range(6)] == [0, 1, 0, 1, 0, 0]


def test_a_kind_that_runs_on_no_type_it_may_use_is_rejected(simulator: str) -> None:
    jobs = [kind("resnet", replace(job(0, 1, gpus=1), gpu_types=0b10)), kind("resnet", job(0, 1, tasks=3, gpus=1))]
    result = run(simulator, jobs, Config())
    assert result.outcome == [Outcome.REJECTED] * 2
    assert result.reject_reason == [RejectReason.NO_SUCH_GPU_TYPE, RejectReason.GPUS]
