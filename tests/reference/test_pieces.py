"""The reference simulator's pieces, checked against published values and by hand."""

from __future__ import annotations

from itertools import islice

import pytest

from shunter.model.schedule import RejectReason
from tests.reference.model import Config, End, Preempt, RefJob, RefNode, Reject, Share, Start
from tests.reference.randomness import random_score, shuffled, splitmix64
from tests.reference.resources import capacity, empty, lowest, reject_reason, without
from tests.reference.simulator import simulate


def test_splitmix64_gives_its_published_outputs() -> None:
    assert list(islice(splitmix64(1234567), 5)) == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


def test_random_choices_depend_on_seed_and_job_alone() -> None:
    numbers = list(range(20))
    assert sorted(shuffled(numbers, seed=1, job=2)) == numbers
    assert shuffled(numbers, seed=1, job=2) == shuffled(numbers, seed=1, job=2)
    assert shuffled(numbers, seed=1, job=2) != shuffled(numbers, seed=1, job=3)
    assert shuffled(numbers, seed=1, job=2) != shuffled(numbers, seed=2, job=2)
    assert len({random_score(1, job) for job in range(100)}) == 100
    assert random_score(1, 2) != random_score(2, 2)


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        (RefJob(0, 1, cores_milli=1500), 5),
        (RefJob(0, 1, cores_milli=1000, memory_mb=30), 3),
        (RefJob(0, 1, cores_milli=0, memory_mb=0, gpu_milli=400), 4),
        (RefJob(0, 1, cores_milli=1000, gpu_milli=1000), 2),
        (RefJob(0, 1, cores_milli=1000, gpu_milli=2000), 1),
        (RefJob(0, 1, cores_milli=1000, gpu_milli=3000), 0),
    ],
)
def test_capacity_is_the_smallest_of_the_resources(job: RefJob, expected: int) -> None:
    (node,) = empty([RefNode(8000, memory_mb=100, gpus=2)])
    assert capacity(job, node) == expected


def test_where_more_is_promised_than_there_is_nothing_is_free() -> None:
    job = RefJob(0, 1, cores_milli=3000, memory_mb=5, gpu_milli=600)
    promised = without(empty([RefNode(4000, memory_mb=9, gpus=2)]), job, (Share(0, 2, (1200, 0)),))
    assert promised[0].cores_milli == -2000
    (free,) = lowest([promised])
    assert (free.cores_milli, free.memory_mb, free.devices) == (0, 0, (0, 1000))


def test_what_is_free_throughout_is_the_least_of_each_resource() -> None:
    full = empty([RefNode(4000, memory_mb=9, gpus=2)])
    first = without(full, RefJob(0, 1, cores_milli=3000, gpu_milli=500), (Share(0, 1, (500, 0)),))
    second = without(full, RefJob(0, 1, cores_milli=1000, memory_mb=5, gpu_milli=1000), (Share(0, 1, (0, 1000)),))
    (both,) = lowest([first, second])
    assert (both.cores_milli, both.memory_mb, both.devices) == (1000, 4, (500, 0))


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        (RefJob(0, 1, partition="nowhere"), RejectReason.NO_SUCH_PARTITION),
        (RefJob(0, 1, tasks=9, memory_mb=999), RejectReason.CORES),
        (RefJob(0, 1, tasks=5, partition="left"), RejectReason.CORES),
        (RefJob(0, 1, tasks=5, memory_mb=10, gpu_milli=3000), RejectReason.MEMORY),
        (RefJob(0, 1, tasks=4, gpu_milli=1000), RejectReason.GPUS),
        (RefJob(0, 1, cores_milli=3000, memory_mb=8, gpu_milli=1000), RejectReason.COMBINATION),
        (RefJob(0, 1, tasks=8), RejectReason.NONE),
    ],
)
def test_reject_reasons(job: RefJob, expected: RejectReason) -> None:
    nodes = [RefNode(4000, memory_mb=9, partition="left"), RefNode(4000, memory_mb=7, gpus=2)]
    assert reject_reason(job, nodes) is expected


def test_events_come_in_order() -> None:
    jobs = [RefJob(0, 5), RefJob(0, 5), RefJob(5, 1, tasks=3), RefJob(5, 1)]
    result = simulate(jobs, [RefNode(2000)], Config(dispatch="strict"))
    kinds = [(type(event), event.time_ms, event.job) for event in result.events]
    assert kinds == [(Start, 0, 0), (Start, 0, 1), (End, 5, 0), (End, 5, 1), (Reject, 5, 2), (Start, 5, 3), (End, 6, 3)]


@pytest.mark.parametrize(("keep_progress", "end_ms"), [(True, 23), (False, 27)])
def test_a_preempted_job_waits_again(keep_progress: bool, end_ms: int) -> None:
    """Stopped at 4 of 10 ms, job 0 starts again at 14, after job 1, and pays 3 ms before it goes on."""
    config = Config(
        policy=lambda place, job, now_ms: -place,
        dispatch="strict",
        preempt=((4, 0),),
        keep_progress=keep_progress,
        preemption_overhead_ms=3,
    )
    result = simulate([RefJob(0, 10), RefJob(4, 10)], [RefNode(1000)], config)
    kinds = [(type(event), event.time_ms, event.job) for event in result.events]
    assert kinds == [(Start, 0, 0), (Preempt, 4, 0), (Start, 4, 1), (End, 14, 1), (Start, 14, 0), (End, end_ms, 0)]
    assert result.start_ms == [0, 4]
