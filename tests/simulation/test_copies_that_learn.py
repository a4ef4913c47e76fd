"""Copies of simulations that remember: what has been learned of users, and what they have used, goes with them."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from shunter import Cluster
from shunter.policies.scheduler import resolve_scheduler
from shunter.simulation import Simulation
from tests.properties.core_adapter import workload_of
from tests.properties.crowds import crowd, crowd_config
from tests.properties.strategies import DISPATCHES, LEARNED_ESTIMATES, MOVING, Scene
from tests.reference.model import Config, RefJob
from tests.simulation.driving import finish, observe, open_scene, reopen, state_of
from tests.simulation.estimating import job, opened, told

AGED = [job(0, 10), job(1, 8, user="bob"), job(12, 1, user="bob"), job(12, 1)]
"""On one core: ann's from 0 to 10 s, bob's from 10 to 18 s, then one of each."""
FADING = "fair-share?half_life_s=10"


def copies_of(scene: Scene, config: Config, original: Simulation) -> dict[str, Simulation]:
    """Returns a copy of each kind; reservations and commitments are in no snapshot."""
    copies = {"fork": original.fork(), "bytes": reopen(scene, original.serialize())}
    if config.dispatch in ("strict", "greedy", "easy"):
        loaded = open_scene(scene, config)
        loaded.load(original.snapshot())
        copies["snapshot"] = loaded
    return copies


@pytest.mark.every(6)
@pytest.mark.parametrize("estimate", ["requested", *LEARNED_ESTIMATES])
@pytest.mark.parametrize("policy", [*MOVING, "sjf"])
def test_copies_continue_alike_from_every_instant(policy: str, estimate: str) -> None:
    random = Random(f"{policy} {estimate}")
    scene = crowd(random)
    dispatch = random.choice(DISPATCHES)
    config = replace(crowd_config(random, dispatch), policy=policy, estimate=estimate)
    check_every_instant(scene, config)


def test_copies_of_random_orders_continue_alike() -> None:
    random = Random("random-feasible")
    for _ in range(5):
        config = replace(crowd_config(random, "greedy"), policy="random-feasible")
        check_every_instant(crowd(random), config)


def check_every_instant(scene: Scene, config: Config) -> None:
    """Asserts that copies made before each decision of a run end as it does."""
    whole = open_scene(scene, config)
    end = finish(whole)
    original = open_scene(scene, config)
    while original.advance():
        for kind, copy in copies_of(scene, config, original).items():
            assert copy.waiting().tolist() == original.waiting().tolist()
            copy.dispatch()
            if kind == "snapshot":
                copy.run()
                assert observe(copy) == observe(whole)
            else:
                assert finish(copy) == end
        original.dispatch()
    assert state_of(original) == end


# ---- by hand ----


def on_one_core(jobs: list[RefJob], until_s: float, **settings: Any) -> list[Simulation]:  # noqa: ANN401
    """Returns a simulation before its decision at this time, restored from bytes, and loaded from a snapshot."""
    original, loaded = opened(jobs, **settings), opened(jobs, **settings)
    while original.advance() and original.status().now_s < until_s:
        original.dispatch()
    assert original.status().now_s == until_s
    restored = Simulation.restore(workload_of(jobs), Cluster.pool(1), original.serialize())
    loaded.load(original.snapshot())
    return [original, restored, loaded]


def test_what_users_have_used_is_copied() -> None:
    for copy in on_one_core(AGED, 12, policy=FADING, dispatch="strict"):
        assert copy.waiting().tolist() == [2, 3], "at 12 s, ann's use is 6.3 core-seconds, and bob's 1.9"
        copy.dispatch()
        copy.run()
        assert (copy.job_states().start_ms / 1000).tolist() == [0, 10, 19, 18]


def test_what_has_been_learned_is_copied() -> None:
    jobs = [job(0, 10), job(0, 20), job(1, 4), job(1, 4)]
    for copy in on_one_core(jobs, 10, estimate="last-two"):
        assert told(copy)[2] == (200_000, "request")
        copy.dispatch()
        copy.advance()
        assert told(copy)[2:] == [(15_000, "learned")] * 2


def test_what_was_known_before_the_window_is_copied() -> None:
    past = [replace(job(0, 10), logged_wait_ms=0)]
    workload = workload_of([*past, job(20, 30), job(20, 1)]).window(1)
    settings = resolve_scheduler(estimate="last-two")
    original, loaded = (Simulation(workload, Cluster.pool(1), settings) for _ in range(2))
    original.run(1)
    loaded.load(original.snapshot())
    for copy in (original, loaded, Simulation.restore(workload, Cluster.pool(1), original.serialize())):
        copy.run()
        assert told(copy)[1] == (20_000, "learned")


def test_what_jobs_had_started_on_is_in_a_copy() -> None:
    jobs = [job(0, 10), job(0, 20), job(1, 4), job(1, 4)]
    expected = [(200_000, "request"), (200_000, "request"), (15_000, "learned"), (12_000, "learned")]
    for copy in on_one_core(jobs, 30, estimate="last-two"):
        copy.dispatch()
        copy.run()
        assert told(copy) == expected


def test_limits_that_were_learned_are_in_a_copy() -> None:
    """Reservations go by the estimate as it was when the job arrived, though more has been learned since."""
    jobs = [job(0, 10), job(0, 10), job(21, 10), job(22, 5, 5, user="bob", tasks=2), job(22, 100, 100, user="eve")]
    settings = resolve_scheduler(estimate="last-two", reserve_by="estimate")
    original, loaded = (Simulation(workload_of(jobs), Cluster.pool(2), settings) for _ in range(2))
    while original.advance() and original.status().now_s < 22:
        original.dispatch()
    loaded.load(original.snapshot())
    for copy in (original, loaded):
        copy.dispatch()
        copy.run()
        # Ann's third job is known to take 10 s: bob's has the reservation at 31 s, and eve's would delay it.
        assert (copy.job_states().start_ms / 1000).tolist() == [0, 0, 21, 31, 36]
