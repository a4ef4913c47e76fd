"""The workload model of Lublin and Feitelson: sizes, run times and arrivals of jobs on a parallel machine.

U. Lublin and D. G. Feitelson, "The workload on parallel supercomputers: modeling the characteristics of rigid
jobs", J. Parallel Distrib. Comput. 63(11), 2003. The parameters are the published ones (``docs/workloads.md``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import polars as pl

from shunter.checks import declared
from shunter.workloads.generators.drawing import streams, stretch_to_span, with_requests
from shunter.workloads.generators.parameters import Generator, PoolParameters

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

LOG_RUN_LIMIT: Final = 12.0
"""No job runs longer than exp(12) s, about two days; a longer one is drawn again."""
LOG_GAP_LIMIT: Final = 13.0
"""No gap between arrivals is longer than exp(13) s, about five days, before the daily cycle."""
BUCKETS: Final = 48
"""The daily cycle has a weight for every half hour."""
BUCKET_S: Final = 1800.0
CYCLE_START: Final = 11
"""The daily cycle's gamma distribution is counted from this bucket on, and wraps around midnight."""


class Variant(NamedTuple):
    """The model's parameters for one kind of job."""

    serial: float
    """Share of jobs of one processor."""
    power_of_two: float
    """Share of jobs whose size is rounded to a power of two."""
    low: float
    """Log2 of the smallest parallel size."""
    middle_below_high: float
    """How far the bend of the two-stage uniform lies below log2 of the machine's size."""
    first_stage: float
    """Probability of the first stage, between low and the bend."""
    short: tuple[float, float]
    """Shape and scale of the gamma distribution of log run time, for the shorter jobs."""
    long: tuple[float, float]
    """Shape and scale of the gamma distribution of log run time, for the longer jobs."""
    short_share: tuple[float, float]
    """Slope (per processor) and intercept of the share of shorter jobs."""
    gap: tuple[float, float]
    """Shape and scale of the gamma distribution of log inter-arrival time in rush hours."""
    all_day: float
    """The factor for the shape of `gap`, with which it holds for the whole day."""
    cycle: tuple[float, float]
    """Shape and scale of the gamma distribution of the hour of arrival, in half hours."""


VARIANTS: Final = {
    "all": Variant(
        0.244,
        0.576,
        0.8,
        2.5,
        0.86,
        (4.2, 0.94),
        (312, 0.03),
        (-0.0054, 0.78),
        (10.2303, 0.4871),
        1.0225,
        (8.1737, 3.9631),
    ),
    "batch": Variant(
        0.2927,
        0.6686,
        1.2,
        2.0,
        0.875,
        (6.57, 0.823),
        (639.1, 0.0156),
        (-0.003, 0.6986),
        (6.0415, 0.8531),
        1.0519,
        (6.1271, 5.2740),
    ),
}
"""The published parameters, for jobs of all kinds and for batch jobs alone."""


@dataclass(frozen=True)
class Parameters(PoolParameters):
    """The parameters of this generator."""

    kind: str = declared("all", "Jobs of all kinds, or batch jobs alone.", choices=tuple(VARIANTS))


def draw_jobs(parameters: Parameters) -> pl.DataFrame:
    """Returns jobs drawn from the model, at the load that is asked for: the day stays a day long."""
    variant = VARIANTS[parameters.kind]
    of_sizes, of_runs, of_gaps, of_requests = streams(parameters.seed, 4)
    tasks = _sizes(variant, parameters, of_sizes)
    run_s = _run_times(variant, tasks, of_runs)
    points = np.exp(_truncated_gamma(of_gaps, variant, parameters.jobs)).cumsum() / BUCKET_S
    clock = _Clock.of(variant)
    if parameters.load is not None:
        span_s = float(tasks @ run_s) / (parameters.cores * parameters.load)
        points *= stretch_to_span(points[[0, -1]], clock.time_s, span_s)
    jobs = pl.DataFrame({"submit_s": np.floor(clock.time_s(points)), "run_s": run_s, "tasks": tasks.astype(np.int64)})
    return with_requests(jobs, parameters, of_requests)


def _sizes(variant: Variant, parameters: Parameters, generator: np.random.Generator) -> NDArray[np.float64]:
    """Draws numbers of processors: serial, a power of two, or any other."""
    jobs, cores = parameters.jobs, parameters.cores
    high = math.log2(cores)
    # For machines smaller than the model's smallest parallel job.
    low = min(variant.low, high)
    middle = max(low, high - variant.middle_below_high)
    kind, stage, place = generator.random((3, jobs))
    # Two-stage uniform: with one probability below the bend, otherwise above it.
    log_size = np.where(stage <= variant.first_stage, low + (middle - low) * place, middle + (high - middle) * place)
    is_power = kind <= variant.serial + variant.power_of_two
    # On a machine that is no power of two, rounding up must not go beyond it.
    log_size = np.where(is_power, np.minimum(np.rint(log_size), math.floor(high)), log_size)
    return np.where(kind <= variant.serial, 1.0, np.rint(2.0**log_size))


def _run_times(variant: Variant, tasks: NDArray[np.float64], generator: np.random.Generator) -> NDArray[np.float64]:
    """Draws whole seconds, at least 1: the logarithm is a mixture of two gammas, whose shares depend on the size."""
    slope, intercept = variant.short_share
    # Larger jobs run longer: the share of short ones falls with the size.
    short_share = np.clip(slope * tasks + intercept, 0, 1)

    def draw(again: NDArray[np.intp]) -> NDArray[np.float64]:
        is_short = generator.random(again.size) <= short_share[again]
        shape = np.where(is_short, variant.short[0], variant.long[0])
        logs: NDArray[np.float64] = generator.standard_gamma(shape)
        logs *= np.where(is_short, variant.short[1], variant.long[1])
        return logs

    run_s: NDArray[np.float64] = np.floor(np.exp(_drawn_below(LOG_RUN_LIMIT, tasks.size, draw)))
    return run_s


def _truncated_gamma(generator: np.random.Generator, variant: Variant, jobs: int) -> NDArray[np.float64]:
    """Draws the logarithms of the gaps between arrivals."""
    shape, scale = variant.gap[0] * variant.all_day, variant.gap[1]
    return _drawn_below(LOG_GAP_LIMIT, jobs, lambda again: generator.gamma(shape, scale, again.size))


def _drawn_below(
    limit: float, count: int, draw: Callable[[NDArray[np.intp]], NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Draws values, and draws those above the limit again until none is."""
    values = np.empty(count)
    again = np.arange(count)
    while again.size:
        values[again] = draw(again)
        # Drawn again, not cut: otherwise many jobs would have just the limit.
        again = again[values[again] > limit]
    return values


@dataclass(frozen=True)
class _Clock:
    """The daily cycle: how many points of arrival have passed at each bucket's end.

    A job's gap is worth points, and a bucket in which many jobs arrive costs many: so gaps are short by day and
    long by night. A day is worth as many points as it has buckets.
    """

    ends: NDArray[np.float64]  # (BUCKETS + 1,)

    @classmethod
    def of(cls, variant: Variant) -> _Clock:
        shape, scale = variant.cycle
        edges = np.arange(CYCLE_START, CYCLE_START + BUCKETS + 1) - 0.5
        # Half an hour's share of the arrivals is what the gamma distribution has over it.
        shares = np.diff([_gamma_share(shape, edge / scale) for edge in edges])
        # Buckets beyond midnight are those of the early morning.
        weights = np.roll(shares, CYCLE_START - 1)
        return cls(np.concatenate(([0.0], np.cumsum(weights) / weights.sum() * BUCKETS)))

    def time_s(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Returns the time since the first midnight at which so many points have passed."""
        days, rest = np.divmod(points, BUCKETS)
        in_day: NDArray[np.float64] = np.interp(rest, self.ends, np.arange(BUCKETS + 1))
        return (days * BUCKETS + in_day) * BUCKET_S


def _gamma_share(shape: float, x: float) -> float:
    """Returns the regularized lower incomplete gamma function, from its power series."""
    term = total = 1.0 / shape
    denominator = shape
    # Until a term no longer changes the sum in double precision.
    while term > total * 1e-16:
        denominator += 1
        term *= x / denominator
        total += term
    return total * math.exp(shape * math.log(x) - x - math.lgamma(shape))


GENERATOR: Final = Generator(Parameters, draw_jobs, draws_at_load=True)
