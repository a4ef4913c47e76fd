"""The state of a simulation, and the few things that can happen to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from shunter.model.schedule import Outcome, RejectReason
from tests.reference.model import (
    Allocation,
    Config,
    End,
    Preempt,
    RefJob,
    RefNode,
    Reject,
    Result,
    Start,
    is_killed,
    lasting_ms,
    limit_ms,
)
from tests.reference.placements import place_job
from tests.reference.policies import in_order
from tests.reference.resources import FreeNodes, empty, reject_reason, usable, without


@dataclass(frozen=True)
class Running:
    """A job that runs: since when, until when in truth, and until when by its limit."""

    job: int
    start_ms: int
    end_ms: int
    limit_end_ms: int
    allocation: Allocation


@dataclass(frozen=True)
class Reservation:
    """A start time together with nodes and devices, held for the job's limit."""

    start_ms: int
    allocation: Allocation


@dataclass
class State:
    """Who waits, who runs (in start order) and who holds a reservation now."""

    jobs: Sequence[RefJob]
    nodes: Sequence[RefNode]
    config: Config
    result: Result
    now_ms: int
    arrived: int = 0
    waiting: list[int] = field(default_factory=list)
    running: list[Running] = field(default_factory=list)
    reservations: dict[int, Reservation] = field(default_factory=dict)
    progress_ms: dict[int, int] = field(default_factory=dict)
    """Of each job that has been preempted: the progress that it keeps."""

    def arrive(self) -> None:
        """Lets the next job of the table arrive: it waits, or is rejected."""
        job = self.arrived
        self.arrived += 1
        reason = reject_reason(self.jobs[job], self.nodes)
        if reason is RejectReason.NONE:
            self.waiting.append(job)
            return
        self.result.outcome[job] = Outcome.REJECTED
        self.result.reject_reason[job] = reason
        self.result.events.append(Reject(self.now_ms, job, reason))

    def next_submit_ms(self) -> int | None:
        """Returns when the next job arrives, or None if all have."""
        return self.jobs[self.arrived].submit_ms if self.arrived < len(self.jobs) else None

    def order(self) -> list[int]:
        """Returns the waiting jobs in their order."""
        return in_order(self.waiting, self.jobs, self.now_ms, self.config)

    def free_now(self) -> FreeNodes:
        """Returns what the running jobs leave free."""
        free = empty(self.nodes)
        for running in self.running:
            free = without(free, self.jobs[running.job], running.allocation)
        return free

    def place(self, job: int, free: FreeNodes) -> Allocation | None:
        """Returns where the placement rule puts a job in what is free, or None."""
        rule = "first-fit" if self.config.policy == "first-available" else self.config.placement
        nodes = usable(self.jobs[job], self.nodes)
        return place_job(rule, self.jobs[job], job, free, nodes, self.config.seed)

    def overhead_ms(self, job: int) -> int:
        """Returns what the job's next start costs before it makes progress."""
        return self.config.preemption_overhead_ms if job in self.progress_ms else 0

    def limit_ms(self, job: int) -> int:
        """Returns for how long the job is expected to hold its resources once started."""
        kept = self.progress_ms.get(job, 0)
        return max(1, limit_ms(self.jobs[job], self.config) - kept + self.overhead_ms(job))

    def start(self, job: int, allocation: Allocation) -> None:
        """Starts a waiting job now."""
        lasting = lasting_ms(self.jobs[job], self.config) - self.progress_ms.get(job, 0) + self.overhead_ms(job)
        end_ms, limit_end_ms = self.now_ms + lasting, self.now_ms + self.limit_ms(job)
        self.waiting.remove(job)
        self.reservations.pop(job, None)
        self.running.append(Running(job, self.now_ms, end_ms, limit_end_ms, allocation))
        if self.result.start_ms[job] is None:
            self.result.start_ms[job] = self.now_ms
        self.result.allocation[job] = allocation
        self.result.events.append(Start(self.now_ms, job, allocation))

    def end(self, running: Running) -> None:
        """Ends a running job and gives its resources back."""
        self.running.remove(running)
        outcome = Outcome.KILLED if is_killed(self.jobs[running.job], self.config) else Outcome.COMPLETED
        self.result.end_ms[running.job] = running.end_ms
        self.result.outcome[running.job] = outcome
        self.result.events.append(End(running.end_ms, running.job, outcome))

    def preempt(self, running: Running) -> None:
        """Stops a running job, which waits again."""
        self.running.remove(running)
        self.waiting.append(running.job)
        progress = max(0, self.now_ms - running.start_ms - self.overhead_ms(running.job))
        kept = self.progress_ms.get(running.job, 0)
        self.progress_ms[running.job] = kept + progress if self.config.keep_progress else 0
        self.result.events.append(Preempt(self.now_ms, running.job))
