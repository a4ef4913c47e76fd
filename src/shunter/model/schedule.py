"""The schedule: what happened to each job, and for which stretches of time it held which nodes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from shunter.native import core_numbers

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shunter.model.cluster import Cluster
    from shunter.model.log import Ledger
    from shunter.model.settings import Settings
    from shunter.model.workload import Workload


BOUNDED_SLOWDOWN_THRESHOLD_S = 10.0
"""Jobs shorter than this count as this long in the bounded slowdown."""

MILLI = 1000
MB_IN_A_GB = 1024

_PHASES, _REASONS = core_numbers("Phase"), core_numbers("RejectReason")

BASES = tuple(core_numbers("Basis"))
"""What an estimate may rest on, by the core's numbers; ``docs/policies.md`` says what each means."""


class Phase(IntEnum):
    """Where a job is in its life, in a simulation; the numbers are the core's."""

    FUTURE = _PHASES["future"]
    WAITING = _PHASES["waiting"]
    RUNNING = _PHASES["running"]
    COMPLETED = _PHASES["completed"]
    KILLED = _PHASES["killed"]
    REJECTED = _PHASES["rejected"]
    FAILED = _PHASES["failed"]
    HELD = _PHASES["held"]
    CANCELLED = _PHASES["cancelled"]


class Outcome(IntEnum):
    """How a job ended, in a schedule."""

    COMPLETED = 0
    KILLED = 1
    REJECTED = 2
    UNFINISHED = 3
    FAILED = 4
    CANCELLED = 5


class RejectReason(IntEnum):
    """Why a job was rejected; the numbers are the core's."""

    NONE = _REASONS["none"]
    NO_SUCH_PARTITION = _REASONS["no-such-partition"]
    CORES = _REASONS["cores"]
    MEMORY = _REASONS["memory"]
    GPUS = _REASONS["gpus"]
    COMBINATION = _REASONS["combination"]
    NO_SUCH_GPU_TYPE = _REASONS["no-such-gpu-type"]
    OVER_JOB_LIMIT = _REASONS["over-job-limit"]


@dataclass(frozen=True)
class Stops:
    """The segments that did not end their job: it was preempted, or one of its nodes failed. One row a segment."""

    job: NDArray[np.int32]
    """The job's row in the workload."""
    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    node_offsets: NDArray[np.int64]
    """(stops + 1): segment i's nodes are the entries offsets[i] to offsets[i + 1] of `nodes` and `tasks`."""
    nodes: NDArray[np.int32]
    tasks: NDArray[np.int32]
    by_failure: NDArray[np.bool_]
    """Whether a node failed; otherwise the job was preempted."""

    def __len__(self) -> int:
        return len(self.job)


@dataclass(frozen=True)
class Segments:
    """Every stretch of time for which a job held nodes; one row a segment, those of one job in the order of time."""

    job: NDArray[np.int64]
    start_ms: NDArray[np.float64]
    end_ms: NDArray[np.float64]
    node_offsets: NDArray[np.int64]
    """(segments + 1): segment i's nodes are the entries offsets[i] to offsets[i + 1] of `nodes` and `tasks`."""
    nodes: NDArray[np.int32]
    tasks: NDArray[np.int32]
    last: NDArray[np.bool_]
    """Whether the job ended with it."""
    by_failure: NDArray[np.bool_]
    """Whether it ended because a node failed. A segment that is neither `last` nor this ended by preemption."""

    def __len__(self) -> int:
        return len(self.job)

    @cached_property
    def length_ms(self) -> NDArray[np.float64]:
        """How long each segment is."""
        return self.end_ms - self.start_ms

    @cached_property
    def entry(self) -> NDArray[np.int64]:
        """The segment of each entry of `nodes` and `tasks`."""
        return np.repeat(np.arange(len(self)), np.diff(self.node_offsets))

    def to_bytes(self) -> bytes:
        """Returns everything as bytes that are the same on every machine."""
        # As in the hash of a schedule: -0.0 becomes 0.0, and bytes are little-endian.
        times = [(times + 0.0).astype("<f8").tobytes() for times in (self.start_ms, self.end_ms)]
        rest = (self.job, self.node_offsets, self.nodes, self.tasks, self.last, self.by_failure)
        return b"".join([*times, *(np.asarray(values, dtype="<i8").tobytes() for values in rest)])

    def take(self, which: NDArray[np.int64]) -> Segments:
        """Returns the segments of these numbers, in this order."""
        offsets, entries = take_lists(self.node_offsets, which)
        return Segments(
            self.job[which],
            self.start_ms[which],
            self.end_ms[which],
            offsets,
            self.nodes[entries],
            self.tasks[entries],
            self.last[which],
            self.by_failure[which],
        )


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
    """Absolute time of the end, or of leaving the queue; NaN where neither happened."""
    outcome: NDArray[np.uint8]
    reject_reason: NDArray[np.uint8]
    preemptions: NDArray[np.int32]
    placement_offsets: NDArray[np.int64]
    """(jobs + 1): job i's entries in `placement_nodes` and `placement_tasks` are offsets[i] to offsets[i + 1]."""
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
    size_by: str = "cores"
    """What jobs' sizes were counted in, by which the policy tells large jobs from small ones: a word of the setting."""
    eligible_s: NDArray[np.float64] | None = None
    """Absolute time from which a job waits for nodes; NaN where it never does; None: all wait from their submit."""

    def __len__(self) -> int:
        return len(self.start_s)

    @cached_property
    def ended(self) -> NDArray[np.bool_]:
        """Which jobs started and ended; the metrics are over these."""
        ended: NDArray[np.bool_] = np.isfinite(self.start_s) & np.isfinite(self.end_s)
        return ended

    def bases(self) -> dict[str, int]:
        """Returns how many of the jobs that ran had an estimate on which basis; empty where nobody noted it."""
        if self.estimate_basis is None:
            return {}
        return count_bases(self.estimate_basis[np.isfinite(self.start_s)])

    def outcomes(self) -> dict[str, int]:
        """Returns how many jobs ended in each way, by its name in lower case."""
        # An outcome that no job had is counted too, as 0.
        counts = np.bincount(self.outcome, minlength=len(Outcome)).tolist()
        return {outcome.name.lower(): counts[outcome] for outcome in Outcome}

    @cached_property
    def rejected(self) -> NDArray[np.bool_]:
        """Which jobs could never fit."""
        return np.asarray(self.outcome == Outcome.REJECTED)

    @cached_property
    def submit_ms(self) -> NDArray[np.float64]:
        """Submit times as the core had them: whole milliseconds."""
        return whole_milliseconds(self.workload.jobs["submit_s"].to_numpy())

    @cached_property
    def eligible_ms(self) -> NDArray[np.float64]:
        """Times from which jobs wait for nodes, in whole milliseconds; NaN where a job never does."""
        return self.submit_ms if self.eligible_s is None else whole_milliseconds(self.eligible_s)

    @cached_property
    def cancelled(self) -> NDArray[np.bool_]:
        """Which jobs left the queue before they had started."""
        return np.asarray(self.outcome == Outcome.CANCELLED)

    @cached_property
    def start_ms(self) -> NDArray[np.float64]:
        """Start times in whole milliseconds; NaN where a job never started."""
        return whole_milliseconds(self.start_s)

    @cached_property
    def end_ms(self) -> NDArray[np.float64]:
        """Times of ends, and of leaving the queue, in whole milliseconds; NaN where neither happened."""
        return whole_milliseconds(self.end_s)

    @property
    def latest_start_ms(self) -> NDArray[np.float64]:
        """Times of the last start in whole milliseconds; NaN where a job never started."""
        return self.start_ms if self.latest_start_s is None else whole_milliseconds(self.latest_start_s)

    @cached_property
    def segments(self) -> Segments:
        """Every stretch of time for which a job held nodes: the stops, and the last one of each job that ended."""
        last = self._last_segments()
        stops = self.stops
        if stops is None or not len(stops):
            return last
        together = Segments(
            np.concatenate([last.job, stops.job]),
            np.concatenate([last.start_ms, whole_milliseconds(stops.start_s)]),
            np.concatenate([last.end_ms, whole_milliseconds(stops.end_s)]),
            np.concatenate([last.node_offsets, stops.node_offsets[1:] + last.node_offsets[-1]]),
            np.concatenate([last.nodes, stops.nodes]),
            np.concatenate([last.tasks, stops.tasks]),
            np.concatenate([last.last, np.zeros(len(stops), dtype=np.bool_)]),
            np.concatenate([last.by_failure, stops.by_failure]),
        )
        # Segments of no length may share both times; the one with which the job ended then comes last.
        return together.take(np.lexsort((together.last, together.end_ms, together.start_ms, together.job)))

    def _last_segments(self) -> Segments:
        """Returns the segment with which each job ended; other jobs have none."""
        rows = np.flatnonzero(self.ended)
        offsets, entries = take_lists(self.placement_offsets, rows)
        return Segments(
            rows,
            self.latest_start_ms[rows],
            self.end_ms[rows],
            offsets,
            self.placement_nodes[entries],
            self.placement_tasks[entries],
            np.ones(len(rows), dtype=np.bool_),
            np.zeros(len(rows), dtype=np.bool_),
        )

    @cached_property
    def held_ms(self) -> NDArray[np.float64]:
        """For how long each job held nodes, over all its segments."""
        # A job has as many segments as starts, so their lengths are added up by job.
        held = np.bincount(self.segments.job, weights=self.segments.length_ms, minlength=len(self))
        return np.asarray(held, dtype=np.float64)

    @property
    def overhead_ms(self) -> NDArray[np.float64]:
        """What each start of each job after a stop costs, for the memory of all its tasks too."""
        cost, jobs = self.settings, self.workload.jobs
        # As the core has it: whole MB, and whole milliseconds, rounded down.
        memory_mb = (jobs["tasks"] * jobs["memory_mb_per_task"].fill_null(0.0)).to_numpy()
        per_gb_ms = np.rint(cost.preemption_overhead_per_gb_s * MILLI)
        return np.asarray(
            np.rint(cost.preemption_overhead_s * MILLI) + np.floor(np.rint(memory_mb) * per_gb_ms / MB_IN_A_GB)
        )

    @cached_property
    def lost_ms(self) -> NDArray[np.float64]:
        """For how long each job held nodes without getting ahead; 0 for a job that was never stopped.

        What each start after a stop costs is lost, and the whole of a segment whose progress was not kept. Of a job
        that failed, or that was stopped and never ended, all is lost.
        """
        if self.stops is None or not len(self.stops):
            return np.zeros(len(self))
        segments, settings = self.segments, self.settings
        # Only stopped jobs can have lost anything, and only they pay for a restart.
        stopped = np.zeros(len(self), dtype=np.bool_)
        stopped[self.stops.job] = True
        # Segments are in the order of jobs and times: where the job changes, its first one begins.
        is_first = np.concatenate([[True], segments.job[1:] != segments.job[:-1]])
        overhead_ms = np.where(is_first, 0.0, self.overhead_ms[segments.job])
        kept = np.where(segments.by_failure, settings.failed_progress == "kept", settings.preempted_progress == "kept")
        in_vain = (
            ~(segments.last | kept)
            | (stopped & ~np.isin(self.outcome, (Outcome.COMPLETED, Outcome.KILLED)))[segments.job]
        )
        lost = np.where(in_vain, segments.length_ms, np.minimum(overhead_ms, segments.length_ms))
        return np.asarray(np.bincount(segments.job, weights=lost, minlength=len(self)), dtype=np.float64)

    @property
    def queue_wait_s(self) -> NDArray[np.float64]:
        """Time from being eligible to the first start; NaN where a job never started."""
        return (self.start_ms - self.eligible_ms) / 1000.0

    @property
    def wait_s(self) -> NDArray[np.float64]:
        """Time between being eligible and the end in which a job held no nodes; NaN where it did not end."""
        return (self.end_ms - self.eligible_ms - self.held_ms) / 1000.0

    @property
    def duration_s(self) -> NDArray[np.float64]:
        """Time from the first start to the end; NaN where a job did not end."""
        return (self.end_ms - self.start_ms) / 1000.0

    @property
    def run_time_s(self) -> NDArray[np.float64]:
        """Time for which a job held nodes and got ahead; NaN where it did not end. A failed job counts what it held."""
        # Nothing of a failed job's work was kept, so it has no other length than what it held.
        gained = np.where(self.outcome == Outcome.FAILED, self.held_ms, self.held_ms - self.lost_ms)
        return np.where(self.ended, gained / 1000.0, np.nan)

    @property
    def turnaround_s(self) -> NDArray[np.float64]:
        """Time from being eligible to the end; NaN where a job did not end."""
        return (self.end_ms - self.eligible_ms) / 1000.0

    @property
    def bounded_slowdown(self) -> NDArray[np.float64]:
        """The bounded slowdown of each job; NaN where a job did not end."""
        return bounded_slowdown(self.turnaround_s, self.run_time_s)

    @cached_property
    def cores(self) -> NDArray[np.float64]:
        """Cores over all tasks of each job."""
        jobs = self.workload.jobs
        return np.asarray(jobs["tasks"].to_numpy() * jobs["cores_per_task"].to_numpy(), dtype=np.float64)

    @cached_property
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
        # 64 bits each, whatever the arrays hold: the hash shall not change with their types.
        for entries in (self.placement_offsets, self.placement_nodes, self.placement_tasks):
            digest.update(entries.astype("<i8").tobytes())
        # Without stops the lines above say all; so hashes from before there were stops still hold.
        if self.stops is not None and len(self.stops):
            digest.update(self.segments.to_bytes())
        return digest.hexdigest()

    def to_frame(self) -> pl.DataFrame:
        """Returns one row a job, in the order of the workload, with times in seconds.

        ``nodes`` is a list of ``{"node": name, "tasks": count}``; what does not apply to a job is null.
        """
        from shunter.model.schedule_frame import schedule_frame

        return schedule_frame(self)


def take_lists(offsets: NDArray[np.int64], which: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Picks some of the lists that offsets cut an array into; returns their offsets, and their entries' old places."""
    counts = np.diff(offsets)[which]
    taken = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return taken, np.repeat(offsets[:-1][which] - taken[:-1], counts) + np.arange(taken[-1])


def count_bases(basis: NDArray[np.uint8]) -> dict[str, int]:
    """Returns how often each basis of an estimate occurs; a basis that never occurs is left out."""
    counts = np.bincount(basis.ravel(), minlength=len(BASES)).tolist()
    return {name: count for name, count in zip(BASES, counts, strict=True) if count}


def bounded_slowdown(turnaround_s: NDArray[np.float64], run_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns turnaround over run time, for which at least 10 s count; never less than 1."""
    return np.maximum(turnaround_s / np.maximum(run_s, BOUNDED_SLOWDOWN_THRESHOLD_S), 1.0)


def whole_milliseconds(seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns seconds as whole milliseconds, exact in float64, so that differences of large times lose nothing."""
    return np.rint(seconds * 1000.0)
