"""Drawings of where a learned policy puts jobs whose preferences are known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.agents.untrained import most_free_cores, write_host_policy
from tests.golden.seconds import job, nodes, starts_s
from tests.properties import gpu_adapter
from tests.properties.choosing_hosts import known_to_reference
from tests.properties.observed import Simulator
from tests.properties.strategies import Scene
from tests.reference.model import Config, RefNode
from tests.reference.simulator import simulate


@pytest.fixture(scope="module")
def roomy(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A policy that takes the host with the most free cores."""
    return known_to_reference(write_host_policy(tmp_path_factory.mktemp("roomy") / "best", most_free_cores))


@pytest.fixture(scope="module")
def tight(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A policy that has not learned anything since it began as best-fit."""
    folder = tmp_path_factory.mktemp("tight") / "best"
    return known_to_reference(write_host_policy(folder, order_temperature=1.0))


def test_each_task_sees_what_those_before_it_have_taken(simulator: Simulator, roomy: str) -> None:
    """The seven tasks of A go to hosts 0, 0, 0, 0, 0, 1 and 2: each where most cores are free, of equal ones the first.

    Hosts of 8, 4 and 4 cores::

        tasks placed   0 1 2 3 4 5 6 7
        host 0 free    8 7 6 5 4 3 3 3
        host 1 free    4 4 4 4 4 4 3 3
        host 2 free    4 4 4 4 4 4 4 3

    B has two tasks of two cores, C has one. ``worst-fit`` fills host 0 with A instead.
    """
    hosts = [RefNode(8000), RefNode(4000), RefNode(4000)]
    jobs = [job(0, 10, tasks=7), job(1, 10, tasks=2, cores=2), job(2, 10, cores=2)]
    config = Config(dispatch="greedy", placement=roomy)
    observed = simulator(jobs, hosts, config)
    assert nodes(observed) == [{0: 5, 1: 1, 2: 1}, {0: 1, 1: 1}, {2: 1}]
    assert starts_s(observed) == [0, 1, 2]
    filled = simulator(jobs, hosts, replace(config, placement="worst-fit"))
    assert nodes(filled)[0] == {0: 7}


def test_a_job_of_one_task_goes_where_the_policy_likes(simulator: Simulator, tight: str) -> None:
    """An untrained residual is best-fit: least free cores, then least free memory, then the lower number.

    Hosts of 4, 2, 2 and 2 cores, with 8, 8, 4 and 4 MB::

        job  cores  MB   host   why
        A    1      1    2      2 cores are least, 4 MB are least of those; 2 comes before 3
        B    1      1    2      one core left
        C    1      4    3      A and B have taken host 2
        D    2      4    1      2 free cores; on host 3 is one
        E    2      8    0      the only one: the policy is not asked
    """
    hosts = [RefNode(4000, 8), RefNode(2000, 8), RefNode(2000, 4), RefNode(2000, 4)]
    jobs = [
        job(0, 50, cores=1, memory_mb=1),
        job(1, 50, cores=1, memory_mb=1),
        job(2, 50, cores=1, memory_mb=4),
        job(3, 50, cores=2, memory_mb=4),
        job(4, 50, cores=2, memory_mb=8),
    ]
    for placement in (tight, "best-fit"):
        observed = simulator(jobs, hosts, Config(dispatch="strict", placement=placement))
        assert nodes(observed) == [{2: 1}, {2: 1}, {3: 1}, {1: 1}, {0: 1}]
        assert starts_s(observed) == [0, 1, 2, 3, 4]


def test_gpus_are_a_matter_of_the_mask(roomy: str) -> None:
    """Host 0 has the most cores and no GPU; of types, only those with room for all tasks are offered.

    Hosts: 16 cores; 9 cores and 2 GPUs of type 0; 4 cores and 2 GPUs of type 1; 6 cores and 1 GPU of type 1. A takes a
    GPU of host 1, the roomiest that has one. B needs three, which type 1 alone has: 3 (6 cores), then 2, and 2 again.
    """
    hosts = (
        RefNode(16_000),
        RefNode(9000, gpus=2, gpu_type=0),
        RefNode(4000, gpus=2, gpu_type=1),
        RefNode(6000, gpus=1, gpu_type=1),
    )
    scene = Scene(hosts, (job(0, 10, gpus=1), job(1, 10, tasks=3, gpus=1), job(2, 10, cores=1)))
    config = Config(dispatch="greedy", placement=roomy)
    core, _ = gpu_adapter.run_core(scene, config)
    for result in (core, simulate(scene.jobs, scene.nodes, config)):
        assert result.start_ms == [0, 1000, 2000]
        allocations = [{share.node: share.tasks for share in one} for one in result.allocation]
        assert allocations == [{1: 1}, {3: 1, 2: 2}, {0: 1}]


@pytest.mark.parametrize("dispatch", ["conservative", "2"])
def test_reservations_go_where_the_policy_would_put_them_then(simulator: Simulator, dispatch: str, roomy: str) -> None:
    """C and D cannot start; at 5 host 1 has most free, at 10 host 0. E, short, passes both.

    Hosts of 4 and 3 cores::

        second        0         1
                      0123456789012345
        host 0 core 1 AAAAAAAAAADDDDDD
               core 2 AAAAAAAAAADDDDDD
               core 3 AAAAAAAAAADDDDDD
               core 4 ..EE.....FFFFFFF  (F waits for nobody: it comes at 9)
        host 1 core 1 BBBBBCCCCCCCCCCC
               core 2 BBBBBCCCCCCCCCCC
               core 3 BBBBBCCCCCCCCCCC
    """
    jobs = [
        job(0, 10, cores=3),  # A
        job(0, 5, cores=3),  # B
        job(1, 20, cores=3),  # C
        job(1, 6, cores=3),  # D
        job(2, 2),  # E
        job(9, 7),  # F
    ]
    observed = simulator(jobs, [RefNode(4000), RefNode(3000)], Config(dispatch=dispatch, placement=roomy))
    assert starts_s(observed) == [0, 0, 5, 10, 2, 9]
    assert nodes(observed) == [{0: 1}, {1: 1}, {1: 1}, {0: 1}, {0: 1}, {0: 1}]
