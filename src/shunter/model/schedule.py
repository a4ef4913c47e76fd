"""The schedule: what happened to each job."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from shunter.core_numbers import core_numbers
from shunter.model.segments import all_segments, held_ms, lost_ms

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shunter.model.cluster import Cluster
    from shunter.model.ledger import Ledger
    from shunter.model.segments import Segments, Stops
    from shunter.model.settings import Settings
    from shunter.model.workload import Workload


BOUNDED_SLOWDOWN_THRESHOLD_S = 10.0
"""Jobs shorter than this count as this long in the bounded slowdown."""

BASES = tuple(name.lower().replace("_", "-") for name in core_numbers("Basis"))
"""What an estimate may rest on, by the core's numbers; ``docs/policies.md`` says what each means."""

_PHASES = core_numbers("Phase")
_REASONS = core_numbers("RejectReason")


class Phase(IntEnum):
    """Where a job is in its life, in a simulation; the numbers are the core's."""

    FUTURE = _PHASES["FUTURE"]
    WAITING = _PHASES["WAITING"]
    RUNNING = _PHASES["RUNNING"]
    COMPLETED = _PHASES["COMPLETED"]
    KILLED = _PHASES["KILLED"]
    REJECTED = _PHASES["REJECTED"]
    FAILED = _PHASES["FAILED"]


class Outcome(IntEnum):
    """How a job ended, in a schedule."""

    COMPLETED = 0
    KILLED = 1
    REJECTED = 2
    UNFINISHED = 3
    FAILED = 4


class RejectReason(IntEnum):
    """Why a job was rejected; the numbers are the core's."""

    NONE = _REASONS["NONE"]
    NO_SUCH_PARTITION = _REASONS["NO_SUCH_PARTITION"]
    CORES = _REASONS["CORES"]
    MEMORY = _REASONS["MEMORY"]
    GPUS = _REASONS["GPUS"]
    COMBINATION = _REASONS["COMBINATION"]
    NO_SUCH_GPU_TYPE = _REASONS["NO_SUCH_GPU_TYPE"]


@dataclass(frozen=True)
class Schedule:
    """One row a job, in the order of the workload; arrays have the workload's length unless said otherwise."""

    workload: Workload
    cluster: Cluster
    settings: Settings
    ledger: Ledger
    """The workload's repairs, and what stood in for what the log does not say."""
    start_s: NDArray[np.float64]
    """Absolute time of the first start; NaN where a job never started."""
    end_s: NDArray[np.float64]
    """Absolute time of the end; NaN where a job did not end."""
    outcome: NDArray[np.uint8]
    reject_reason: NDArray[np.uint8]
    preemptions: NDArray[np.int32]
    placement_offsets: NDArray[np.int64]
    """(jobs + 1): job i's nodes are the entries offsets[i] to offsets[i + 1] of the next two."""
    placement_nodes: NDArray[np.int32]
    placement_tasks: NDArray[np.int32]
    estimate_basis: NDArray[np.uint8] | None = None
    """What each job's estimate rested on when it started: a place in `BASES`; None where nobody noted it."""
    latest_start_s: NDArray[np.float64] | None = None
    """Absolute time of the last start; None if no job was stopped, so that it is the first."""
    stops: Stops | None = None
    """The segments that did not end their job, of those that ended and those that did not; None if there are none."""
    failures: NDArray[np.int32] | None = None
    """How often a node failed under each job; None if none could."""

    def __len__(self) -> int:
        return len(self.start_s)

    @property
    def ended(self) -> NDArray[np.bool_]:
        """Which jobs started and ended; the metrics are over these."""
        ended: NDArray[np.bool_] = np.isfinite(self.start_s) & np.isfinite(self.end_s)
        return ended

    def bases(self) -> dict[str, int]:
        """Returns how many of the jobs that ran were estimated on what; nothing where nobody noted it."""
        if self.estimate_basis is None:
            return {}
        return count_bases(self.estimate_basis[np.isfinite(self.start_s)])

    def outcomes(self) -> dict[str, int]:
        """Returns how many jobs ended in each way, by its name in lower case."""
        counts = np.bincount(self.outcome, minlength=len(Outcome)).tolist()
        return {outcome.name.lower(): counts[outcome] for outcome in Outcome}

    @property
    def rejected(self) -> NDArray[np.bool_]:
        """Which jobs could never fit."""
        return np.asarray(self.outcome == Outcome.REJECTED)

    @property
    def submit_ms(self) -> NDArray[np.float64]:
        """Submit times as the core had them: whole milliseconds."""
        return whole_milliseconds(self.workload.jobs["submit_s"].to_numpy())

    @property
    def start_ms(self) -> NDArray[np.float64]:
        """Start times in whole milliseconds; NaN where a job never started."""
        return whole_milliseconds(self.start_s)

    @property
    def end_ms(self) -> NDArray[np.float64]:
        """End times in whole milliseconds; NaN where a job did not end."""
        return whole_milliseconds(self.end_s)

    @property
    def latest_start_ms(self) -> NDArray[np.float64]:
        """Times of the last start in whole milliseconds; NaN where a job never started."""
        return self.start_ms if self.latest_start_s is None else whole_milliseconds(self.latest_start_s)

    @cached_property
    def segments(self) -> Segments:
        """Every stretch of time for which a job held nodes: the stops, and the last one of each job that ended."""
        return all_segments(self)

    @property
    def queue_wait_s(self) -> NDArray[np.float64]:
        """Time from submit to the first start; NaN where a job never started."""
        return (self.start_ms - self.submit_ms) / 1000.0

    @property
    def duration_s(self) -> NDArray[np.float64]:
        """Time from the first start to the end; NaN where a job did not end."""
        return (self.end_ms - self.start_ms) / 1000.0

    @property
    def run_time_s(self) -> NDArray[np.float64]:
        """Time for which a job held nodes and got ahead; NaN where it did not end. A failed job counts what it held."""
        held = held_ms(self)
        gained = np.where(self.outcome == Outcome.FAILED, held, held - lost_ms(self))
        return np.where(self.ended, gained / 1000.0, np.nan)

    @property
    def turnaround_s(self) -> NDArray[np.float64]:
        """Time from submit to the end; NaN where a job did not end."""
        return (self.end_ms - self.submit_ms) / 1000.0

    @property
    def bounded_slowdown(self) -> NDArray[np.float64]:
        """The bounded slowdown of each job; NaN where a job did not end."""
        return bounded_slowdown(self.turnaround_s, self.run_time_s)

    @property
    def cores(self) -> NDArray[np.float64]:
        """Cores over all tasks of each job."""
        jobs = self.workload.jobs
        return np.asarray(jobs["tasks"].to_numpy() * jobs["cores_per_task"].to_numpy(), dtype=np.float64)

    @property
    def gpus(self) -> NDArray[np.float64]:
        """GPUs over all tasks of each job."""
        jobs = self.workload.jobs
        return np.asarray(jobs["tasks"].to_numpy() * jobs["gpus_per_task"].to_numpy(), dtype=np.float64)

    @property
    def content_sha256(self) -> str:
        """The hash of what happened: when and how each job started, was stopped and ended, and where it ran."""
        digest = hashlib.sha256(f"{len(self)}".encode())
        # Adding 0.0 turns -0.0 into 0.0; a fixed NaN and little-endian bytes make the hash the same on every machine.
        for times in (self.start_ms, self.end_ms):
            digest.update(np.where(np.isfinite(times), times + 0.0, np.nan).astype("<f8").tobytes())
        digest.update(self.outcome.astype("u1").tobytes())
        for entries in (self.placement_offsets, self.placement_nodes, self.placement_tasks):
            digest.update(entries.astype("<i8").tobytes())
        if self.stops is not None and len(self.stops):
            digest.update(self.segments.to_bytes())
        return digest.hexdigest()

    def to_frame(self) -> pl.DataFrame:
        """Returns one row a job, in the order of the workload, with times in seconds.

        ``nodes`` is a list of ``{"node": name, "tasks": count}``; what does not apply to a job is null.
        """
        from shunter.model.schedule_frame import schedule_frame

        return schedule_frame(self)


def count_bases(basis: NDArray[np.uint8]) -> dict[str, int]:
    """Returns how often each basis of an estimate occurs, those that do not left out."""
    counts = np.bincount(basis.ravel(), minlength=len(BASES)).tolist()
    return {name: count for name, count in zip(BASES, counts, strict=True) if count}


def bounded_slowdown(turnaround_s: NDArray[np.float64], run_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns turnaround over run time, for which at least 10 s count; never less than 1."""
    return np.maximum(turnaround_s / np.maximum(run_s, BOUNDED_SLOWDOWN_THRESHOLD_S), 1.0)


def whole_milliseconds(seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns seconds as whole milliseconds, exact in float64, so that differences of large times lose nothing."""
    return np.rint(seconds * 1000.0)
