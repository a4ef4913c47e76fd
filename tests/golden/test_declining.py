"""A drawing with a placement in Python that declines now and then."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.golden.seconds import job
from tests.properties.strategies import Scene
from tests.properties.test_declining import Times, run_core, run_reference
from tests.reference.model import Config, RefNode


@pytest.mark.parametrize("run", [run_reference, run_core])
def test_nobody_is_asked_about_a_time_at_which_nothing_becomes_free(run: Callable[[Scene, Config], Times]) -> None:
    """B was declined what is free before 3, when A should end; at 1 it is asked again, but not about second 2.

    D holds second 2, when C should have ended. C ends at 1: at 2 nothing becomes free any more, but D takes two cores.
    With so much less the placement would take B. Nodes of 3, 3 and 8 cores, two reservations (B and D)::

        second        0
                      0123
        node 0 core 1 AA.B   A asked for 3 seconds
               core 2 AA.B
               core 3 ....
        node 1 core 1 CDD.   C asked for 2 seconds
               core 2 CDD.
               core 3 ....
        node 2 core 1 C...
               core 2 C...
    """
    jobs = (
        job(0, 2, requested_s=3, tasks=2),  # A
        job(0, 1, cores=2),  # B
        job(0, 1, requested_s=2, cores=2, tasks=2),  # C
        job(0, 2, cores=2),  # D
    )
    starts_ms, _ = run(Scene((RefNode(3000), RefNode(3000), RefNode(8000)), jobs), Config(dispatch="2"))
    assert starts_ms == [0, 3000, 0, 1000]
