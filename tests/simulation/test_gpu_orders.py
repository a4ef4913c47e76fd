"""On logs of GPU clusters, each policy goes by what binds, as one plain line of Python says; no two are the same."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from functools import cache
from itertools import combinations, pairwise

import numpy as np
import polars as pl
import pytest

from shunter import read_cluster, read_workload, simulate
from shunter.model.cluster import Cluster, Node
from shunter.model.log import Log
from shunter.model.size import resolved_size_by
from shunter.model.workload import Workload
from shunter.policies.scheduler import resolve_scheduler
from shunter.simulation import Simulation
from tests.simulation.test_policy_orders import STANDING, Waits

HALF_LIFE_S = 604_800.0
FORMULAS: dict[str, Callable[[Waits], float]] = {
    **{name: STANDING[name] for name in ("smallest", "largest", "saf", "laf", "srf", "lrf", "f1", "f2", "f3", "f4")},
    "qssf": STANDING["saf"],
    "wfp3": lambda job: -((job.w / max(job.r, 1)) ** 3) * job.n,
    "unicef": lambda job: -job.w / (max(math.log2(job.n), 1e-15) * max(job.r, 1)),
    "linear?size=0.6&wait=0.1": lambda job: math.log(max(job.r, 1)) + 0.6 * math.log(job.n) - job.w / 36_000,
}
"""Of jobs that all ask for something, so that no size is 0."""
LOGS = ("bursty-gpu", "helios-like", "philly-like", "pods")
NINE = ("saf", "smallest", "largest", "laf", "f1", "f2", "f3", "f4", "wfp3", "unicef", "srf", "lrf", "fcfs")


def crowded(workload: Workload, cluster: Cluster) -> Log:
    """Returns the first jobs of a log as if all had come within minutes, so that most of them wait."""
    jobs = workload.jobs.filter(pl.col("run_s") > 0).head(400)
    submit_s = pl.Series("submit_s", np.arange(jobs.height) * 2.0 + 1000.0)
    return Log(Workload.from_frame(jobs.with_columns(submit_s), name=workload.name), cluster)


def pods() -> Workload:
    """Returns jobs of a task each, as on openb: cores in thousandths, and parts of a GPU or several."""
    draw = random.Random(4)
    jobs = [
        {
            "submit_s": 0.0,
            "run_s": float(round(draw.lognormvariate(7, 2)) + 1),
            "cores_per_task": round(draw.uniform(0.5, 32), 3),
            "gpus_per_task": draw.choice([0.0, 0.27, 0.46, 0.81, 1.0, 1.0, 2.0, 4.0, 8.0]),
        }
        for _ in range(400)
    ]
    return Workload.from_frame(pl.DataFrame(jobs), name="pods")


@cache
def log_of(name: str) -> Log:
    """Returns a crowded log, on a part of a machine."""
    if name == "pods":
        return crowded(pods(), Cluster.from_nodes((Node("n0", 96, None, 8),), name=name))
    workload = read_workload(f"generate:{name}?seed=3")
    if name == "bursty-gpu":
        return crowded(workload, Cluster.from_nodes(read_cluster("gpu-64").nodes[:2], name="two"))
    cores = {"helios-like": 48, "philly-like": 24}[name]
    nodes = tuple(Node(f"n{k}", cores, None, 8) for k in range(2))
    return crowded(workload, Cluster.from_nodes(nodes, name=name))


def plain_sizes(log: Log) -> tuple[str, dict[int, float]]:
    """Returns what binds and the sizes of the jobs, as the page says."""
    jobs, cluster = log.workload.jobs, log.cluster
    cores, gpus = cluster.total_cores, cluster.total_gpus
    most_cores, most_gpus = max(node.cores for node in cluster.nodes), max(node.gpus for node in cluster.nodes)
    rows = list(jobs.select("run_s", "tasks", "cores_per_task", "gpus_per_task").iter_rows())
    load = {"cores": 0.0, "gpus": 0.0}
    for run_s, tasks, each_cores, each_gpus in rows:
        at_once = sum(
            min(
                node.cores // each_cores if each_cores else 10**9,
                (node.gpus // each_gpus if each_gpus >= 1 else node.gpus * (1 // each_gpus)) if each_gpus else 10**9,
            )
            for node in cluster.nodes
        )
        if at_once >= tasks and each_cores <= most_cores and each_gpus <= most_gpus:
            load["cores"] += run_s * tasks * each_cores / cores
            load["gpus"] += run_s * tasks * each_gpus / gpus
    binds = "gpus" if load["gpus"] > load["cores"] else "cores"
    capacity = {"cores": cores, "gpus": gpus}[binds]
    shares = [max(tasks * c / cores, tasks * g / gpus) for _, tasks, c, g in rows]
    return binds, {place: share * capacity for place, share in enumerate(shares)}


def in_the_crowd(log: Log, policy: str) -> Simulation:
    """Returns a simulation in which most jobs wait."""
    scheduler = resolve_scheduler(policy=policy, dispatch="strict", estimate="perfect", scan_depth=10_000)
    simulation = Simulation(log.workload, log.cluster, scheduler)
    while simulation.advance() and simulation.status().now_s < 1800:
        simulation.dispatch()
    assert simulation.status().waiting > 100
    return simulation


@pytest.mark.parametrize("policy", FORMULAS)
@pytest.mark.parametrize("name", LOGS)
def test_each_policy_goes_by_what_binds(name: str, policy: str) -> None:
    log = log_of(name)
    binds, sizes = plain_sizes(log)
    assert resolved_size_by("auto", log.workload, log.cluster) == binds
    simulation = in_the_crowd(log, policy)
    now_s, jobs = simulation.status().now_s, log.workload.jobs
    scores = []
    for place in simulation.waiting().tolist():
        r, s = jobs["run_s"][place], jobs["submit_s"][place]
        r = round(r * 1000) / 1000
        n = max(sizes[place], 0.001)
        late = max(1.0, s - jobs["submit_s"][0])
        waits = Waits(r=r, n=n, s=late, w=now_s - s, user=None, queue=None, priority=None, area=0.0)
        scores.append((FORMULAS[policy](waits), place))
    for (one, first), (other, second) in pairwise(scores):
        # Sizes are rounded to millionths, which matters in sums of much larger numbers, and in logarithms near 0.
        assert one <= other or math.isclose(one, other, rel_tol=1e-5, abs_tol=1e-5), (first, second)
        assert one != other or first < second
    assert len({round(score, 6) for score, _ in scores}) > 3


@pytest.mark.parametrize("name", LOGS)
def test_fair_share_counts_what_binds(name: str) -> None:
    """The user of the first waiting job has used least, in sizes times seconds."""
    log = log_of(name)
    _, sizes = plain_sizes(log)
    jobs = log.workload.jobs.with_columns(user=pl.Series([f"u{place % 5}" for place in range(len(log.workload))]))
    log = Log(Workload.from_frame(jobs, name=name), log.cluster)
    simulation = in_the_crowd(log, "fair-share")
    states, now_ms = simulation.job_states(), simulation.status().now_s * 1000
    used = dict.fromkeys((f"u{user}" for user in range(5)), 0.0)
    for place in np.flatnonzero(states.start_ms >= 0).tolist():
        began, ended = ((now_ms - min(time, now_ms)) / 1000 for time in (states.start_ms[place], states.end_ms[place]))
        until = ended if states.end_ms[place] >= 0 else 0.0
        weight = (2 ** (-until / HALF_LIFE_S) - 2 ** (-began / HALF_LIFE_S)) * HALF_LIFE_S / math.log(2)
        used[jobs["user"][place]] += sizes[place] * weight
    order = [jobs["user"][place] for place in simulation.waiting().tolist()]
    firsts = list(dict.fromkeys(order))
    assert firsts == sorted(firsts, key=lambda user: used[user])


@pytest.mark.parametrize("name", ["bursty-gpu", "helios-like"])
def test_no_two_policies_give_the_same_schedule(name: str) -> None:
    log = log_of(name)
    made = {
        policy: simulate(log.workload, log.cluster, policy=policy, estimate="perfect").content_sha256 for policy in NINE
    }
    same = [pair for pair in combinations(NINE, 2) if made[pair[0]] == made[pair[1]]]
    assert same == []


def test_cores_alone_is_as_before() -> None:
    """On a log without cores, orders by size were first come, first served."""
    nodes = tuple(Node(f"n{k}", 48, None, 8) for k in range(2))
    jobs = log_of("bursty-gpu").workload.jobs.with_columns(cores_per_task=pl.lit(0.0))
    workload, cluster = Workload.from_frame(jobs, name="no cores"), Cluster.from_nodes(nodes, name="two")
    plain = simulate(workload, cluster, policy="fcfs").content_sha256
    for policy in ("smallest", "largest"):
        before = simulate(workload, cluster, policy=policy, size_by="cores-alone")
        now = simulate(workload, cluster, policy=policy)
        assert (before.content_sha256, before.size_by) == (plain, "cores-alone")
        assert now.size_by == "gpus"
        assert now.content_sha256 != plain


def test_all_windows_of_a_log_agree() -> None:
    """The first half asks for GPUs and the second for cores alone, of which there are plenty."""
    frame = pl.DataFrame(
        {
            "submit_s": [float(place) for place in range(200)],
            "run_s": [100.0] * 200,
            "cores_per_task": [1.0] * 100 + [4.0] * 100,
            "gpus_per_task": [4.0] * 100 + [0.0] * 100,
        }
    )
    workload = Workload.from_frame(frame, name="halves")
    cluster = Cluster.from_nodes((Node("n0", 64, None, 8),), name="one")
    windows = [workload.window(0, 100), workload.window(100, 100), workload.window(100, 100).window(50, 10), workload]
    assert [resolved_size_by("auto", window, cluster) for window in windows] == ["gpus"] * 4
    alone = Workload.from_frame(frame[100:], name="second half")
    assert resolved_size_by("auto", alone, cluster) == "cores"
    assert simulate(windows[1], cluster, policy="smallest").size_by == "gpus"
