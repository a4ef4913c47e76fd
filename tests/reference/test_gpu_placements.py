"""The placements ``tiered-*`` and ``fgd`` of the reference simulator, worked out by hand."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.reference.asking import Ask, TasksOn, candidates
from tests.reference.fragments import classes_of, fragmentation
from tests.reference.gpu_examples import A, B, gang, gpu_node, placed, tasks_on
from tests.reference.model import Allocation, RefJob, RefNode
from tests.reference.placements import place_job
from tests.reference.resources import Free, usable


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        # 4 + 1 on nodes 0 and 2: node 0 is full, node 2 stays partly used: frag 0, waste 1, squares 16 + (9 - 4) = 21.
        # 3 + 2 there is just as good: frag 1 - 1, waste 3 - 2, squares 9 + (16 - 4). Then the first node gets more.
        ("tiered-defrag", {0: 4, 2: 1}),
        # 3 + 2 on the empty nodes: squares 9 + 4 = 13, though two more nodes are partly used.
        ("tiered-balance", {0: 3, 1: 2}),
        # The first nodes: 4 + 1 leaves one more partly used, 3 + 2 two.
        ("tiered-lex", {0: 4, 1: 1}),
    ],
)
def test_the_first_tier(rule: str, expected: TasksOn) -> None:
    """Five GPUs want two nodes of four; two nodes are empty, and two half full."""
    assert tasks_on(placed(rule, gang(5), [gpu_node(4)] * 4, [4, 4, 2, 2])) == expected


def test_the_second_tier_is_one_node_more_without_more_fragments() -> None:
    """Four GPUs want one node of four, but none has four free.

    By squares, 3 + 1 on nodes 0 and 1 is (16 - 1) + (9 - 4) = 20, as is 2 + 2: (9 - 1) + (16 - 4); frag is -1 and
    waste 0 in both. Nodes 1 and 2 would be 24, but both are full then: frag -2.
    """
    nodes = [gpu_node(4)] * 3
    assert tasks_on(placed("tiered-balance", gang(4), nodes, [3, 2, 2])) == {0: 3, 1: 1}
    assert tasks_on(placed("tiered-defrag", gang(4), nodes, [3, 2, 2])) == {1: 2, 2: 2}
    # Three nodes are neither tier, so that it is pack.
    assert tasks_on(placed("tiered-defrag", gang(4), nodes, [2, 1, 1])) == {0: 2, 1: 1, 2: 1}


def test_of_several_like_pools_the_lowest_tier_wins() -> None:
    """The first pool offers two half-full nodes (tier 2), the second one whole node (tier 1)."""
    nodes = [gpu_node(4, A), gpu_node(4, A), gpu_node(8, B)]
    assert tasks_on(placed("tiered-defrag", gang(4), nodes, [2, 2, 8])) == {2: 4}
    assert tasks_on(placed("tiered-defrag", gang(4), nodes, [2, 2, 3])) == {0: 2, 1: 2}


def test_what_is_useless_to_a_class() -> None:
    """Of devices with 1000, 400 and 0 free: 400 are useless to whole GPUs; to 0.5 GPUs too; nothing is to 0.4 GPUs.

    Two tasks of one GPU cannot be hosted: all 1,400 are useless; nor can 0.4 GPUs with 9 cores.
    """
    free = Free(8000, None, (1000, 400, 0))
    expected = {
        (1, 1000, 0, 1000): 400,
        (1, 1000, 0, 500): 400,
        (1, 1000, 0, 400): 0,
        (2, 1000, 0, 1000): 1400,
        (1, 9000, 0, 400): 1400,
    }
    for one, useless in expected.items():
        assert fragmentation(free, Counter({one: 3})) == 3 * useless


def test_fgd_leaves_whole_devices_and_whole_nodes() -> None:
    """One GPU on a half-empty node of two: a node of two that stays empty can still host two tasks.

    The class is two tasks of one GPU. On the empty node 0 F grows from 0 to 1,000; on node 1 it falls from 1,000 to 0.
    """
    nodes = [gpu_node(2)] * 2
    pair, one = gang(2), gang(1)
    assert tasks_on(placed_among([pair, pair], one, nodes, ((1000, 1000), (0, 1000)))) == {1: 1}
    # Half a GPU: with jobs of whole GPUs to come it goes to the device that is broken already.
    half = RefJob(0, 1, gpu_milli=500)
    allocation = placed_among([one], half, nodes, ((1000, 1000), (1000, 500)))
    assert allocation is not None
    assert (allocation[0].node, allocation[0].devices) == (1, (0, 500))
    # Jobs of 0.7 GPUs: device 0 with 900 has 0.2 useless afterwards if it takes 0.7, device 1 with 700 has none.
    most = RefJob(0, 1, gpu_milli=200)
    allocation = placed_among([RefJob(0, 1, gpu_milli=700)], most, [gpu_node(2)], ((900, 700),))
    # 0.2 of 0.9 leaves 0.7, which is of use (F 0); of 0.7 it leaves 0.5, which is not (F 500); usual is the fullest.
    assert allocation is not None
    assert allocation[0].devices == (200, 0)


def placed_among(
    jobs: list[RefJob], job: RefJob, nodes: list[RefNode], devices: tuple[tuple[int, ...], ...]
) -> Allocation | None:
    """Returns where fgd puts a job when the table has these jobs and the nodes these devices."""
    free = tuple(Free(node.cores_milli, None, one) for node, one in zip(nodes, devices, strict=True))
    own, everywhere = usable(job, nodes), tuple(range(len(nodes)))
    ask = Ask(job, 0, nodes, tuple(own), free, candidates(job, own, free), everywhere, False, 0, classes_of(jobs))
    return place_job("fgd", ask)


def test_only_the_most_frequent_classes_count() -> None:
    jobs = [gang(tasks) for tasks in [*range(1, 40), 39]]
    classes = classes_of([*jobs, RefJob(0, 1), RefJob(0, 1)])
    assert len(classes) == 32
    assert classes[39, 1000, 0, 1000] == 2
    assert (31, 1000, 0, 1000) in classes
    assert (32, 1000, 0, 1000) not in classes
