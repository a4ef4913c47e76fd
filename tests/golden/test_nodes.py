"""Drawings on several nodes with several resources."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shunter.model.schedule import Outcome, RejectReason
from tests.golden.seconds import job, nodes, starts_s
from tests.properties.observed import Simulator
from tests.reference.model import Config, RefNode
from tests.reference.simulator import simulate


def test_easy_places_the_head_anew(simulator: Simulator) -> None:
    """C is promised second 10 on node 0; D and E take memory there, so C moves to node 1, where F must leave it alone.

    Two nodes of 8 cores and 8 MB. Cores are ample from 10 on; it is memory (drawn here, one row a MB) that binds::

        second      0         1         2         3
                    01234567890123456789012345678901234
        node 0 MB 1 AAAAAAAAAA.........................
               MB 2 AAAAAAAAAA.........................
               MB 3 ..DDDDDDDDDDDDDDDDDDDD.............
               MB 4 ..DDDDDDDDDDDDDDDDDDDD.............
               MB 5 ..DDDDDDDDDDDDDDDDDDDD.............
               MB 6 ...EEEEEEEEEEEEEEEEEEEE............
               MB 7 ...EEEEEEEEEEEEEEEEEEEE............
               MB 8 ...EEEEEEEEEEEEEEEEEEEE............
        node 1 MB 1 BBBBBBBBBBCCCCCFFFFFFFFFFFFFFFFFFFF
               MB 2 BBBBBBBBBBCCCCCFFFFFFFFFFFFFFFFFFFF
               MB 3 ..........CCCCCFFFFFFFFFFFFFFFFFFFF
               MB 4 ..........CCCCC....................
               MB 5 ..........CCCCC....................
               MB 6 ..........CCCCC....................
               MB 7 .....GGGGGGGGGGGGGGGGGGGG..........
               MB 8 .....GGGGGGGGGGGGGGGGGGGG..........
    """
    jobs = [
        job(0, 10, cores=6, memory_mb=2),  # A
        job(0, 10, cores=6, memory_mb=2),  # B
        job(1, 5, cores=4, memory_mb=6),  # C, the head
        job(2, 20, cores=1, memory_mb=3),  # D
        job(3, 20, cores=1, memory_mb=3),  # E
        job(4, 20, cores=1, memory_mb=3),  # F
        job(5, 20, cores=1, memory_mb=2),  # G
    ]
    observed = simulator(jobs, [RefNode(8000, 8)] * 2, Config(dispatch="easy"))
    assert starts_s(observed) == [0, 0, 10, 2, 3, 15, 5]
    assert nodes(observed) == [{0: 1}, {1: 1}, {1: 1}, {0: 1}, {0: 1}, {1: 1}, {1: 1}]


def test_a_newcomer_sends_another_to_nodes_where_it_delays_nobody(simulator: Simulator) -> None:
    """C would take node 1, which B needs at second 10; when D takes a part of it, C has room on node 2 alone.

    Two nodes of 4 cores and one of 3; the shortest goes first::

        second        0         1         2
                      01234567890123456789012
        node 0 core 1 AAAAAAAAAABB...........
               core 2 AAAAAAAAAABB...........
               core 3 AAAAAAAAAABB...........
               core 4 AAAAAAAAAABB...........
        node 1 core 1 ...DDD....BB...........
               core 2 ...DDD....BB...........
               core 3 ..........BB...........
               core 4 ..........BB...........
        node 2 core 1 ...CCCCCCCCCCCCCCCCCCCC
               core 2 ...CCCCCCCCCCCCCCCCCCCC
               core 3 ...CCCCCCCCCCCCCCCCCCCC
    """
    jobs = [
        job(0, 10, cores=4),  # A
        job(1, 2, tasks=2, cores=4),  # B, the head
        job(2, 20, cores=3),  # C
        job(3, 3, cores=2),  # D
    ]
    observed = simulator(jobs, [RefNode(4000), RefNode(4000), RefNode(3000)], Config(policy="sjf", dispatch="easy"))
    assert starts_s(observed) == [0, 10, 3, 3]
    assert nodes(observed) == [{0: 1}, {0: 1, 1: 1}, {2: 1}, {1: 1}]


@pytest.mark.parametrize("gpus", [0.0, 1.0])
def test_jobs_of_another_partition_do_not_delay_the_head(simulator: Simulator, gpus: float) -> None:
    """B waits for the left partition. C has the right one for itself, and may run on when B's time has come.

    Two nodes of 2 cores, each a partition::

        second        0         1         2
                      0123456789012345678901
        node 0 core 1 AAAAAAAAAABB..........
               core 2 AAAAAAAAAABB..........
        node 1 core 1 ..CCCCCCCCCCCCCCCCCCCC
               core 2 ..CCCCCCCCCCCCCCCCCCCC
    """
    jobs = [
        replace(job(0, 10, tasks=2, gpus=gpus), partition="left"),  # A
        replace(job(1, 2, tasks=2, gpus=gpus), partition="left"),  # B, the head
        replace(job(2, 20, tasks=2, gpus=gpus), partition="right"),  # C
    ]
    cluster = [RefNode(2000, gpus=2, partition=name) for name in ("left", "right")]
    observed = simulator(jobs, cluster, Config(policy="fcfs", dispatch="easy"))
    assert starts_s(observed) == [0, 10, 2]


def test_two_reservations_stand_in_each_others_way(simulator: Simulator) -> None:
    """E would push C from node 0 to node 1, where D holds a core from 5 on: so E waits, though C and D could swap.

    Two nodes of 4 cores, two reservations (C and D)::

        second        0         1
                      01234567890
        node 0 core 1 AAAAAC.....
               core 2 .....C.....
               core 3 .....C.....
               core 4 .....C.....
        node 1 core 1 BBBBBDDDDDD
               core 2 BBBBBEEEEEE
               core 3 BBBBB......
               core 4 BBBBB......
    """
    jobs = [
        job(0, 5, cores=1),  # A
        job(0, 5, cores=4),  # B
        job(0, 1, cores=4),  # C
        job(0, 6, cores=1),  # D
        job(0, 6, cores=1),  # E
    ]
    observed = simulator(jobs, [RefNode(4000)] * 2, Config(dispatch="2"))
    assert starts_s(observed) == [0, 0, 5, 5, 5]
    assert nodes(observed) == [{0: 1}, {1: 1}, {0: 1}, {1: 1}, {1: 1}]


def test_a_device_promised_twice_takes_nothing_from_another(simulator: Simulator) -> None:
    """X takes device 1 from C and D, which hold it from 10 on: C moves to device 0, then D to node 1.

    While C is placed anew, D still stands on device 1, where more is promised than there is. There is nothing free on
    it then, and device 0 has room for C all the same. Node 0 has 8 cores and two devices, node 1 has 2 cores and one;
    a letter for each fifth of a device::

        second           0         1
                         01234567890123456789
        node 0 device 0  AAAAAAAAAAAAAAAAAAAA
                         AAAAAAAAAAAAAAAAAAAA
                         AAAAAAAAAAAAAAAAAAAA
                         BBBBB.....CCCCCCCCCC   B asked for 30 seconds
                         BBBBB...............
               device 1  PPPPPPPPPP..........
                         PPPPPPPPPP..........
                         ......XXXXXXXXXX....
                         ......XXXXXXXXXX....
                         ......XXXXXXXXXX....
        node 1 device 0  RRRRRRRRRRDDDDDDDDDD
                         RRRRRRRRRRDDDDDDDDDD
                         RRRRRRRRRRDDDDDDDDDD
                         RRRRRRRRRRDDDDDDDDDD
                         RRRRRRRRRR..........
    """
    jobs = [
        job(0, 30, gpus=0.6),  # A
        job(0, 5, requested_s=30, gpus=0.4),  # B
        job(0, 10, cores=4, gpus=0.4),  # P
        job(0, 10, gpus=1),  # R
        job(0, 10, cores=4, gpus=0.2),  # C waits for the cores of P
        job(0, 10, gpus=0.8),  # D
        job(6, 10, gpus=0.6),  # X
    ]
    observed = simulator(jobs, [RefNode(8000, gpus=2), RefNode(2000, gpus=1)], Config(dispatch="2"))
    assert starts_s(observed) == [0, 0, 0, 0, 10, 10, 6]
    assert nodes(observed) == [{0: 1}, {0: 1}, {0: 1}, {1: 1}, {0: 1}, {1: 1}, {0: 1}]


def test_a_reservation_stays_where_only_others_lose_their_room(simulator: Simulator) -> None:
    """X takes memory on node 1 from D, which moves to node 0; C asks for none, and so keeps its cores on node 1.

    Node 0 has 4 cores, node 1 has 9, both have 8 MB::

        second         0         1
                       01234567890123456789
        node 0 core 1  AAAAAAAAAADDDDDDDDDD   A holds 4 MB, D 6 MB
               core 2  BBBBB.....DDDDDDDDDD   B asked for 30 seconds
               core 3  BBBBB.....DDDDDDDDDD
               core 4  BBBBB.....DDDDDDDDDD
        node 1 core 1  PPPPPPPPPPCCCCCCCCCC   P holds 2 MB
               core 2  PPPPPPPPPPCCCCCCCCCC
               core 3  PPPPPPPPPPCCCCCCCCCC
               core 4  PPPPPPPPPPCCCCCCCCCC
               core 5  PPPPPPPPPP..........
               core 6  PPPPPPPPPP..........
               core 7  PPPPPPPPPP..........
               core 8  ......XXXXXXXXXX....   X holds 5 MB
               core 9  ....................
    """
    jobs = [
        job(0, 10, cores=1, memory_mb=4),  # A
        job(0, 5, requested_s=30, cores=3),  # B
        job(0, 10, cores=7, memory_mb=2),  # P
        job(0, 10, cores=4),  # C
        job(0, 10, cores=4, memory_mb=6),  # D
        job(6, 10, cores=1, memory_mb=5),  # X
    ]
    observed = simulator(jobs, [RefNode(4000, 8), RefNode(9000, 8)], Config(dispatch="2"))
    assert starts_s(observed) == [0, 0, 0, 10, 10, 6]
    assert nodes(observed) == [{0: 1}, {0: 1}, {1: 1}, {1: 1}, {0: 1}, {1: 1}]


FRACTIONS = [
    job(0, 10, gpus=0.5),  # A
    job(0, 10, gpus=0.6),  # B
    job(0, 10, gpus=0.4),  # C
    job(0, 10, gpus=0.3, tasks=2),  # D
    job(0, 10, gpus=1),  # E
    job(0, 10, gpus=0.2, tasks=3),  # F
    job(0, 10, gpus=2),  # G
    job(0, 10, gpus=3),  # H
]
GPU_NODES = [RefNode(64_000, gpus=2)] * 2


def test_fractions_of_gpus(simulator: Simulator) -> None:
    """A fraction goes to the fullest device with room for it, a whole GPU to an untouched device.

    Two nodes of two devices, a letter for each tenth of a device, from second 0 to 10::

        node 0 device 0  AAAAADDDFF
               device 1  BBBBBBCCCC
        node 1 device 0  DDDFFFF...
               device 1  EEEEEEEEEE

    G wants two whole devices of one node and waits for second 10; H wants three and can never run.
    """
    observed = simulator(FRACTIONS, GPU_NODES, Config(dispatch="strict"))
    assert starts_s(observed) == [0, 0, 0, 0, 0, 0, 10, None]
    assert nodes(observed) == [{0: 1}, {0: 1}, {0: 1}, {0: 1, 1: 1}, {1: 1}, {0: 1, 1: 2}, {0: 1}, {}]
    assert observed[7].outcome is Outcome.REJECTED
    assert observed[7].reject_reason is RejectReason.GPUS


def test_devices_of_fractions() -> None:
    """The drawing above, device by device; a schedule does not name devices, so only the reference can be asked."""
    allocations = simulate(FRACTIONS, GPU_NODES, Config(dispatch="strict")).allocation
    devices = [{share.node: share.devices for share in allocation} for allocation in allocations]
    assert devices == [
        {0: (500, 0)},
        {0: (0, 600)},
        {0: (0, 400)},
        {0: (300, 0), 1: (300, 0)},
        {1: (0, 1000)},
        {0: (200, 0), 1: (400, 0)},
        {0: (1000, 1000)},
        {},
    ]


@pytest.mark.parametrize(
    ("placement", "expected"),
    [
        ("first-fit", {0: 4, 1: 3}),
        ("best-fit", {2: 3, 0: 4}),
        ("worst-fit", {1: 6, 0: 1}),
        ("pack", {1: 6, 2: 1}),
        ("spread", {1: 3, 0: 2, 2: 2}),
    ],
)
def test_placements_of_seven_tasks(simulator: Simulator, placement: str, expected: dict[int, int]) -> None:
    """Seven tasks on empty nodes of 4, 6 and 3 cores.

    ::

                   node 0  node 1  node 2
        first-fit  ####    ###...  ...
        best-fit   ####    ......  ###
        worst-fit  #...    ######  ...
        pack       ....    ######  #..     one task is left: to the smaller of 0 and 2
        spread     ##..    ###...  ##.
    """
    observed = simulator(
        [job(0, 1, tasks=7)], [RefNode(4000), RefNode(6000), RefNode(3000)], Config(placement=placement)
    )
    assert nodes(observed) == [expected]
