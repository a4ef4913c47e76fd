"""What a simulation tells of itself: the clock, and arrays that the core fills."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shunter.native import CoreArrays, filled

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Status:
    """The clock and the counts."""

    now_s: float
    jobs: int
    waiting: int
    running: int
    ended: int
    """Jobs that have ended, or were rejected."""
    starts: int
    free_cores: float


@dataclass(frozen=True)
class JobStates(CoreArrays):
    """What each job is doing; times are −1 where there is none yet."""

    phase: NDArray[np.uint8] = filled(np.uint8)
    start_ms: NDArray[np.int64] = filled(np.int64)
    latest_start_ms: NDArray[np.int64] = filled(np.int64)
    end_ms: NDArray[np.int64] = filled(np.int64)
    reserved_ms: NDArray[np.int64] = filled(np.int64)
    reject_reason: NDArray[np.uint8] = filled(np.uint8)
    preemptions: NDArray[np.uint32] = filled(np.uint32)
    failures: NDArray[np.uint32] = filled(np.uint32)


@dataclass(frozen=True)
class Estimates(CoreArrays):
    """The run time that the policy sees of each job."""

    estimate_ms: NDArray[np.int64] = filled(np.int64)
    basis: NDArray[np.uint8] = filled(np.uint8)
    """What it rests on: a place in `shunter.model.schedule.BASES`."""


@dataclass(frozen=True)
class HeldTimes(CoreArrays):
    """How long each job has held nodes, in runs that are over."""

    held_ms: NDArray[np.int64] = filled(np.int64)
    lost_ms: NDArray[np.int64] = filled(np.int64)
    """How much of that brought it nothing, since it was stopped."""


@dataclass(frozen=True)
class CoreStops:
    """The runs that did not end their jobs, in the core's units."""

    job: NDArray[np.uint32]
    start_ms: NDArray[np.int64]
    end_ms: NDArray[np.int64]
    by_failure: NDArray[np.uint8]
    """1: a node failed; 0: another job needed the room."""
    node_offsets: NDArray[np.int64]
    """(stops + 1): stop i's nodes are the entries offsets[i] to offsets[i + 1] of `nodes` and `tasks`."""
    nodes: NDArray[np.int32]
    tasks: NDArray[np.int32]
