"""Tiny workloads for estimates, and what a simulation tells of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shunter import Cluster
from shunter.model.schedule import BASES
from shunter.policies.scheduler import resolve_scheduler
from shunter.simulation import Simulation
from tests.properties.core_adapter import workload_of
from tests.reference.model import RefJob

SECOND_MS = 1000

PRIOR = """
[estimate]
kind = "posterior"
user_decay = 0.5
decay = 0.5
user_strength = 1
request_strength = 1
size_strength = 1
mean_run_s = [100, 60]
mean_inverse = [0.01, 0.02]
"""
"""Any request: 100 s and 1/100 s; none: 60 s and 1/50 s."""


def write_prior(folder: Path) -> str:
    """Writes the prior, and returns the estimate that it belongs to."""
    path = folder / "prior.toml"
    path.write_text(PRIOR)
    return str(path)


def job(submit_s: float, run_s: float, requested_s: float | None = 200, **more: Any) -> RefJob:  # noqa: ANN401
    """Returns a job of one core by ann, unless said otherwise."""
    requested_ms = None if requested_s is None else round(requested_s * SECOND_MS)
    return RefJob(round(submit_s * SECOND_MS), round(run_s * SECOND_MS), requested_ms, **{"user": "ann", **more})


def opened(jobs: Sequence[RefJob], cores: int = 1, first: int = 0, **settings: Any) -> Simulation:  # noqa: ANN401
    """Opens a simulation of the jobs from the first one on."""
    return Simulation(workload_of(jobs).window(first), Cluster.pool(cores), resolve_scheduler(**settings))


def seen(jobs: Sequence[RefJob], cores: int = 1, first: int = 0, **settings: Any) -> list[tuple[int, str]]:  # noqa: ANN401
    """Returns each job's estimate in milliseconds when it started, and what it rested on."""
    simulation = opened(jobs, cores, first, **settings)
    simulation.run()
    return told(simulation)


def told(simulation: Simulation) -> list[tuple[int, str]]:
    """Returns what a simulation tells of its estimates now."""
    estimates = simulation.estimates()
    return [(int(ms), BASES[basis]) for ms, basis in zip(estimates.estimate_ms, estimates.basis, strict=True)]
