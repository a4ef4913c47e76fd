"""Jobs of training clusters whose sizes, run times and arrivals are fitted to a published log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, make_dataclass
from typing import ClassVar, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shunter.checks import declared
from shunter.model.cluster import NODES_LIMIT, Node
from shunter.workloads.generators.arrivals import ARRIVALS, STEADY, STILL, Batches, Rhythm, draw_arrivals
from shunter.workloads.generators.drawing import numbered, streams, with_requests
from shunter.workloads.generators.kinds import draw_kinds
from shunter.workloads.generators.parameters import GAPS_S, Generator, GpuParameters

GPUS_PER_NODE: Final = 8
PROBABILITIES: Final = (0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 1.0)
"""Where run times are tabulated; between two of them their logarithm is linear."""


@dataclass(frozen=True)
class FittedParameters(GpuParameters):
    """What the generators of this kind take; `fitted_generator` declares the last three, with defaults of each log."""

    SET_BY_LOAD: ClassVar[tuple[str, ...]] = ("mean_gap_s",)

    nodes: int = 1
    mean_gap_s: float = 0.0
    arrival: str = ARRIVALS[0]


@dataclass(frozen=True)
class Fit:
    """What was found in a log."""

    sizes: Mapping[int, float]
    """Numbers of GPUs, with their weights."""
    runs: Mapping[int, tuple[float, ...]]
    """For jobs up to so many GPUs, the run times at `PROBABILITIES`."""
    batches: Mapping[str, Batches]
    """For each kind of arrival but the steady one."""
    rhythm: Rhythm
    partitions: tuple[float, ...] = ()
    """The weights of virtual clusters, where the log has them."""


def fitted_generator(fit: Fit, node: Node, *, nodes: int, mean_gap_s: float, arrival: str) -> Generator:
    """Returns the generator of jobs that are like those of a log.

    Args:
        fit: What was found in the log.
        node: One of the nodes that the jobs are made for, apart from its number.
        nodes: How many of them there are by default.
        mean_gap_s: The mean time between arrivals by default.
        arrival: How jobs arrive by default.
    """
    own = [
        ("nodes", int, declared(nodes, "How many nodes, of eight GPUs each.", low=1, high=NODES_LIMIT)),
        ("mean_gap_s", float, declared(mean_gap_s, "The mean time between arrivals.", **GAPS_S)),
        ("arrival", str, declared(arrival, "How jobs arrive.", choices=ARRIVALS)),
    ]
    return Generator(
        make_dataclass("Parameters", own, bases=(FittedParameters,), frozen=True),
        lambda parameters: draw_fitted(parameters, fit),
        draws_at_load=True,
        draw_nodes=lambda parameters: numbered(node, parameters.nodes),
    )


def draw_fitted(parameters: FittedParameters, fit: Fit) -> pl.DataFrame:
    """Returns jobs of one task for each GPU, none larger than the machine; each is drawn on its own."""
    of_batches, of_gaps, of_sizes, of_runs, of_partitions, of_requests, of_kinds = streams(parameters.seed, 7)
    gpus = GPUS_PER_NODE * parameters.nodes
    # Each quantity has a stream of its own: other run times do not change the sizes.
    size = _weighted(of_sizes, np.array(list(fit.sizes)), fit.sizes.values(), parameters.jobs)
    run_s = _run_times(of_runs, size, fit)
    # On a small cluster the largest jobs get all of it; their run times stay those of their true size.
    tasks = np.minimum(size, gpus)
    # The load is work over what the GPUs could do in the span; so the work and the load give the span.
    span_s = None if parameters.load is None else float(tasks @ run_s) / (gpus * parameters.load)
    submit_s = draw_arrivals(
        (of_batches, of_gaps),
        parameters.jobs,
        parameters.mean_gap_s,
        fit.batches.get(parameters.arrival, STEADY),
        fit.rhythm if parameters.arrival == "diurnal" else STILL,
        span_s,
    )
    jobs = pl.DataFrame({"submit_s": submit_s, "run_s": run_s, "tasks": tasks})
    jobs = jobs.with_columns(cores_per_task=pl.lit(0.0), gpus_per_task=pl.lit(1.0))
    if fit.partitions:
        numbers = np.arange(1, len(fit.partitions) + 1)
        drawn = pl.Series(_weighted(of_partitions, numbers, fit.partitions, parameters.jobs))
        jobs = jobs.with_columns(pl.format("vc{}", drawn).alias("partition"))
    kinds = draw_kinds(of_kinds, parameters.kinds, parameters.jobs)
    jobs = jobs if kinds is None else jobs.with_columns(kinds)
    return with_requests(jobs, parameters, of_requests)


def _weighted(
    stream: np.random.Generator, values: NDArray[np.int64], weights: Iterable[float], count: int
) -> NDArray[np.int64]:
    """Draws values by their weights."""
    bounds = np.cumsum(list(weights))
    return values[np.searchsorted(bounds[:-1] / bounds[-1], stream.random(count))]


def _run_times(stream: np.random.Generator, size: NDArray[np.int64], fit: Fit) -> NDArray[np.float64]:
    """Draws whole seconds, at least 1, from the table of each job's class of sizes."""
    chance = stream.random(size.size)
    kind = np.searchsorted(list(fit.runs), size)
    logs = np.empty(size.size)
    for number_of_kind, table_s in enumerate(fit.runs.values()):
        chosen = kind == number_of_kind
        # Inverse transform sampling: a uniform number is looked up in the table of quantiles.
        logs[chosen] = np.interp(chance[chosen], PROBABILITIES, np.log(table_s))
    return np.maximum(np.rint(np.exp(logs)), 1.0)
