"""Drawings in which the tasks of a gang are apart, or wait until they need not be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.golden.seconds import job
from tests.properties.strategies import Scene
from tests.reference.model import Config, RefJob, RefNode, Result
from tests.reference.simulator import simulate

TWO = (RefNode(64_000, gpus=4),) * 2
TWICE = (2_000_000, 2_000_000, 2_000_000)
"""A gang on more nodes than it needs takes twice as long."""
ALWAYS: dict[str, Any] = {"locality_wait_ms": None, "locality_loss_micro": None}


@pytest.fixture(params=["reference", "core"])
def simulator(request: pytest.FixtureRequest) -> str:
    """Returns the name of one of the two simulators."""
    return str(request.param)


def run(simulator: str, jobs: Sequence[RefJob], config: Config, nodes: Sequence[RefNode] = TWO) -> Result:
    """Runs the jobs on nodes of four GPUs each, unless others are given."""
    if simulator == "reference":
        return simulate(jobs, nodes, config)
    from tests.properties import gpu_adapter

    return gpu_adapter.run_core(Scene(tuple(nodes), tuple(jobs)), config)[0]


JOBS = (
    job(0, 12, tasks=2, gpus=1),  # A
    job(0, 4, tasks=3, gpus=1),  # B
    job(0, 4, tasks=3, gpus=1),  # C
)


def test_a_gang_on_more_nodes_than_it_needs_is_slower(simulator: str) -> None:
    """``first-fit`` puts B on both nodes, where its 4 s take 8 s; C finds one node.

    ::

        second       0         1
                     012345678901
        node 0 GPU 0 AAAAAAAAAAAA
               GPU 1 AAAAAAAAAAAA
               GPU 2 BBBBBBBB....
               GPU 3 BBBBBBBB....
        node 1 GPU 0 BBBBBBBB....
               GPU 1 CCCC........
               GPU 2 CCCC........
               GPU 3 CCCC........
    """
    result = run(simulator, JOBS, Config(slowdown_micro=TWICE))
    assert result.start_ms == [0, 0, 0]
    assert result.end_ms == [12_000, 8000, 4000]
    assert [result.nodes(place) for place in range(3)] == [((0, 2),), ((0, 2), (1, 1)), ((1, 3),)]


def test_a_gang_that_always_waits_is_packed_or_waits_for_one_node(simulator: str) -> None:
    """What ``first-fit`` chooses for B is too far apart: it is packed on node 1. C waits until that node is free.

    ::

        second       0         1
                     012345678901
        node 0 GPU 0 AAAAAAAAAAAA
               GPU 1 AAAAAAAAAAAA
               GPU 2 ............
               GPU 3 ............
        node 1 GPU 0 BBBBCCCC....
               GPU 1 BBBBCCCC....
               GPU 2 BBBBCCCC....
               GPU 3 ............
    """
    result = run(simulator, JOBS, Config(slowdown_micro=TWICE, **ALWAYS))
    assert result.start_ms == [0, 0, 4000]
    assert result.end_ms == [12_000, 4000, 8000]
    assert [result.nodes(place) for place in range(3)] == [((0, 2),), ((1, 3),), ((1, 3),)]


def test_a_gang_waits_no_longer_than_it_is_told(simulator: str) -> None:
    """C waits for 2 s and then takes what there is, at half the speed. Nothing else happens at that moment.

    ::

        second       0         1
                     012345678901
        node 0 GPU 0 AAAAAAAAAAAA
               GPU 1 AAAAAAAAAAAA
               GPU 2 ..CCCCCCCC..
               GPU 3 ..CCCCCCCC..
        node 1 GPU 0 BBBBBBBB....
               GPU 1 BBBBBBBB....
               GPU 2 BBBBBBBB....
               GPU 3 ..CCCCCCCC..
    """
    jobs = [JOBS[0], job(0, 8, tasks=3, gpus=1), JOBS[2]]
    result = run(simulator, jobs, Config(slowdown_micro=TWICE, locality_wait_ms=2000, locality_loss_micro=None))
    assert result.start_ms == [0, 0, 2000]
    assert result.end_ms == [12_000, 8000, 10_000]
    assert result.nodes(2) == ((0, 2), (1, 1))


@pytest.mark.parametrize(("loss_micro", "starts_ms"), [(1_000_000, [0, 0, 0]), (999_999, [0, 0, 4000])])
def test_a_gang_takes_what_costs_no_more_than_it_is_told(simulator: str, loss_micro: int, starts_ms: list[int]) -> None:
    config = Config(slowdown_micro=TWICE, locality_wait_ms=None, locality_loss_micro=loss_micro)
    assert run(simulator, JOBS, config).start_ms == starts_ms


@pytest.mark.parametrize("dispatch", ["easy", "1", "conservative"])
def test_who_waits_for_one_node_is_promised_it(simulator: str, dispatch: str) -> None:
    """C needs a whole node, and is promised node 1 from 6 on. D may have node 0 meanwhile; E would take part of node 1.

    ::

        second       0         1
                     01234567890123
        node 0 GPU 0 AAAAAAAAAA....
               GPU 1 AAAAAAAAAA....
               GPU 2 AAAAAAAAAA....
               GPU 3 .DDDDDDDDDDDD.
        node 1 GPU 0 BBBBBBCCC.....
               GPU 1 BBBBBBCCC.....
               GPU 2 BBBBBBCCC.....
               GPU 3 ......CCC.....

    E starts when C has ended.
    """
    jobs = [
        job(0, 10, tasks=3, gpus=1),  # A
        job(0, 6, tasks=3, gpus=1),  # B
        job(0, 3, tasks=4, gpus=1),  # C
        job(1, 12, gpus=1),  # D
        job(2, 12, gpus=1),  # E
    ]
    result = run(simulator, jobs, Config(dispatch=dispatch, placement="pack", **ALWAYS))
    assert result.start_ms == [0, 0, 6000, 1000, 9000]
    assert result.nodes(2) == ((1, 4),)


SITES = (
    RefNode(64_000, gpus=2, switch=0, rack=0),
    RefNode(64_000, gpus=2, switch=0, rack=0),
    RefNode(64_000, gpus=2, switch=1, rack=0),
    RefNode(64_000, gpus=2, switch=2, rack=1),
)


@pytest.mark.parametrize(
    ("down", "lasts_ms"),
    [
        pytest.param((2, 3), 8000, id="one switch"),
        pytest.param((0, 3), 16_000, id="two switches of one rack"),
        pytest.param((0, 2), 32_000, id="two racks"),
    ],
)
def test_switches_and_racks_slow_a_gang(simulator: str, down: tuple[int, int], lasts_ms: int) -> None:
    """A gang of four needs two nodes of two GPUs; the others are down. Switches cost twice, racks four times."""
    config = Config(slowdown_micro=(1_250_000, 2_000_000, 4_000_000), failures=tuple((0, node, False) for node in down))
    result = run(simulator, [job(0, 8, tasks=4, gpus=1)], config, SITES)
    assert result.end_ms == [lasts_ms]


def test_a_gang_waits_for_the_closest_nodes_that_it_could_ever_have(simulator: str) -> None:
    """B needs two nodes, and only nodes 0 and 1 are on one switch: it waits for node 0. C needs three, in one rack.

    Two GPUs a node; both GPUs of a node are drawn as one::

        second         0         1
                       01234567890123
        rack 0  node 0 AAAABBBBCCCC..
                node 1 ....BBBBCCCC..
                node 2 ........CCCC..
        rack 1  node 3 ..............
    """
    jobs = [
        job(0, 4, tasks=2, gpus=1),  # A
        job(0, 4, tasks=4, gpus=1),  # B
        job(0, 4, tasks=6, gpus=1),  # C
    ]
    result = run(simulator, jobs, Config(dispatch="strict", **ALWAYS), SITES)
    assert result.start_ms == [0, 4000, 8000]
    assert result.nodes(1) == ((0, 2), (1, 2))
    assert result.nodes(2) == ((0, 2), (1, 2), (2, 2))
