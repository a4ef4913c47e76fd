"""Generators by name: of jobs (``lublin?seed=42&jobs=10000``) and of the clusters that they are made for."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from shunter.errors import InputError
from shunter.model.cluster import Cluster
from shunter.model.workload import Workload
from shunter.query import GENERATE
from shunter.workloads import read_cluster
from shunter.workloads.generators import bursty_gpu, eda, helios_like, lublin, philly_like, poisson, uniform
from shunter.workloads.generators.parameters import JobParameters, QueryParameters, suggest
from shunter.workloads.load import scale_to_load

if TYPE_CHECKING:
    import polars as pl

    from shunter.model.cluster import Node


class Generator(NamedTuple):
    """A generator of jobs."""

    parameters: type[JobParameters]
    draw_jobs: Callable[[Any], pl.DataFrame]
    draws_at_load: bool = False
    """Whether it follows ``load`` by itself; the arrivals of the others are stretched."""


class ClusterGenerator(NamedTuple):
    """A generator of nodes."""

    parameters: type[QueryParameters]
    draw_nodes: Callable[[Any], tuple[Node, ...]]


GENERATORS: Final = {
    "lublin": Generator(lublin.Parameters, lublin.draw_jobs, draws_at_load=True),
    "poisson": Generator(poisson.Parameters, poisson.draw_jobs),
    "uniform": Generator(uniform.Parameters, uniform.draw_jobs),
    "bursty-gpu": Generator(bursty_gpu.Parameters, bursty_gpu.draw_jobs),
    "eda": Generator(eda.Parameters, eda.draw_jobs),
    "helios-like": Generator(helios_like.Parameters, helios_like.draw_jobs, draws_at_load=True),
    "philly-like": Generator(philly_like.Parameters, philly_like.draw_jobs, draws_at_load=True),
}
"""Every generator of jobs; ``docs/workloads.md`` has a section on each."""

CLUSTER_GENERATORS: Final = {
    "bursty-gpu": ClusterGenerator(bursty_gpu.NodeParameters, bursty_gpu.draw_nodes),
    "eda": ClusterGenerator(eda.HostParameters, eda.draw_nodes),
    "helios-like": ClusterGenerator(helios_like.NodeParameters, helios_like.draw_nodes),
    "philly-like": ClusterGenerator(philly_like.NodeParameters, philly_like.draw_nodes),
}
"""Those whose machine is more than a number of cores."""


def generate(spec: str) -> Workload:
    """Generates a workload from a generator's name and its parameters.

    The content hash is that of the spec with every parameter in it, so that two spellings of one workload agree.

    Raises:
        InputError: The generator or a parameter is unknown, or a value is out of its range.
    """
    name, where, query = _parts(spec, GENERATORS)
    generator = GENERATORS[name]
    parameters = generator.parameters.parse(query, where)
    workload = Workload.from_frame(
        generator.draw_jobs(parameters),
        name=f"{GENERATE}{spec}",
        content_sha256=hashlib.sha256(f"{where}?{parameters.canonical()}".encode()).hexdigest(),
        cluster_spec=parameters.cluster_spec,
    )
    if parameters.load is None or generator.draws_at_load:
        return workload
    return replace(workload, jobs=scale_to_load(workload, read_cluster(parameters.cluster_spec), parameters.load).jobs)


def generate_cluster(spec: str) -> Cluster:
    """Generates a cluster from a generator's name and its parameters.

    Raises:
        InputError: The generator or a parameter is unknown, or a value is out of its range.
    """
    name, where, query = _parts(spec, CLUSTER_GENERATORS)
    generator = CLUSTER_GENERATORS[name]
    return Cluster.from_nodes(generator.draw_nodes(generator.parameters.parse(query, where)), f"{GENERATE}{spec}")


def _parts(spec: str, known: Mapping[str, object]) -> tuple[str, str, str]:
    """Returns the generator's name, how errors call it, and its parameters."""
    name, _, query = spec.partition("?")
    if name not in known:
        what = "clusters" if known is CLUSTER_GENERATORS else "jobs"
        raise InputError(f'{GENERATE}{name}: no generator of {what} is called "{name}"; {suggest(name, known)}')
    return name, f"{GENERATE}{name}", query
