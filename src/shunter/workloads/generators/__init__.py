"""Generators of jobs (``lublin?seed=42&jobs=10000``) and of the clusters that they are made for, one file each.

To add a generator, write a module with a ``GENERATOR``, called like the generator with underscores for hyphens, and add
a line to `GENERATORS`. What generators share stands in ``parameters``, ``drawing``, ``arrivals`` and ``fitted``.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

from shunter import hooks
from shunter.checks import check_name
from shunter.errors import InputError
from shunter.model.cluster import GENERATE

if TYPE_CHECKING:
    from typing import Protocol

    import polars as pl

    from shunter.model.cluster import Cluster
    from shunter.model.workload import Workload
    from shunter.workloads.generators.parameters import Generator

    class SiteSimulator(Protocol):
        """Simulates a site, so that generated jobs have waits."""

        def simulated_waits(self, workload: Workload, cluster: Cluster, site: str) -> pl.Series:
            """Wait of each job in seconds under ``fcfs/easy`` or the like; null if it never starts."""


GENERATORS: Final[dict[str, str]] = {
    "lublin": "the model of Lublin and Feitelson: jobs of parallel machines, with a daily cycle",
    "poisson": "queueing theory: exponential gaps and run times, sizes that are powers of two",
    "uniform": "uniform gaps, run times and sizes",
    "bursty-gpu": "a training cluster: bursts of like jobs, most of them short and small",
    "eda": "electronic design automation: many short jobs on hosts of several sizes",
    "helios-like": "jobs like those of Helios Venus (SenseTime, 2020)",
    "philly-like": "jobs like those of Philly (Microsoft, 2017)",
}
"""Every generator with a line on it; ``docs/workloads.md`` has a section on each."""


def generator_of(name: str) -> Generator:
    """Returns a generator by its name; its module is imported when it is first needed."""
    return cast("Generator", import_module(f"{__name__}.{name.replace('-', '_')}").GENERATOR)


def site_simulator() -> SiteSimulator:
    """Returns what simulates sites; the module is imported when it is first needed."""
    return cast("SiteSimulator", import_module(hooks.site_simulator))


def generate(spec: str) -> Workload:
    """Generates a workload from a generator's name and its parameters.

    The content hash is that of the spec with every parameter in it, so that two spellings of one workload agree.

    Raises:
        InputError: The generator or a parameter is unknown, or a value is out of its range.
    """
    from shunter.model.cluster import Cluster
    from shunter.model.workload import Workload
    from shunter.workloads.load import scale_to_load

    name, _, query = spec.partition("?")
    generator = generator_of(check_name("generator", name, GENERATORS))
    where = f"{GENERATE}{name}"
    parameters = generator.parameters.parse(query, where)
    own = generator.cluster_spec(parameters, where)
    workload = Workload.from_frame(
        generator.draw_jobs(parameters),
        name=f"{GENERATE}{spec}",
        content_sha256=hashlib.sha256(f"{where}?{parameters.canonical()}".encode()).hexdigest(),
        cluster_spec=own,
    )
    load = None if generator.draws_at_load else parameters.load
    if load is None and parameters.site is None:
        return workload
    # Load and past are those on the cluster for which the jobs are made, whatever cluster they will run on.
    cluster = generate_cluster(own.removeprefix(GENERATE)) if own.startswith(GENERATE) else Cluster.parse(own)
    if load is not None:
        workload = replace(workload, jobs=scale_to_load(workload, cluster, load).jobs)
    if parameters.site is not None:
        try:
            waits_s = site_simulator().simulated_waits(workload, cluster, parameters.site)
        except InputError as error:
            raise InputError(f"{where}: site is {parameters.site!r}: {error}") from None
        workload = replace(workload, jobs=workload.jobs.with_columns(logged_wait_s=waits_s))
    return workload


def generate_cluster(spec: str) -> Cluster:
    """Generates a cluster from a generator's name and its parameters.

    Raises:
        InputError: The generator or a parameter is unknown, or a value is out of its range.
    """
    from shunter.model.cluster import Cluster

    name, _, query = spec.partition("?")
    generator = generator_of(check_name("generator", name, GENERATORS))
    if generator.draw_nodes is None:
        raise InputError(f"{GENERATE}{name}: the cluster of this generator is a number of cores; give that instead")
    parameters = generator.parameters.parse(query, f"{GENERATE}{name}", generator.node_parameters)
    return Cluster.from_nodes(generator.draw_nodes(parameters), f"{GENERATE}{spec}")
