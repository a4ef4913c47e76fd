"""Full queues on small clusters from a plain generator, for the rare clashes that shrinkable draws seldom find."""

from __future__ import annotations

from random import Random

from tests.properties.strategies import (
    CROWDED,
    GPUS,
    MIXED,
    PLACEMENTS,
    POOL,
    PRIORITIES,
    QUEUES,
    SECOND_MS,
    SIZE_BY,
    USERS,
    Palette,
    Scene,
    modest,
)
from tests.reference.model import Config, RefJob, RefNode


def crowd(random: Random) -> Scene:
    """Returns a cluster and six to fourteen jobs that nearly all arrive before the first one ends."""
    palette = random.choice([CROWDED, CROWDED, GPUS, MIXED, POOL])
    count = 1 if palette is POOL else random.choice([2, 2, 3, 4])
    alike = random.random() < 0.7
    first = random_node(random, palette)
    nodes = tuple(first if alike else random_node(random, palette) for _ in range(count))
    jobs: list[RefJob] = []
    for _ in range(random.randint(6, 14)):
        submit_ms = (jobs[-1].submit_ms if jobs else 0) + random.choice([0, 0, 0, 700, SECOND_MS])
        jobs.append(modest(random_job(random, palette, submit_ms), nodes))
    return Scene(nodes, tuple(jobs))


def random_node(random: Random, palette: Palette) -> RefNode:
    """Returns a node of the palette."""
    return RefNode(
        random.choice(palette.node_cores_milli), random.choice(palette.node_memory_mb), random.choice(palette.node_gpus)
    )


def random_job(random: Random, palette: Palette, submit_ms: int) -> RefJob:
    """Returns a job of the palette; one of six outlives its request."""
    run_ms = random.choice([1, 2, 3, 4, 5, 6, 8, 10, 12, 15]) * SECOND_MS
    return RefJob(
        submit_ms,
        run_ms,
        requested_ms=max(0, run_ms + random.choice([0, 0, 0, 2, 5, -3]) * SECOND_MS),
        tasks=random.choice(palette.tasks),
        cores_milli=random.choice(palette.cores_milli),
        memory_mb=random.choice(palette.memory_mb),
        gpu_milli=random.choice(palette.gpu_milli),
        user=random.choice(USERS),
        queue=random.choice(QUEUES),
        priority=random.choice(PRIORITIES),
    )


def crowd_config(random: Random, dispatch: str) -> Config:
    """Returns a configuration in which the order stands still or changes with each arrival."""
    return Config(
        policy=random.choice(["fcfs", "fcfs", "sjf", "random"]),
        dispatch=dispatch,
        placement=random.choice(PLACEMENTS),
        max_wait_ms=random.choice([None, None, 6000]),
        seed=random.getrandbits(63),
        size_by=random.choice(SIZE_BY),
    )
