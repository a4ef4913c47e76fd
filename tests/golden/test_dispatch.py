"""One drawing for each dispatch rule, on a pool of four cores; a dot is an idle core for a second."""

from __future__ import annotations

from tests.golden.seconds import job, pool, starts_s
from tests.properties.observed import Simulator
from tests.reference.model import Config

NARROW_AND_WIDE = [
    job(0, 10, tasks=2),  # A
    job(1, 5, tasks=4),  # B does not fit beside A
    job(2, 6, tasks=1),  # C
    job(3, 12, tasks=2),  # D
    job(4, 4, tasks=1),  # E
    job(5, 3, tasks=1),  # F
]


def test_strict(simulator: Simulator) -> None:
    """B blocks everybody; then C, D and E start together, and F takes E's core.

    ::

        second 0         1         2
               0123456789012345678901234567
        core 1 AAAAAAAAAABBBBBCCCCCC.......
        core 2 AAAAAAAAAABBBBBDDDDDDDDDDDD.
        core 3 ..........BBBBBDDDDDDDDDDDD.
        core 4 ..........BBBBBEEEEFFF......
    """
    observed = simulator(NARROW_AND_WIDE, pool(4), Config(dispatch="strict"))
    assert starts_s(observed) == [0, 10, 15, 15, 15, 19]


def test_greedy(simulator: Simulator) -> None:
    """Whoever fits starts, and B starves until the cluster happens to be empty.

    ::

        second 0         1         2
               0123456789012345678901234
        core 1 AAAAAAAAAAFFF.......BBBBB
        core 2 AAAAAAAAAA..........BBBBB
        core 3 ..CCCCCCDDDDDDDDDDDDBBBBB
        core 4 ....EEEEDDDDDDDDDDDDBBBBB
    """
    observed = simulator(NARROW_AND_WIDE, pool(4), Config(dispatch="greedy"))
    assert starts_s(observed) == [0, 20, 2, 8, 4, 10]


def test_easy(simulator: Simulator) -> None:
    """B holds second 10; C and E end before it, D and F would not.

    ::

        second 0         1         2
               0123456789012345678901234567
        core 1 AAAAAAAAAABBBBBDDDDDDDDDDDD.
        core 2 AAAAAAAAAABBBBBDDDDDDDDDDDD.
        core 3 ..CCCCCC..BBBBBFFF..........
        core 4 ....EEEE..BBBBB.............
    """
    observed = simulator(NARROW_AND_WIDE, pool(4), Config(dispatch="easy"))
    assert starts_s(observed) == [0, 10, 2, 15, 4, 15]


LONG_AND_THIN = [
    job(0, 10, tasks=3),  # A
    job(1, 10, tasks=2),  # B
    job(2, 5, tasks=4),  # C
    job(3, 20, tasks=1),  # D
    job(4, 16, tasks=1),  # E
]


def test_easy_protects_only_the_first(simulator: Simulator) -> None:
    """D leaves B its two cores at 10, and so may start, though it delays C from 20 to 23.

    ::

        second 0         1         2         3         4
               01234567890123456789012345678901234567890123
        core 1 AAAAAAAAAABBBBBBBBBB...CCCCCEEEEEEEEEEEEEEEE
        core 2 AAAAAAAAAABBBBBBBBBB...CCCCC................
        core 3 AAAAAAAAAA.............CCCCC................
        core 4 ...DDDDDDDDDDDDDDDDDDDDCCCCC................
    """
    observed = simulator(LONG_AND_THIN, pool(4), Config(dispatch="easy"))
    assert starts_s(observed) == [0, 10, 23, 3, 28]


def test_conservative(simulator: Simulator) -> None:
    """C holds second 20 from second 2 on: D must wait for it, E just fits before it.

    ::

        second 0         1         2         3         4
               012345678901234567890123456789012345678901234
        core 1 AAAAAAAAAABBBBBBBBBBCCCCCDDDDDDDDDDDDDDDDDDDD
        core 2 AAAAAAAAAABBBBBBBBBBCCCCC....................
        core 3 AAAAAAAAAA..........CCCCC....................
        core 4 ....EEEEEEEEEEEEEEEECCCCC....................
    """
    observed = simulator(LONG_AND_THIN, pool(4), Config(dispatch="conservative"))
    assert starts_s(observed) == [0, 10, 20, 25, 4]


THIRD_IN_LINE = [
    job(0, 10, tasks=3),  # A
    job(1, 10, tasks=2),  # B
    job(2, 5, tasks=4),  # C
    job(3, 8, tasks=2),  # D
    job(4, 16, tasks=1),  # E
]


def test_depth_two(simulator: Simulator) -> None:
    """B and C hold reservations, D does not: E may take the core that D would have used from 10 on.

    ::

        second 0         1         2         3
               012345678901234567890123456789012
        core 1 AAAAAAAAAABBBBBBBBBBCCCCCDDDDDDDD
        core 2 AAAAAAAAAABBBBBBBBBBCCCCCDDDDDDDD
        core 3 AAAAAAAAAA..........CCCCC........
        core 4 ....EEEEEEEEEEEEEEEECCCCC........
    """
    observed = simulator(THIRD_IN_LINE, pool(4), Config(dispatch="2"))
    assert starts_s(observed) == [0, 10, 20, 25, 4]


def test_depth_of_all(simulator: Simulator) -> None:
    """The same jobs: with a reservation for D as well, E is the one that waits.

    ::

        second 0         1         2         3         4
               01234567890123456789012345678901234567890
        core 1 AAAAAAAAAABBBBBBBBBBCCCCCEEEEEEEEEEEEEEEE
        core 2 AAAAAAAAAABBBBBBBBBBCCCCC................
        core 3 AAAAAAAAAADDDDDDDD..CCCCC................
        core 4 ..........DDDDDDDD..CCCCC................
    """
    observed = simulator(THIRD_IN_LINE, pool(4), Config(dispatch="conservative"))
    assert starts_s(observed) == [0, 10, 20, 10, 25]


def test_committed(simulator: Simulator) -> None:
    """B is committed at 1, so that C may not start, short as it is; F arrives at 18 before B's end is looked at.

    ::

        second 0         1         2
               0123456789012345678901
        core 1 AAAAAAAAAABBBBBBBBEEEF
        core 2 AAAAAAAAAABBBBBBBBEEE.
        core 3 AAAAAAAAAACDD.....EEE.
        core 4 ...........DD.....EEE.
    """
    jobs = [
        job(0, 10, tasks=3),  # A
        job(1, 8, tasks=2),  # B
        job(2, 1, tasks=1),  # C
        job(3, 2, tasks=2),  # D
        job(12, 3, tasks=4),  # E
        job(18, 1, tasks=1),  # F
    ]
    observed = simulator(jobs, pool(4), Config(policy="sjf", dispatch="committed"))
    assert starts_s(observed) == [0, 10, 10, 11, 18, 21]


def test_committed_backfill(simulator: Simulator) -> None:
    """B could start at 12 by A's request: C would end at 12 and may not start, D would end at 11 and may.

    ::

        second 0         1
               0123456789012345678
        core 1 AAAAAAAAAABBBBBBBB.   A asked for 12 seconds
        core 2 AAAAAAAAAABBBBBBBB.
        core 3 AAAAAAAAAACCCCCCCCC   C asked for 10 seconds
        core 4 ...DDDDDDDDE.......
    """
    jobs = [
        job(0, 10, requested_s=12, tasks=3),  # A
        job(1, 8, tasks=2),  # B
        job(2, 9, requested_s=10, tasks=1),  # C
        job(3, 8, tasks=1),  # D
        job(4, 1, tasks=1),  # E
    ]
    observed = simulator(jobs, pool(4), Config(dispatch="committed-backfill"))
    assert starts_s(observed) == [0, 10, 10, 3, 11]
