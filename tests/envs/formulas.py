"""The objectives, written out slowly from ``docs/environments.md``, of a schedule that is there."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from shunter.model.log import Log
from shunter.simulation.simulation import Simulation

RAN = (3, 4)
"""Completed, and killed."""


@dataclass(frozen=True)
class Ran:
    """What happened to one job; times are in seconds since the episode began."""

    submit_s: float
    start_s: float
    end_s: float
    cores: float
    priority: float
    measured: bool
    parts: dict[int, float]
    """The part of each node's cores that it holds."""

    @property
    def wait_s(self) -> float:
        return self.start_s - self.submit_s

    @property
    def run_s(self) -> float:
        return self.end_s - self.start_s


def ran_jobs(log: Log, simulation: Simulation, first: int, warmup: int, late_s: float = 0.0) -> list[Ran]:
    """Returns the jobs of a simulation that ran.

    Args:
        log: The log and its cluster.
        simulation: Which is over.
        first: The place of its first job in the log.
        warmup: How many of its jobs are not measured.
        late_s: How much later everything was in the simulation than in the log.
    """
    states, placed = simulation.job_states(), simulation.snapshot()
    rows = log.workload.jobs.to_dicts()
    known = [row["priority"] for row in rows if row["priority"] is not None]
    began_s = round(rows[first]["submit_s"] * 1000) / 1000
    found = []
    for job in range(len(states.phase)):
        if states.phase[job] not in RAN:
            continue
        row = rows[first + job]
        entries = range(placed.node_offsets[job], placed.node_offsets[job + 1])
        cores = [node.cores for node in log.cluster.nodes]
        given = row["priority"]
        found.append(
            Ran(
                submit_s=round(row["submit_s"] * 1000) / 1000 - began_s,
                start_s=states.start_ms[job] / 1000 - began_s - late_s,
                end_s=states.end_ms[job] / 1000 - began_s - late_s,
                cores=row["tasks"] * row["cores_per_task"],
                priority=0.0 if given is None else (given - min(known)) / (max(known) - min(known)),
                measured=job >= warmup,
                parts={
                    int(placed.nodes[entry]): placed.tasks[entry] * row["cores_per_task"] / cores[placed.nodes[entry]]
                    for entry in entries
                },
            )
        )
    return found


def objectives(log: Log, jobs: list[Ran], logarithms: bool = False) -> dict[str, float]:
    """Returns every objective."""
    measured = [job for job in jobs if job.measured]
    elapsed_s = max(job.end_s for job in jobs)

    def mean(values: list[float]) -> float:
        return sum(values) / len(measured)

    def plus_one(value: float) -> float:
        return math.log(1 + value) if logarithms else value

    def ratio(value: float) -> float:
        return math.log(max(value, 1e-3)) if logarithms else value

    return {
        "bounded_slowdown": mean([ratio(max(1, (job.wait_s + job.run_s) / max(job.run_s, 10))) for job in measured]),
        "wait": mean([plus_one(job.wait_s) for job in measured]),
        "turnaround": mean([plus_one(job.wait_s + job.run_s) for job in measured]),
        "slowdown": mean([ratio((job.wait_s + job.run_s) / max(job.run_s, 1)) for job in measured]),
        "utilization": sum(job.cores * job.run_s for job in jobs) / (log.cluster.total_cores * elapsed_s),
        "makespan": elapsed_s,
        "completion": 1.0,
        "queue": sum(job.wait_s for job in jobs) / elapsed_s,
        "balance": _balance(log, jobs, elapsed_s),
        "priority": mean([plus_one(job.priority * job.wait_s) for job in measured]),
    }


def _balance(log: Log, jobs: list[Ran], elapsed_s: float) -> float:
    times = sorted({0.0, elapsed_s} | {job.start_s for job in jobs} | {job.end_s for job in jobs})
    area = 0.0
    for begin, end in pairwise(times):
        running = [job for job in jobs if job.start_s <= begin and job.end_s >= end]
        use = [sum(job.parts.get(node, 0.0) for job in running) for node in range(len(log.cluster.nodes))]
        area += float(np.var(use)) * (end - begin)
    return area / elapsed_s
