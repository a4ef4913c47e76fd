"""Drawings in which a node is down."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.golden.seconds import job, nodes, starts_s
from tests.properties.observed import Observed, Simulator, observe, run_reference
from tests.properties.strategies import Scene
from tests.reference.model import Config, RefJob, RefNode


def run_core(jobs: Sequence[RefJob], nodes: Sequence[RefNode], config: Config) -> Observed:
    """Runs the core by way of the adapter that hands failures over."""
    from tests.properties import gpu_adapter

    return observe(gpu_adapter.run_core(Scene(tuple(nodes), tuple(jobs)), config)[0])


@pytest.fixture(params=["reference", "core"])
def simulator(request: pytest.FixtureRequest) -> Simulator:
    """Returns one of the two simulators."""
    if request.param == "reference":
        return run_reference
    return run_core


@pytest.mark.parametrize("dispatch", ["easy", "1", "conservative"])
def test_a_head_without_a_reservation_leaves_it_to_the_next(dispatch: str, simulator: Simulator) -> None:
    """B needs both nodes, one of which is down: it can be promised nothing, so C behind it is promised second 4.

    E ends by then and is filled in. D would not: it waits for C, though it fits from the moment it comes. Two nodes of
    4 cores; node 1 is down until 20, and B gets its 8 cores only then::

        second        0         1         2
                      0123456789012345678901
        node 0 core 1 AAAACCDDDDDDDDDD....BB
               core 2 AAAACC..............BB
               core 3 AAAACC..............BB
               core 4 ..EECC..............BB
        node 1 core 1 xxxxxxxxxxxxxxxxxxxxBB
               core 2 xxxxxxxxxxxxxxxxxxxxBB
               core 3 xxxxxxxxxxxxxxxxxxxxBB
               core 4 xxxxxxxxxxxxxxxxxxxxBB
    """
    jobs = [
        job(0, 4, cores=3),  # A
        job(0, 2, tasks=2, cores=4),  # B, which nothing can be promised
        job(1, 2, cores=4),  # C, the head in its place
        job(2, 10, cores=1),  # D
        job(2, 2, cores=1),  # E
    ]
    config = Config(dispatch=dispatch, failures=((0, 1, False), (20_000, 1, True)))
    observed = simulator(jobs, [RefNode(4000)] * 2, config)
    assert starts_s(observed) == [0, 20, 4, 6, 2]
    assert nodes(observed) == [{0: 1}, {0: 1, 1: 1}, {0: 1}, {0: 1}, {0: 1}]
