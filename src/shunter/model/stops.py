"""Stops: the stretches of time for which jobs ran without ending, and all stretches of a schedule together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Stops:
    """The segments that did not end their job: it was preempted, or one of its nodes failed. One row a segment."""

    job: NDArray[np.int32]
    """The job's row in the workload."""
    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    node_offsets: NDArray[np.int64]
    """(stops + 1): segment i's nodes are the entries offsets[i] to offsets[i + 1] of the next two."""
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
    """(segments + 1): segment i's nodes are the entries offsets[i] to offsets[i + 1] of the next two."""
    nodes: NDArray[np.int32]
    tasks: NDArray[np.int32]
    last: NDArray[np.bool_]
    """Whether the job ended with it."""
    by_failure: NDArray[np.bool_]
    """Whether a node failed; of the others that are not the last, the job was preempted."""

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


def take_lists(offsets: NDArray[np.int64], which: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns the offsets of some of the lists, one after the other, and where their entries were before."""
    counts = np.diff(offsets)[which]
    taken = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return taken, np.repeat(offsets[:-1][which] - taken[:-1], counts) + np.arange(taken[-1])
