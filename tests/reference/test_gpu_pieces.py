"""GPU clusters in the reference simulator: each rule on an example that is worked out by hand."""

from __future__ import annotations

import pytest

from shunter.model.schedule import RejectReason
from tests.reference.asking import TasksOn
from tests.reference.gpu_examples import NOWHERE, A, B, gang, gpu_node, placed, tasks_on
from tests.reference.model import Config, RefJob, RefNode
from tests.reference.resources import reject_reason
from tests.reference.simulator import simulate
from tests.reference.speeds import done_ms, lasts_ms


def test_work_is_rounded_up_and_progress_down() -> None:
    """10 ms of work take 10·1000/1500 = 6.67, so 7 ms; in 7 ms, 10.5 ms are done, of which 10 count."""
    assert lasts_ms(10, 1_500_000) == 7
    assert done_ms(7, 1_500_000) == 10
    assert lasts_ms(0, 1_500_000) == 0
    assert lasts_ms(1, 1_000_000_000) == 1
    assert lasts_ms(10, 400_000) == 25
    assert done_ms(24, 400_000) == 9


@pytest.mark.parametrize(("gpu_milli", "end_ms"), [(1000, 25), (500, 25), (0, 10)])
def test_a_gang_is_as_slow_as_its_slowest_node(gpu_milli: int, end_ms: int) -> None:
    """Four tasks lie on both nodes of one type; a job without GPUs takes no notice of their speeds."""
    nodes = [RefNode(2000, gpus=2, gpu_type=A, speed_milli=2000), RefNode(2000, gpus=2, gpu_type=A, speed_milli=400)]
    result = simulate([RefJob(0, 10, tasks=4, gpu_milli=gpu_milli)], nodes, Config())
    assert result.end_ms == [end_ms]


def test_a_job_gets_one_type_unless_types_may_be_mixed() -> None:
    """Three GPUs: two of A and one of B would do, but only the three of C are of one type."""
    nodes = [gpu_node(2, A), gpu_node(1, B), gpu_node(3, 2)]
    assert tasks_on(placed("first-fit", gang(3), nodes)) == {2: 3}
    assert tasks_on(placed("first-fit", gang(3), nodes, mix=True)) == {0: 2, 1: 1}
    assert tasks_on(placed("first-fit", RefJob(0, 1, tasks=100), nodes)) == {0: 64, 1: 36}
    assert placed("first-fit", gang(4), nodes) is None
    assert reject_reason(gang(4), nodes) is RejectReason.GPUS
    assert reject_reason(gang(4), nodes, mix=True) is RejectReason.NONE


@pytest.mark.parametrize(
    ("gpu_types", "partition", "expected"),
    [
        (1 << A, None, {0: 1}),
        (1 << B, None, {1: 1}),
        (1 << A | 1 << B, "right", {1: 1}),
        (0, "right", {1: 1}),
        (1 << A, "right", RejectReason.NO_SUCH_GPU_TYPE),
        (NOWHERE, None, RejectReason.NO_SUCH_GPU_TYPE),
        (NOWHERE, "nowhere", RejectReason.NO_SUCH_PARTITION),
    ],
)
def test_a_job_gets_the_types_that_it_accepts(
    gpu_types: int, partition: str | None, expected: TasksOn | RejectReason
) -> None:
    nodes = [gpu_node(1, A, partition="left"), gpu_node(1, B, partition="right"), gpu_node(1, None, partition="right")]
    job = RefJob(0, 1, gpu_milli=1000, gpu_types=gpu_types, partition=partition)
    if isinstance(expected, RejectReason):
        assert reject_reason(job, nodes) is expected
    else:
        assert tasks_on(placed("first-fit", job, nodes)) == expected


def test_cores_alone_are_not_bound_to_one_type() -> None:
    """Three tasks of 40 cores find cores on three nodes, but GPUs of one type only on two."""
    nodes = [gpu_node(2, A), gpu_node(2, A), gpu_node(2, B)]
    job = RefJob(0, 1, tasks=3, cores_milli=40_000, gpu_milli=1000)
    assert reject_reason(job, nodes) is RejectReason.COMBINATION
    assert reject_reason(job, nodes, mix=True) is RejectReason.NONE


def test_fastest_and_slowest_that_fits() -> None:
    """Two tasks do not fit into the fastest pool (B); without pools the nodes are filled by their speeds."""
    nodes = [gpu_node(2, A, 1000), gpu_node(1, B, 3000), gpu_node(4, 2, 2000), gpu_node(2, 2, 2000)]
    assert tasks_on(placed("fastest", gang(1), nodes)) == {1: 1}
    assert tasks_on(placed("fastest", gang(2), nodes)) == {3: 2}
    assert tasks_on(placed("slowest-that-fits", gang(2), nodes)) == {0: 2}
    assert tasks_on(placed("slowest-that-fits", gang(3), nodes)) == {2: 3}
    assert tasks_on(placed("fastest", gang(6), nodes, mix=True)) == {1: 1, 2: 4, 3: 1}
    assert tasks_on(placed("slowest-that-fits", gang(3), nodes, mix=True)) == {0: 2, 2: 1}


def test_pack_takes_the_pool_with_the_fewest_nodes() -> None:
    nodes = [gpu_node(1, A), gpu_node(1, A), gpu_node(2, B), gpu_node(2, 2)]
    assert tasks_on(placed("pack", gang(2), nodes)) == {2: 2}
    assert tasks_on(placed("first-fit", gang(2), nodes)) == {0: 1, 1: 1}


def test_topology_takes_a_switch_then_a_rack_then_anything() -> None:
    """Two GPUs fit under switch 0 on two nodes, and under switch 1 on one; six fit in rack 0 alone; seven nowhere."""
    nodes = [
        gpu_node(1, switch=0, rack=0),
        gpu_node(1, switch=0, rack=0),
        gpu_node(2, switch=1, rack=0),
        gpu_node(2, switch=1, rack=0),
        gpu_node(4, rack=1),
    ]
    assert tasks_on(placed("topology", gang(2), nodes)) == {2: 2}
    assert tasks_on(placed("topology", gang(3), nodes)) == {2: 2, 3: 1}
    assert tasks_on(placed("topology", gang(6), nodes)) == {2: 2, 3: 2, 0: 1, 1: 1}
    assert tasks_on(placed("topology", gang(7), nodes)) == {4: 4, 2: 2, 0: 1}
    # One GPU: each switch gives one node; switch 0 has the smaller capacity, 2 against 4.
    assert tasks_on(placed("topology", gang(1), nodes)) == {0: 1}
