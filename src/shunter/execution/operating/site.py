"""What one reading of a scheduler tells, in words that are no scheduler's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final


class State(str, Enum):
    """What a job does, as far as deciding goes."""

    PENDING = "pending"
    RUNNING = "running"
    """It holds nodes: also one that is suspended or cleans up."""
    ENDED = "ended"
    OTHER = "other"
    """It neither waits nor holds anything, or nobody knows."""


@dataclass(frozen=True)
class SiteJob:
    """A job as the scheduler tells of it. Times are seconds since 1970."""

    id: int
    address: str
    """How commands name exactly this record, never others of its array: ``12``, ``12_3``, ``12_[4-9]``, ``12[3]``."""
    state: State
    submit_s: float
    cores: int
    array: int | None = None
    """The id of its array, if it is part of one."""
    status: str = ""
    """How it ended, in the words of logs."""
    reason: str = ""
    """Why it waits, in the scheduler's word."""
    barrier: str = ""
    """What keeps it from starting whoever orders the queue: a hold, a dependency, a limit; empty: nothing does."""
    eligible_s: float | None = None
    start_s: float | None = None
    end_s: float | None = None
    requested_s: float | None = None
    tasks: int = 1
    nodes: int = 1
    """How many nodes it asks for at least, or has."""
    is_on_one_node: bool = False
    """Whether it may not be spread."""
    memory_mb: float | None = None
    """In all."""
    gpus: int = 0
    gpu_type: str | None = None
    partitions: tuple[str, ...] = ()
    user: str = ""
    account: str = ""
    qos: str = ""
    priority: int = 0
    place: int = 0
    """Where it stands in the scheduler's own order, if that does not follow from priorities and ids alone."""
    line: str = ""
    """The line that it stands in: nudges order the jobs of one line, and never one line against another."""
    nice: int = 0
    site_factor: int | None = None
    """None: nobody knows."""
    aps: int | str | None = None
    """What administrators add to its absolute priority; 0: nothing, a text: more than a whole number."""
    is_moved: bool | None = None
    """Whether it stands before a job of its line that came earlier; None: the line is not ordered by coming."""
    came: int = 0
    """Which of its line's jobs it is by coming: 0 came first."""
    own_nodes: str = ""
    """Nodes, or features of nodes, that it asks for or excludes."""
    required_nodes: str = ""
    mark: str = ""
    """The administrators' comment."""
    allocation: tuple[tuple[str, int], ...] = ()
    """The nodes that it has, with the cores on each."""
    devices: Mapping[str, Sequence[int]] | None = None
    """The numbers of its GPUs by node, where they are told."""

    @property
    def has_run(self) -> bool:
        """Whether it has ended and ran before: one that was cancelled while it waited may be told a start as well."""
        if self.state != State.ENDED or self.start_s is None or self.end_s is None:
            return False
        return self.start_s < self.end_s or (self.start_s == self.end_s and not self.status.startswith("cancel"))


@dataclass(frozen=True)
class SiteNode:
    """A node as the scheduler tells of it."""

    name: str
    cores: int
    memory_mb: int | None
    gpus: int = 0
    gpu_type: str | None = None
    partitions: tuple[str, ...] = ()
    is_closed: bool = False
    """Whether no further job may start on it: it is down, drained, or kept for a reservation."""


@dataclass(frozen=True)
class Site:
    """One reading."""

    now_s: float
    jobs: tuple[SiteJob, ...]
    nodes: tuple[SiteNode, ...]
    seconds: float = 0.0
    """How long reading took."""
    is_memory_shared: bool = True
    """Whether the scheduler gives memory to jobs, so that they can be short of it."""
    tiers: Mapping[str, int] = field(default_factory=dict)
    """Partitions whose jobs stand before all jobs of those with a lower number."""

    @property
    def pending(self) -> list[SiteJob]:
        """Those that wait, whatever for."""
        return [job for job in self.jobs if job.state == State.PENDING]

    @property
    def candidates(self) -> list[SiteJob]:
        """Those that only wait for room or for their turn, in the scheduler's own order."""
        found = [job for job in self.jobs if job.state == State.PENDING and not job.barrier]
        return sorted(found, key=lambda job: (job.place, -job.priority, job.id))


class SiteError(Exception):
    """The scheduler did not answer, or its answer makes no sense."""


NO_SITE: Final = Site(0.0, (), ())
"""Before the first reading."""
