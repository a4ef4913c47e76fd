"""Policies that stop jobs and learn: what is known before a window, and copies in the middle of a run."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from shunter.errors import InputError
from shunter.model.cluster import Cluster
from shunter.policies.scheduler import Scheduler, resolve_scheduler
from shunter.simulation import Simulation, WindowRunner
from tests.properties.core_adapter import cluster_of, workload_of
from tests.properties.crowds import crowd, crowd_config
from tests.properties.strategies import SECOND_MS, Scene
from tests.properties.test_learned_estimates import check_equal, in_the_past
from tests.properties.test_moving_copies import check_continue_alike
from tests.reference.model import Config, RefJob
from tests.reference.simulator import simulate
from tests.simulation.driving import observe, open_scene, reopen, settings_of

GITTINS = [
    "gittins",
    "gittins?bins=8&shortest_s=1&growth=1.5",
    "gittins?bins=4&shortest_s=2&growth=2&decay=0.6&common_decay=0.8&shrinkage=0.5",
]
POLICIES = [*GITTINS, "srsf", "srtf", "las"]


def random_way(random: Random, policy: str) -> Config:
    """Returns one way to schedule by a policy that stops jobs."""
    return replace(
        crowd_config(random, "greedy"),
        policy=policy,
        estimate=random.choice(["requested", "last-two", "posterior", "history"]),
        minimum_run_ms=random.choice([0, 0, 2 * SECOND_MS]),
        preemption_overhead_ms=random.choice([0, 0, 700]),
        preemption_overhead_per_gb_ms=random.choice([0, 0, 250_000]),
        keep_progress=random.random() < 0.7,
        kill_at_request=random.random() < 0.2,
    )


def with_a_past(random: Random) -> tuple[Scene, tuple[RefJob, ...]]:
    """Returns a scene, and the jobs of the log before it."""
    past, scene = crowd(random), crowd(random)
    # In the middle of a log that had begun long before.
    jobs = tuple(replace(job, submit_ms=job.submit_ms + 200 * SECOND_MS) for job in scene.jobs)
    waits_ms = [random.choice([None, 0, 3 * SECOND_MS]) for _ in range(3)]
    return replace(scene, jobs=jobs), in_the_past(past, jobs[0].submit_ms, random.choice([0, 20_000]), waits_ms)


@pytest.mark.every(5)
@pytest.mark.parametrize("policy", POLICIES)
def test_what_is_known_before_a_window(policy: str) -> None:
    random = Random(f"before {policy}")
    for _ in range(15):
        scene, before = with_a_past(random)
        config = random_way(random, policy)
        check_equal(scene, config, before)
        windows = WindowRunner(workload_of([*before, *scene.jobs]), cluster_of(scene.nodes))
        results = windows.run(settings_of(config), [len(before)], len(scene.jobs))
        starts_ms = simulate(scene.jobs, scene.nodes, config, before).start_ms
        assert results.start_ms[0].tolist() == [-1 if start_ms is None else start_ms for start_ms in starts_ms]


def of_many_shapes(random: Random) -> Scene:
    """Returns a cluster on which so many different jobs wait that the core looks through a tree of their shapes."""
    scene = crowd(random)
    nodes = tuple(replace(node, memory_mb=100) for node in scene.nodes)
    memory_mb = random.sample(range(1, 50), 20)
    jobs = [replace(job, memory_mb=each) for job, each in zip(scene.jobs * 4, memory_mb, strict=False)]
    return Scene(nodes, tuple(sorted(jobs, key=lambda job: job.submit_ms)))


@pytest.mark.every(5)
@pytest.mark.parametrize("policy", POLICIES)
def test_many_shapes_wait_at_once(policy: str) -> None:
    random = Random(f"many shapes {policy}")
    for _ in range(25):
        # So many jobs that take turns, and lose what they have done each time, may never end.
        config = replace(random_way(random, policy), keep_progress=True, preemption_overhead_per_gb_ms=0)
        check_equal(of_many_shapes(random), config)


def test_jobs_that_take_turns_for_ever_are_an_error() -> None:
    """Two jobs of ten seconds on one core, of which each may be stopped after two, and loses what it has done."""
    jobs = [RefJob(0, 10 * SECOND_MS, requested_ms=20 * SECOND_MS, cores_milli=1000) for _ in range(2)]

    def way(progress: str) -> Scheduler:
        return resolve_scheduler(policy="las", dispatch="greedy", min_run_s=2.0, preempted_progress=progress)

    table, cluster = workload_of(jobs), Cluster.pool(1)
    with pytest.raises(InputError, match="they take turns for ever"):
        Simulation(table, cluster, way("lost")).run()
    with pytest.raises(InputError, match="they take turns for ever"):
        WindowRunner(table, cluster).run(way("lost"), [0], 2)
    assert Simulation(table, cluster, way("kept")).run()


@pytest.mark.parametrize("policy", POLICIES)
def test_copies_go_on_alike(policy: str) -> None:
    random = Random(f"copies {policy}")
    for _ in range(8):
        scene, config = crowd(random), random_way(random, policy)
        original = open_scene(scene, config)
        for _ in range(random.randint(0, 12)):
            if not original.advance():
                break
            original.dispatch()
        check_continue_alike([original, original.fork(), reopen(scene, original.serialize())], random.getrandbits(30))


@pytest.mark.parametrize("policy", POLICIES)
def test_a_snapshot_goes_on_alike(policy: str) -> None:
    """What was learned is learned again from when jobs ended, those before the window included."""
    random = Random(f"snapshots {policy}")
    for _ in range(12):
        scene, before = with_a_past(random)
        window, cluster = workload_of([*before, *scene.jobs]).window(len(before)), cluster_of(scene.nodes)
        scheduler = settings_of(random_way(random, policy))
        original, loaded = (Simulation(window, cluster, scheduler) for _ in range(2))
        for _ in range(random.randint(1, 20)):
            if not original.advance():
                break
            original.dispatch()
        loaded.load(original.snapshot())
        assert loaded.waiting().tolist() == original.waiting().tolist()
        assert original.run()
        assert loaded.run()
        assert observe(loaded) == observe(original)
