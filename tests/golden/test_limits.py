"""Drawings of the starvation guard, of jobs that outlive their requests, and of jobs that take no time."""

from __future__ import annotations

from shunter.model.schedule import Outcome
from tests.golden.seconds import job, pool, starts_s
from tests.properties.observed import Simulator
from tests.reference.model import Config

SHORT_FIRST = [
    job(0, 4),  # A
    job(1, 9),  # B, the longest
    job(2, 3),  # C
    job(3, 3),  # D
    job(4, 3),  # E
    job(9, 3),  # F
]


def test_guard_puts_a_job_first_that_has_waited_long_enough(simulator: Simulator) -> None:
    """B has waited 9 seconds when E starts, and 12 when E ends: now it goes before F.

    ::

        second 0         1         2
               0123456789012345678901234
        core 1 AAAACCCDDDEEEBBBBBBBBBFFF
    """
    observed = simulator(SHORT_FIRST, pool(1), Config(policy="sjf", dispatch="strict", max_wait_ms=10_000))
    assert starts_s(observed) == [0, 13, 4, 7, 10, 22]


def test_reaching_the_bound_is_an_instant_of_its_own(simulator: Simulator) -> None:
    """Shorter D stands before C and blocks it, until C reaches its bound at 11: nothing else happens then.

    ::

        second 0         1         2         3
               01234567890123456789012345678901234
        core 1 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAADDDDD
        core 2 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAADDDDD
        core 3 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAA.....
        core 4 BB.........CCCCCCCCCCCCCCCCCCCC....
    """
    jobs = [
        job(0, 30, tasks=3),  # A
        job(0, 2),  # B
        job(1, 20),  # C
        job(2, 5, tasks=2),  # D
    ]
    observed = simulator(jobs, pool(4), Config(policy="sjf", dispatch="strict", max_wait_ms=10_000))
    assert starts_s(observed) == [0, 0, 11, 30]


OVERRUN = [
    job(0, 10, requested_s=5, tasks=3),  # A
    job(1, 5, tasks=4),  # B
    job(2, 3),  # C
    job(6, 2),  # D
]


def test_a_job_that_overruns_is_expected_to_end_at_once(simulator: Simulator) -> None:
    """B's second 5 passes while A runs on; at 6 it is planned for the next millisecond, and D may not delay it.

    ::

        second 0         1
               01234567890123456
        core 1 AAAAAAAAAABBBBBDD   A asked for 5 seconds
        core 2 AAAAAAAAAABBBBB..
        core 3 AAAAAAAAAABBBBB..
        core 4 ..CCC.....BBBBB..
    """
    observed = simulator(OVERRUN, pool(4), Config(dispatch="easy"))
    assert starts_s(observed) == [0, 10, 2, 15]


def test_a_job_is_killed_at_its_request(simulator: Simulator) -> None:
    """The same jobs: A is killed at 5, and B starts as it was promised.

    ::

        second 0         1
               012345678901
        core 1 AAAAABBBBBDD
        core 2 AAAAABBBBB..
        core 3 AAAAABBBBB..
        core 4 ..CCCBBBBB..
    """
    observed = simulator(OVERRUN, pool(4), Config(dispatch="easy", kill_at_request=True))
    assert starts_s(observed) == [0, 5, 2, 10]
    assert [job.outcome for job in observed] == [Outcome.KILLED] + [Outcome.COMPLETED] * 3


def test_a_job_without_run_time_ends_at_its_start(simulator: Simulator) -> None:
    """At second 2, A ends and B starts and ends; the instant is gone through again, and C starts.

    ::

        second 0
               01234
        core 1 AACCC   B at 2, for no time
    """
    observed = simulator([job(0, 2), job(1, 0), job(1, 3)], pool(1), Config(dispatch="strict"))
    assert starts_s(observed) == [0, 2, 2]
    assert [job.end_ms for job in observed] == [2000, 2000, 5000]
