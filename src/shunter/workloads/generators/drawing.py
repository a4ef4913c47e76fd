"""What generators share: streams of random numbers, arrivals over a given span, requested times, and nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.model.cluster import Node
    from shunter.workloads.generators.parameters import JobParameters


def streams(seed: int, count: int) -> list[np.random.Generator]:
    """Returns independent streams from one seed: drawing more from one changes nothing in the others."""
    return [np.random.Generator(np.random.PCG64(child)) for child in np.random.SeedSequence(seed).spawn(count)]


def stretch_to_span(
    ends: NDArray[np.float64], time_s: Callable[[NDArray[np.float64]], NDArray[np.float64]], span_s: float
) -> float:
    """Returns the factor for arrivals, before a cycle is applied to them, with which they span so many seconds.

    Args:
        ends: The first and the last arrival.
        time_s: Turns arrivals into seconds, in which the cycle is as long as it is.
        span_s: From the first to the last.
    """

    def reached_s(stretch: float) -> float:
        first_s, last_s = time_s(ends * stretch)
        return float(last_s - first_s)

    low, high = 0.0, 1.0
    # There is no formula, for cycles make time run unevenly. But the span grows with the stretch: doubling finds an
    # upper bound, and halving the interval then finds the stretch.
    while reached_s(high) < span_s:
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if reached_s(middle) < span_s else (low, middle)
    return high


def with_requests(jobs: pl.DataFrame, parameters: JobParameters, stream: np.random.Generator) -> pl.DataFrame:
    """Returns the jobs with the requested times that the parameters ask for."""
    if parameters.requests == "none":
        return jobs
    if parameters.requests == "accurate":
        return jobs.with_columns(requested_s=pl.col("run_s"))
    # Users ask for more than they need: anything up to 1 + factor times as much is equally likely.
    times = 1 + parameters.factor * stream.random(jobs.height)
    return jobs.with_columns(requested_s=(pl.col("run_s") * pl.Series(times)).ceil())


def numbered(node: Node, count: int) -> tuple[Node, ...]:
    """Returns copies of a node, each with a number behind its name."""
    return tuple(replace(node, name=f"{node.name}{number}") for number in range(count))
