"""Simulated against logged waits: every formula and the reason for it are in ``docs/calibrating.md``."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shunter.metrics.logged_waits import LoggedLoad, Waits, had_room, measure_logged_load

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.metrics.sizes import Resource
    from shunter.model.schedule import Schedule
    from shunter.workloads.clock import Clock

MINUTE_S = 60.0
"""A wait up to this is none: sites start jobs in rounds, and some logs know whole minutes only."""
CLOSE_SHARE = 0.1
"""A simulated wait this near to the logged one, as a part of it, is close."""
LEAST_DAYS = 10
"""On fewer days, their rank correlation says nothing."""
HOURS = 24
HOUR_S, DAY_S = 3_600, 86_400


@dataclass(frozen=True)
class Side:
    """The waits of one side, the log's or the simulation's, over the jobs compared."""

    mean_wait_s: float
    median_wait_s: float
    p95_wait_s: float
    max_wait_s: float
    waited_share: float
    """Of the jobs, those that waited more than a minute."""
    room_share: float | None
    """Of those, the ones for which enough was free when they were submitted, of what binds."""
    utilization: float | None
    """From the first submit to the last."""


@dataclass(frozen=True)
class Agreement:
    """How near the simulated waits are to the logged ones."""

    bias_s: float
    """The mean of simulated less logged."""
    ratio: float | None
    """The simulated mean over the logged one."""
    mean_absolute_error_s: float
    total_absolute_error_s: float
    within_second_share: float
    within_minute_share: float
    within_minute_or_tenth_share: float
    rank_correlation: float | None
    daily_rank_correlation: float | None
    days: int
    explained_log_variance: float | None
    immediate_logged_median_s: float | None
    """The median logged wait of the jobs that start at once in the simulation."""


@dataclass(frozen=True)
class Group:
    """The jobs of one size class or one hour of the day."""

    label: str
    jobs: int
    logged_mean_wait_s: float | None
    simulated_mean_wait_s: float | None
    bias_s: float | None
    mean_absolute_error_s: float | None


@dataclass(frozen=True)
class Calibration:
    """What a comparison of simulated with logged waits gave."""

    compared: int
    without_logged_wait: int
    never_started: int
    logged: Side
    simulated: Side
    agreement: Agreement
    resource: Resource
    """What jobs wait for, cores or GPUs: their sizes and what is in use are counted in it."""
    by_size: tuple[Group, ...]
    by_hour: tuple[Group, ...]
    hours_of: str
    """What the hours are hours of."""
    logged_load: LoggedLoad

    def to_json(self) -> dict[str, Any]:
        """Returns the calibration as a plain object, without NaN; names say whether cores or GPUs were counted."""
        name = self.resource.name
        names = {"utilization": self.resource.utilization, "by_size": f"by_{name}"}
        names |= {"capacity": f"cluster_{name}", "most": f"most_{name}"}

        def renamed(table: dict[str, Any]) -> dict[str, Any]:
            values = table.items()
            return {names.get(key, key): renamed(value) if isinstance(value, dict) else value for key, value in values}

        plain = asdict(self)
        del plain["resource"]
        return renamed(plain) | {"sizes_of": name}


def measure_calibration(schedule: Schedule, waits: Waits, clock: Clock) -> Calibration:
    """Compares the waits of a schedule with those of its log.

    Args:
        schedule: What the site's own policy gives in the simulation.
        waits: What `compare_waits` gives for it.
        clock: What time of day the log's seconds mean.
    """
    resource = waits.resource
    capacity = resource.total(schedule.cluster)
    local_s = waits.submit_s + clock.offset_s
    return Calibration(
        compared=len(waits),
        without_logged_wait=waits.without_logged_wait,
        never_started=waits.never_started,
        logged=_side(waits, waits.logged_s, waits.logged_run_s, capacity),
        simulated=_side(waits, waits.simulated_s, waits.simulated_run_s, capacity),
        agreement=_agreement(waits, np.floor_divide(local_s, DAY_S)),
        resource=resource,
        by_size=_by_size(waits),
        by_hour=_by_hour(waits, local_s),
        hours_of=clock.meaning,
        logged_load=measure_logged_load(schedule, resource),
    )


def rank_correlation(left: NDArray[np.float64], right: NDArray[np.float64]) -> float | None:
    """Returns Spearman's correlation, equal values sharing the mean of their ranks; None where one side is constant."""
    ranks = [pl.Series(values).rank("average").to_numpy() for values in (left, right)]
    spread = [values - values.mean() for values in ranks]
    norm = float(np.sqrt(np.sum(spread[0] ** 2) * np.sum(spread[1] ** 2)))
    return float(np.sum(spread[0] * spread[1])) / norm if norm else None


def _side(waits: Waits, wait_s: NDArray[np.float64], run_s: NDArray[np.float64], capacity: float) -> Side:
    waited = wait_s > MINUTE_S
    room = had_room(waits.submit_s, waits.submit_s + wait_s, run_s, waits.amount, capacity)
    return Side(
        mean_wait_s=float(wait_s.mean()),
        median_wait_s=float(np.median(wait_s)),
        p95_wait_s=float(np.quantile(wait_s, 0.95)),
        max_wait_s=float(wait_s.max()),
        waited_share=float(waited.mean()),
        room_share=float(room[waited].mean()) if waited.any() else None,
        utilization=_utilization(waits, wait_s, run_s, capacity),
    )


def _utilization(
    waits: Waits, wait_s: NDArray[np.float64], run_s: NDArray[np.float64], capacity: float
) -> float | None:
    """Returns the mean part of what binds in use from the first submit to the last, a time that both sides share."""
    first_s, last_s = float(waits.submit_s.min()), float(waits.submit_s.max())
    start_s = waits.submit_s + wait_s
    # Only what lies between the first and the last submit counts: the tails of the two sides differ in length.
    within_s = np.clip(start_s + run_s, first_s, last_s) - np.clip(start_s, first_s, last_s)
    offered = capacity * (last_s - first_s)
    return float(np.sum(waits.amount * within_s)) / offered if offered else None


def _agreement(waits: Waits, day: NDArray[np.float64]) -> Agreement:
    error_s = waits.simulated_s - waits.logged_s
    size_s = np.abs(error_s)
    logged_mean_s = float(waits.logged_s.mean())
    # What the log says of jobs that need not wait is the delay of its scheduler.
    immediate = waits.simulated_s == 0
    # Busy days must be busy days, even if single jobs change places.
    days, place = np.unique(day, return_inverse=True)
    daily = [np.bincount(place, weights=wait_s) / np.bincount(place) for wait_s in (waits.logged_s, waits.simulated_s)]
    return Agreement(
        bias_s=float(error_s.mean()),
        ratio=float(waits.simulated_s.mean()) / logged_mean_s if logged_mean_s else None,
        mean_absolute_error_s=float(size_s.mean()),
        total_absolute_error_s=float(size_s.sum()),
        within_second_share=float((size_s < 1).mean()),
        within_minute_share=float((size_s <= MINUTE_S).mean()),
        within_minute_or_tenth_share=float((size_s <= np.maximum(MINUTE_S, CLOSE_SHARE * waits.logged_s)).mean()),
        rank_correlation=rank_correlation(waits.logged_s, waits.simulated_s),
        daily_rank_correlation=rank_correlation(daily[0], daily[1]) if len(days) >= LEAST_DAYS else None,
        days=len(days),
        # Waits span seconds to weeks; without the logarithm a few long ones would decide.
        explained_log_variance=_explained(np.log1p(waits.logged_s), np.log1p(waits.simulated_s)),
        immediate_logged_median_s=float(np.median(waits.logged_s[immediate])) if immediate.any() else None,
    )


def _explained(truth: NDArray[np.float64], guess: NDArray[np.float64]) -> float | None:
    """Returns the part of the variance of the truth that the guess explains; below 0 if the mean is a better guess."""
    variance = float(np.sum((truth - truth.mean()) ** 2))
    return 1 - float(np.sum((truth - guess) ** 2)) / variance if variance else None


def _by_size(waits: Waits) -> tuple[Group, ...]:
    """Returns the classes of sizes, which double, up to the largest job, without the empty ones."""
    size = waits.resource.classes(waits.amount)
    return tuple(_group(waits, size == number, waits.resource.label(number)) for number in np.unique(size).tolist())


def _by_hour(waits: Waits, local_s: NDArray[np.float64]) -> tuple[Group, ...]:
    hour = np.mod(np.floor_divide(local_s, HOUR_S), HOURS)
    return tuple(_group(waits, hour == number, f"{number}") for number in range(HOURS))


def _group(waits: Waits, chosen: NDArray[np.bool_], label: str) -> Group:
    logged_s, simulated_s = waits.logged_s[chosen], waits.simulated_s[chosen]
    if not len(logged_s):
        return Group(label, 0, None, None, None, None)
    error_s = simulated_s - logged_s
    return Group(
        label=label,
        jobs=len(logged_s),
        logged_mean_wait_s=float(logged_s.mean()),
        simulated_mean_wait_s=float(simulated_s.mean()),
        bias_s=float(error_s.mean()),
        mean_absolute_error_s=float(np.abs(error_s).mean()),
    )
