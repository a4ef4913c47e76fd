"""Each policy by name puts a queue into the order that one plain line of Python says, whatever the reference says."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TypeAlias

import pytest

from shunter.simulation import Simulation
from tests.properties.strategies import Scene
from tests.reference.model import Config, RefJob, RefNode
from tests.simulation.driving import open_scene

CORES = 64
LAST_S = 5000
HALF_LIFE_S = 3600
HELD = {"ann": 20, "bob": 33, None: 10}
"""How many cores a job of each user holds all the time; one core is free, too few for anybody who waits."""
SINCE_S = {"ann": 0, "bob": 1000, None: 2000}
"""Since when."""


@dataclass(frozen=True)
class Waits:
    """A waiting job at the last instant, in seconds and cores."""

    r: float
    n: float
    s: float
    w: float
    user: str | None
    queue: str | None
    priority: float | None
    area: float
    """The area of the whole queue, in core-seconds."""


Formula: TypeAlias = Callable[[Waits], float]


def log10(value: float) -> float:
    """Returns the decimal logarithm; what is not positive counts as 0.1."""
    return math.log10(value) if value > 0 else -1.0


def used(user: str | None) -> float:
    """Returns the core-seconds of a user, each second weighed by its age."""
    age_s = LAST_S - SINCE_S.get(user, LAST_S)
    return HELD.get(user, 0) * (1 - 2 ** (-age_s / HALF_LIFE_S)) * HALF_LIFE_S / math.log(2)


def factor(user: str | None, share: float) -> float:
    """Returns Slurm's fair-share factor."""
    return float(2 ** (-used(user) / sum(map(used, HELD)) / share))


STANDING: dict[str, Formula] = {
    "fcfs": lambda job: job.s,
    "fifo": lambda job: job.s,
    "first-available": lambda job: job.s,
    "lcfs": lambda job: -job.s,
    "sjf": lambda job: job.r,
    "ljf": lambda job: -job.r,
    "smallest": lambda job: job.n,
    "largest": lambda job: -job.n,
    "saf": lambda job: job.r * job.n,
    "laf": lambda job: -job.r * job.n,
    "srf": lambda job: job.r / job.n,
    "lrf": lambda job: -job.r / job.n,
    "f1": lambda job: log10(job.r) * job.n + 870 * log10(job.s),
    "f2": lambda job: math.sqrt(job.r) * job.n + 25600 * log10(job.s),
    "f3": lambda job: job.r * job.n + 6860000 * log10(job.s),
    "f4": lambda job: job.r * math.sqrt(job.n) + 530000 * log10(job.s),
    "hybrid": lambda job: job.r - job.w,
    "hybrid?aging=0.25": lambda job: job.r - job.w / 4,
    "priority": lambda job: -(job.priority or 0),
}

MOVING: dict[str, Formula] = {
    "sexp": lambda job: (job.w + job.r) / job.r,
    "lexp": lambda job: -(job.w + job.r) / job.r,
    "wfp3": lambda job: -((job.w / job.r) ** 3) * job.n,
    "unicef": lambda job: -job.w / (math.log2(job.n) * job.r),
    f"fair-share?half_life_s={HALF_LIFE_S}": lambda job: used(job.user),
    f"multifactor?half_life_s={HALF_LIFE_S}&max_age_s=3000": lambda job: (
        -min(job.w / 3000, 1) - job.n / CORES - factor(job.user, 1 / 4)
    ),
    "multifactor?age=3&size=70&fair_share=0": lambda job: -3 * job.w / 604_800 - 70 * job.n / CORES,
    "multifactor?age=30&size=1&fair_share=0&favor_small=1": lambda job: -30 * job.w / 604_800 + job.n / CORES,
    "linear": lambda job: job.r,
    "linear?estimate=1&size=0.37": lambda job: job.r * job.n**0.37,
    "linear?estimate=1&wait=2&wait_ratio=0.1": lambda job: math.log(job.r) - job.w / 1800 - job.w / job.r / 10,
    "linear?estimate=0&size=-1&free_estimate=40": lambda job: math.log(job.r) * 40 / CORES - math.log(job.n),
    "linear?estimate=-1&free_size=-128": lambda job: -2 * math.log(job.n) - math.log(job.r),
    "linear?estimate=0&wait=1&queue_estimate=-1&queue_size=0.5": lambda job: (
        math.log(1 + job.area / CORES / 3600) * math.log(math.sqrt(job.n) / job.r) - job.w / 3600
    ),
}


def busy_cluster(random: Random) -> Scene:
    """Returns a cluster on which nobody can start, and thirty jobs that wait for it, some of them alike."""
    holders = [
        RefJob(SINCE_S[user] * 1000, 10**9, cores_milli=HELD[user] * 1000, user=user, requested_ms=10**9)
        for user in HELD
    ]
    waiting = [
        RefJob(
            submit_ms=random.randrange(2001, LAST_S) * 1000,
            run_ms=1000,
            requested_ms=random.choice([1000, 2000, 7500, 60_000, 600_000, random.randrange(1000, 9_000_000)]),
            cores_milli=random.choice([2, 2, 4, 8, 8, 13, 48, 64]) * 1000,
            user=random.choice(["ann", "bob", "eve", None]),
            queue=random.choice(["high", "low", None]),
            priority=random.choice([None, 0.0, 3.0, -1.0]),
        )
        for _ in range(29)
    ]
    last = RefJob(LAST_S * 1000, 1000, requested_ms=5000, cores_milli=2000, user="eve")
    return Scene((RefNode(CORES * 1000),), tuple(sorted([*holders, *waiting, last], key=lambda job: job.submit_ms)))


def at_the_end(scene: Scene, config: Config) -> Simulation:
    """Returns the simulation at the instant of the last arrival, before anything is decided."""
    simulation = open_scene(scene, config)
    while simulation.advance() and simulation.status().now_s < LAST_S:
        simulation.dispatch()
    assert simulation.status().waiting == 30
    return simulation


def waiting_jobs(scene: Scene) -> dict[int, Waits]:
    """Returns those that wait, by their places in the table."""
    waiting = {place: job for place, job in enumerate(scene.jobs) if job.run_ms == 1000}
    area = sum((job.requested_ms or 0) / 1000 * job.cores_milli / 1000 for job in waiting.values())
    return {
        place: Waits(
            r=(job.requested_ms or 0) / 1000,
            n=job.cores_milli / 1000,
            s=job.submit_ms / 1000,
            w=LAST_S - job.submit_ms / 1000,
            user=job.user,
            queue=job.queue,
            priority=job.priority,
            area=area,
        )
        for place, job in waiting.items()
    }


def check_order(policy: str, formula: Formula, scene: Scene) -> None:
    """Asserts that the jobs stand in the order of the formula; what is equal to the eye goes by the table."""
    waiting = waiting_jobs(scene)
    simulation = at_the_end(scene, Config(policy=policy, dispatch="strict"))
    expected = sorted(waiting, key=lambda place: (round(formula(waiting[place]), 9), place))
    assert simulation.waiting().tolist() == expected


@pytest.mark.every(6)
@pytest.mark.parametrize("policy", [*STANDING, *MOVING])
def test_the_order_is_that_of_the_formula(policy: str) -> None:
    for seed in range(10):
        check_order(policy, {**STANDING, **MOVING}[policy], busy_cluster(Random(f"{policy} {seed}")))


def test_a_file_gives_weights_by_name(tmp_path: Path) -> None:
    """Partitions make no difference here: their weight is tested where the reference is."""
    path = tmp_path / "site.toml"
    path.write_text(
        '[policy]\nkind = "multifactor"\nage = 10\nsize = 0\nfair_share = 8\nqos = 5\npriority = 2\n'
        f"max_age_s = 10000\nhalf_life_s = {HALF_LIFE_S}\n"
        "[policy.queues]\nhigh = 1.0\nlow = 0.25\n[policy.shares]\nann = 2\nnobody = 7\n"
    )
    qos = {"high": 5.0, "low": 1.25, None: 0.0}
    for seed in range(10):
        check_order(
            str(path),
            lambda job: (
                -(
                    job.w / 1000
                    + qos[job.queue]
                    + 2 * (job.priority or 0)
                    + 8 * factor(job.user, 2 / 5 if job.user == "ann" else 1 / 5)
                )
            ),
            busy_cluster(Random(seed)),
        )


def test_an_order_that_moves_is_made_among_those_that_have_waited_longest() -> None:
    scene = busy_cluster(Random(3))
    waiting = waiting_jobs(scene)
    eldest = sorted(waiting)[:7]
    simulation = at_the_end(scene, Config(policy="wfp3", dispatch="strict", scan_depth=7))
    expected = sorted(eldest, key=lambda place: MOVING["wfp3"](waiting[place]))
    assert simulation.waiting().tolist()[:7] == expected


def test_random_orders_are_drawn_once_or_at_every_pass() -> None:
    scene = busy_cluster(Random(4))
    once, again = (
        [at_the_end(scene, Config(policy=policy, dispatch="greedy", seed=seed)) for seed in (1, 1, 2)]
        for policy in ("random", "random-feasible")
    )
    for first, same, other in (once, again):
        order = first.waiting().tolist()
        assert same.waiting().tolist() == order != other.waiting().tolist()
        assert sorted(order) == sorted(waiting_jobs(scene))
