"""Driving a simulation by hand: advance, dispatch, fits, start."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter import InputError
from tests.properties import invariants
from tests.properties.crowds import crowd, crowd_config
from tests.properties.strategies import ESTIMATES, POLICIES, Scene, random_configs, random_scenes
from tests.reference.model import Config, RefJob, RefNode
from tests.simulation.driving import check_resources, drive, finish, nodes_of, observe, open_scene, running_jobs
from tests.support import examples

BY_LIST = ["strict", "greedy", "easy", "conservative", "2"]
ORDERS = [policy for policy in POLICIES if "reserve_below" not in policy and "hold_share" not in policy]
"""Policies that decide by their order alone: a list passes nobody over."""
PAIR = Scene((RefNode(4000), RefNode(2000)), (RefJob(0, 5000, tasks=3), RefJob(0, 3000, tasks=4)))
"""The first job leaves three cores, on two nodes."""


@examples(70)
@given(scene=random_scenes(), config=random_configs(estimates=ESTIMATES))
def test_by_hand_equals_run(scene: Scene, config: Config) -> None:
    simulation = open_scene(scene, config)
    clock_s = simulation.status().now_s
    while simulation.advance():
        status = simulation.status()
        assert status.now_s >= clock_s
        clock_s = status.now_s
        simulation.dispatch()
        check_resources(scene, simulation)
    status = simulation.status()
    assert (status.waiting, status.running, status.ended) == (0, 0, len(scene.jobs))
    run = open_scene(scene, config)
    finish(run)
    assert observe(simulation) == observe(run)
    invariants.check_every_job_ends_once(scene, config, observe(run))
    invariants.check_no_node_is_overfull(scene, observe(run))


@examples(80)
@given(scene=random_scenes(), config=random_configs(BY_LIST, policies=ORDERS, estimates=ESTIMATES))
def test_the_policys_own_order_as_a_list(scene: Scene, config: Config) -> None:
    """The rules find who may start in an index; a list goes through the general code instead."""
    check_list_equals_index(scene, config)


@pytest.mark.every(5)
@pytest.mark.parametrize("dispatch", BY_LIST)
def test_the_policys_own_order_as_a_list_in_crowds(dispatch: str) -> None:
    random = Random(dispatch)
    for _ in range(40):
        check_list_equals_index(crowd(random), crowd_config(random, dispatch))


def check_list_equals_index(scene: Scene, config: Config) -> None:
    """Asserts that both ways to decide agree after each decision; a list is cut at the scan depth, so it is deep."""
    indexed, listed = (open_scene(scene, replace(config, scan_depth=1000)) for _ in range(2))
    while indexed.advance():
        assert listed.advance()
        indexed.dispatch()
        listed.dispatch(listed.waiting())
        assert listed.status() == indexed.status()
    assert not listed.advance()
    assert observe(listed) == observe(indexed)


@pytest.mark.every(5)
@pytest.mark.parametrize("dispatch", BY_LIST)
def test_both_ways_to_decide_can_be_mixed(dispatch: str) -> None:
    random = Random(dispatch)
    for _ in range(40):
        scene, config = crowd(random), crowd_config(random, dispatch)
        mixed, run = open_scene(scene, config), open_scene(scene, config)
        while mixed.advance():
            mixed.dispatch(mixed.waiting() if random.random() < 0.5 else None)
            check_resources(scene, mixed)
        finish(run)
        assert observe(mixed) == observe(run)


def test_a_reservation_does_not_outlive_decisions_by_index() -> None:
    """One is given by a list, then another job goes first without a list: by the next list it is no longer good."""
    shortest_last = (
        RefJob(0, 6000, requested_ms=10_000, tasks=4),
        RefJob(1000, 9000, tasks=4),
        RefJob(2000, 8000, tasks=4),
        RefJob(10_000, 20_000, tasks=4),
    )
    scene = Scene((RefNode(4000),), shortest_last)
    simulation = open_scene(scene, Config(policy="sjf"))
    for is_listed in (False, True, False, False, True, False, True):
        assert simulation.advance()
        simulation.dispatch(simulation.waiting() if is_listed else None)
        check_resources(scene, simulation)
    finish(simulation)
    assert [seen.start_ms for seen in observe(simulation)] == [0, 14_000, 6000, 23_000]


@examples(50)
@given(scene=random_scenes(), config=random_configs(), count=st.integers(0, 5), seed=st.integers(0, 2**32))
def test_jobs_start_on_exactly_the_nodes_chosen(scene: Scene, config: Config, count: int, seed: int) -> None:
    simulation, random = open_scene(scene, config), Random(seed)
    drive(simulation, count)
    if not simulation.advance():
        return
    for job in random.sample(simulation.waiting().tolist(), simulation.status().waiting):
        chosen = thrown_tasks(scene, job, random)
        before = simulation.status()
        try:
            simulation.start(job, list(chosen), list(chosen.values()))
        except InputError:
            assert simulation.status() == before
        else:
            assert nodes_of(simulation, job) == tuple(sorted(chosen.items()))
            assert simulation.status().starts == before.starts + 1
        check_resources(scene, simulation)


def thrown_tasks(scene: Scene, job: int, random: Random) -> dict[int, int]:
    """Returns a job's tasks by node, thrown at random on any nodes, which may not have the room."""
    counts: dict[int, int] = {}
    for _ in range(scene.jobs[job].tasks):
        node = random.randrange(len(scene.nodes))
        counts[node] = counts.get(node, 0) + 1
    return counts


@examples(50)
@given(scene=random_scenes(), config=random_configs(), count=st.integers(0, 5))
def test_fits_says_whether_start_is_refused(scene: Scene, config: Config, count: int) -> None:
    simulation = open_scene(scene, config)
    drive(simulation, count)
    simulation.advance()
    for job in simulation.waiting().tolist():
        if simulation.fits(job):
            simulation.start(job)
            assert job in running_jobs(simulation)
        else:
            with pytest.raises(InputError, match=f"job {job} does not fit now"):
                simulation.start(job)
        check_resources(scene, simulation)


def test_the_room_that_is_left() -> None:
    simulation = open_scene(PAIR, Config())
    assert simulation.advance()
    assert simulation.fits(0)
    simulation.start(0, [0], [3])
    assert not simulation.fits(1)
    assert simulation.status().free_cores == 3.0
    with pytest.raises(InputError, match="does not fit now"):
        simulation.start(1, [0, 1], [2, 2])


@pytest.mark.parametrize(
    ("nodes", "tasks", "message"),
    [
        ([0], [2], "2 tasks were placed of a job that has 3"),
        ([0, 0], [2, 1], "node 0 with 1 tasks is not a place"),
        ([0, 1], [3, 0], "node 1 with 0 tasks is not a place"),
        ([7], [3], "node 7 with 3 tasks is not a place"),
    ],
)
def test_nodes_that_cannot_be_meant_are_refused(nodes: list[int], tasks: list[int], message: str) -> None:
    simulation = open_scene(PAIR, Config())
    assert simulation.advance()
    with pytest.raises(InputError, match=message):
        simulation.start(0, nodes, tasks)
    assert simulation.status().waiting == 2


def test_nodes_without_tasks_are_refused() -> None:
    simulation = open_scene(PAIR, Config())
    with pytest.raises(ValueError, match="1 nodes, but 0 numbers of tasks"):
        simulation.start(0, [0])


def test_only_waiting_jobs_start() -> None:
    simulation = open_scene(PAIR, Config())
    with pytest.raises(InputError, match="job 0 does not wait"):
        simulation.start(0)
    assert simulation.advance()
    simulation.start(0)
    with pytest.raises(InputError, match="job 0 does not wait"):
        simulation.start(0)
    with pytest.raises(InputError, match="job 2 is not one of"):
        simulation.start(2)


def test_an_order_names_waiting_jobs_once() -> None:
    simulation = open_scene(PAIR, Config(dispatch="greedy"))
    assert simulation.advance()
    with pytest.raises(InputError, match="job 1 is named twice"):
        simulation.dispatch([1, 0, 1])
    with pytest.raises(InputError, match="job 9 is not one of"):
        simulation.dispatch([9])
    simulation.dispatch([1])
    assert running_jobs(simulation) == [1]
    with pytest.raises(InputError, match="job 1 does not wait"):
        simulation.dispatch([1])
