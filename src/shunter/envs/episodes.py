"""Episodes: which windows of logs they are, and what the core has to know of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shunter.checks import MOST_SEED, RANGE, check_fields, declared
from shunter.envs.baselines import NEVER_MS, Baselines
from shunter.envs.rewards import OBJECTIVES
from shunter.errors import InputError
from shunter.metrics.window_metrics import WindowColumns
from shunter.model.fitting import can_ever_fit
from shunter.model.size import SIZE_CODES, resolved_size_by
from shunter.model.windows import MOST_COUNT, Days, check_numbers, parse_part
from shunter.simulation.core_inputs import log_begin_ms, numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.envs.build import VectorOptions
    from shunter.envs.rewards import RewardOptions
    from shunter.model.log import Log
    from shunter.model.windows import Windows
    from shunter.policies.scheduler import Scheduler

PARTS: Final = {"train": (0.0, 0.6), "validation": (0.6, 0.7), "report": (0.7, 1.0)}
"""The parts of a log, disjoint in time."""
MOST_WINDOWS: Final = 1000
"""So many windows of a log there are at most, unless the user says otherwise."""


def max_steps_field() -> Any:  # noqa: ANN401 - as `dataclasses.field` is typed
    """Returns the declared field ``max_steps``, which several classes have."""
    return declared(None, "After how many decisions an episode is cut.", low=1, high=2**31)


def horizon_factor_field() -> Any:  # noqa: ANN401 - as `dataclasses.field` is typed
    """Returns the declared field ``horizon_factor``, which several classes have."""
    what = "An episode is cut after this many times the span of its submits plus its jobs' time at full use."
    return declared(None, what, low=0.0, above=True)


@dataclass(frozen=True)
class EpisodeOptions:
    """Which windows of a log are episodes, and when these end."""

    part: tuple[float, float] | str = declared(
        PARTS["train"],
        "The part of the log that windows are taken from: train, validation, report, or two fractions of its jobs.",
        metavar=RANGE,
    )
    windows: int | None = declared(
        None,
        "How many windows there are.",
        low=1,
        high=MOST_COUNT,
        metavar="K",
        shown_default=f"none: as many as there are, at most {MOST_WINDOWS}",
    )
    length: int = declared(256, "How many jobs of each window are measured.", low=1, high=MOST_COUNT, metavar="N")
    warmup: int = declared(
        0, "How many jobs before each window are simulated too.", low=0, high=MOST_COUNT, metavar="N"
    )
    max_steps: int | None = max_steps_field()
    horizon_factor: float | None = horizon_factor_field()
    seed: int = declared(0, "The seed that windows are chosen by.", low=0, high=MOST_SEED)

    def __post_init__(self) -> None:
        part = self.part
        if isinstance(part, str):
            part = PARTS[part] if part in PARTS else parse_part(part, f"part (one of {', '.join(PARTS)}, or a:b)")
        # The class is frozen; this is its only way to hold a checked value.
        object.__setattr__(self, "part", tuple(part))
        check_fields(self)
        check_numbers(count=self.count, length=self.length, blocks=None, part=self.bounds, warmup=self.warmup)

    @property
    def bounds(self) -> tuple[float, float]:
        """The part of the log as two fractions."""
        assert isinstance(self.part, tuple)
        return self.part

    @property
    def count(self) -> int:
        """How many windows are wanted at most."""
        return MOST_WINDOWS if self.windows is None else self.windows

    def windows_of(self, log: Log) -> Windows:
        """Returns the windows of a log.

        Raises:
            InputError: The part has fewer jobs than a window.
        """
        return Days("part", self.bounds, self.count, self.length, self.warmup, self.seed).windows_of(log)


EPISODE: Final = np.dtype(
    [
        ("table", np.uint32),
        ("cluster", np.uint32),
        ("first", np.uint64),
        ("count", np.uint64),
        ("warmup", np.uint64),
        ("horizon_ms", np.int64),
        ("scale", np.float64, (len(OBJECTIVES),)),
        ("relative", np.float64, (len(OBJECTIVES),)),
        ("wait_bound_s", np.float64),
        ("utilization_bound", np.float64),
        ("size_by", np.int32),
        ("origin_ms", np.int64),
    ],
    align=True,
)
"""The core's ``ShunterEpisode``."""


NONE: Final = -1
"""Stands for a horizon or a bound that there is not."""
MILLI: Final = 1000
_LATEST_MS: Final = 10**15
"""A horizon that no simulation reaches."""


@dataclass(frozen=True)
class Episodes:
    """What can be played."""

    rows: NDArray[np.void]
    """Of `EPISODE`."""
    relative_start_ms: NDArray[np.int64]
    """For the jobs of each episode, one after the other: when they start in the schedule that the reward is relative
    to, `NEVER_MS` if never. Empty where it is relative to none."""

    def later(self, by_s: int) -> Episodes:
        """Returns the same, where all jobs come so much later."""
        starts = self.relative_start_ms
        return Episodes(self.rows, np.where(starts == NEVER_MS, NEVER_MS, starts + by_s * MILLI))

    @staticmethod
    def joined(parts: Sequence[Episodes]) -> Episodes:
        """Returns all of them."""
        starts = [part.relative_start_ms for part in parts]
        return Episodes(np.concatenate([part.rows for part in parts]), np.concatenate(starts))


def has_fitting_job(log: Log, windows: Windows) -> NDArray[np.bool_]:
    """Returns in which windows at least one measured job can ever run."""
    # With sums up to each job, a window costs two look-ups however long it is.
    fitting = np.concatenate([[0], np.cumsum(can_ever_fit(log.workload.jobs, log.cluster))])
    first = windows.first.astype(np.int64)
    return np.asarray(fitting[first + windows.length] > fitting[first])


def with_fitting_jobs(log: Log, windows: Windows) -> Windows:
    """Returns the windows in which there is something to decide.

    Raises:
        InputError: There is none.
    """
    kept = has_fitting_job(log, windows)
    if not kept.any():
        raise InputError(f"{log.workload.name}: no job of any window can ever fit on {log.cluster.name}; check cluster")
    return replace(windows, first=windows.first[kept], block=windows.block[kept])


def log_episodes(
    place: int,
    log: Log,
    windows: Windows,
    scheduler: Scheduler,
    reward: RewardOptions,
    vector: VectorOptions,
    bounding: Scheduler | None = None,
) -> Episodes:
    """Returns the episodes of a log, in the order of its windows.

    Args:
        place: Of the log among all logs.
        log: The log and its cluster.
        windows: Which parts of it.
        scheduler: Of the simulations.
        reward: What policies have to be run for it.
        vector: How far the clock may go, and how many threads share the windows.
        bounding: Of the policy whose values the reward's bounds multiply; None: as the reward says.

    Raises:
        InputError: No job of a window can ever run.
    """
    if not (fits := has_fitting_job(log, windows)).all():
        first = int(windows.first[~fits][0])
        where = f"{log.workload.name}: none of the {windows.length} jobs from job {first} on can ever fit"
        raise InputError(f"{where} on {log.cluster.name}; check the cluster, or leave this window out")
    # A log that is itself a window: the core gets the whole table, in which the window begins later.
    before = 0 if log.workload.earlier is None else log.workload.earlier.height
    # One structured array in the layout of the core's ShunterEpisode, which is handed over as it is.
    episodes = np.zeros(len(windows), dtype=EPISODE)
    episodes["table"] = episodes["cluster"] = place
    episodes["first"] = windows.simulated_first + np.uintp(before)
    episodes["count"] = windows.simulated_length
    episodes["warmup"] = windows.warmup
    episodes["origin_ms"] = log_begin_ms(log.workload)
    episodes["size_by"] = SIZE_CODES[resolved_size_by(scheduler.size_by, log.workload, log.cluster)]
    factor = vector.horizon_factor
    episodes["horizon_ms"] = NONE if factor is None else _horizon_ms(log, windows, factor)
    baselines = Baselines(log, windows, scheduler, balance="balance" in reward.weights, threads=vector.threads)
    return Episodes(episodes, fill_values(episodes, baselines, reward, bounding))


def fill_values(
    episodes: NDArray[np.void], baselines: Baselines, reward: RewardOptions, bounding: Scheduler | None
) -> NDArray[np.int64]:
    """Writes into the episodes of a log what policies get on the same windows; returns `relative_start_ms`."""
    # Objectives without a weight stay as they are: nobody looks at them.
    weighted = np.isin(OBJECTIVES, list(reward.weights))
    episodes["scale"], episodes["relative"] = 1.0, 0.0
    starts = np.empty(0, dtype=np.int64)
    if reward.scale_policy is not None:
        values = baselines.run(baselines.scheduler_of(reward.scale_policy)).objectives(reward.logarithms)
        # What a policy gets may be 0: nobody waited. Such an objective stays as it is.
        episodes["scale"] = np.where(weighted & (values > 0), values, 1.0)
    if reward.relative_to is not None:
        relative = baselines.run(baselines.scheduler_of(reward.relative_to))
        episodes["relative"] = np.where(weighted, relative.objectives(reward.logarithms), 0.0)
        starts = relative.start_ms.ravel()
    if bounding is None and reward.bound_policy is not None:
        bounding = baselines.scheduler_of(reward.bound_policy)
    # Bounds are on plain values, whatever is done with logarithms in the reward.
    for name, field in (("wait", "wait_bound_s"), ("utilization", "utilization_bound")):
        episodes[field] = NONE
        if name in reward.bounds and bounding is not None:
            values = baselines.run(bounding).objectives()[:, OBJECTIVES.index(name)]
            episodes[field] = reward.bounds[name] * values
    return starts


def _horizon_ms(log: Log, windows: Windows, factor: float) -> NDArray[np.int64]:
    """Returns when each episode is cut: so many times the span of its submits and what its jobs take at full use."""
    jobs, cluster = WindowColumns(log.workload, windows, log.cluster), log.cluster
    run_s = numbers(log.workload.jobs["run_s"])[jobs.index]
    busy_s = (jobs.cores * run_s).sum(axis=1) / cluster.total_cores
    # Whichever resource binds tells how long the jobs take at full use.
    if cluster.total_gpus:
        busy_s = np.maximum(busy_s, (jobs.gpus * run_s).sum(axis=1) / cluster.total_gpus)
    span_s = (jobs.submit_ms[:, -1] - jobs.submit_ms[:, 0]) / MILLI
    return np.asarray(np.minimum(np.ceil(factor * (span_s + busy_s) * MILLI), _LATEST_MS), dtype=np.int64)
