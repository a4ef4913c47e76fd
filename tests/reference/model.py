"""Jobs, nodes, configuration and result of the reference simulator, in plain integers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from shunter.model.schedule import Outcome, RejectReason
from shunter.model.site import NO_RULES, SiteRules

DEVICE_MILLI = 1000


@dataclass(frozen=True)
class RefJob:
    """One job: ``tasks`` identical tasks; cores, memory and GPUs are per task."""

    submit_ms: int
    run_ms: int
    requested_ms: int | None = None
    tasks: int = 1
    cores_milli: int = 1000
    memory_mb: int | None = None
    gpu_milli: int = 0
    partition: str | None = None
    user: str | None = None
    queue: str | None = None
    priority: float | None = None
    logged_wait_ms: int | None = None
    """How long it waited in reality, by which the past before a window is known."""
    gpu_types: int = 0
    """A bit for each type of GPU that it accepts; 0 is any."""
    kind: str | None = None
    speed_micro: tuple[int, ...] | None = None
    """How fast its kind runs on each type of GPU, in millionths; None: as fast as its nodes are."""
    slowdown_micro: tuple[tuple[int, int, int], ...] | None = None
    """By how much slower its kind is on each type if it is spread; None: as the configuration says."""
    begin_ms: int | None = None
    """It may not wait for nodes before."""
    release_ms: int | None = None
    """It is held until then."""
    cancel_ms: int | None = None
    """It leaves then, if it has not started."""
    needs: tuple[tuple[str, int, int], ...] = ()
    """(after, afterok, afterany, afternotok or follows; a job's place in the table; so many ms later): what it needs of
    other jobs."""
    singleton: bool = False
    """It waits until all earlier jobs of its user and name are over."""
    name: str | None = None
    array: str | None = None
    array_limit: int | None = None
    """How many of its array may wait for nodes or run at once."""
    fails: bool = False
    """It does not end well, though it runs to its end."""
    account: str | None = None
    qos: str | None = None
    licenses: tuple[tuple[str, int], ...] = ()
    """How many of each license it takes while it runs."""

    @property
    def total_cores_milli(self) -> int:
        """What it asks for, over all tasks."""
        return self.tasks * self.cores_milli

    @property
    def total_gpu_milli(self) -> int:
        """What it asks for, over all tasks."""
        return self.tasks * self.gpu_milli

    @property
    def asked_milli(self) -> int:
        """Its milli-GPUs over all tasks; of a job without GPUs, its milli-cores."""
        return self.tasks * (self.gpu_milli or self.cores_milli)

    @property
    def total_memory_mb(self) -> int:
        """What it asks for, over all tasks."""
        return self.tasks * (self.memory_mb or 0)

    @property
    def logged_end_ms(self) -> int:
        """When it had ended in reality, as far as the log tells; one that left never has."""
        if self.cancel_ms is not None and self.logged_wait_ms is None:
            return 2**63 - 1
        eligible_ms = max(self.submit_ms, self.begin_ms or self.submit_ms, self.release_ms or self.submit_ms)
        return eligible_ms + (self.logged_wait_ms or 0) + self.run_ms


@dataclass(frozen=True)
class RefNode:
    """One node; memory of None is untracked and never binds."""

    cores_milli: int
    memory_mb: int | None = None
    gpus: int = 0
    partition: str | None = None
    gpu_type: int | None = None
    """Types are numbered in the order in which they first appear among the nodes."""
    speed_milli: int = 1000
    rack: int | None = None
    switch: int | None = None


Score: TypeAlias = Callable[[int, RefJob, int], float]


@dataclass(frozen=True)
class Config:
    """What to simulate, in the words of the command line; times in milliseconds."""

    policy: str | Score = "fcfs"
    """A policy as the command line spells it, or a score of (job's place in the table, job, now in ms)."""
    dispatch: str = "easy"
    placement: str = "first-fit"
    estimate: str = "requested"
    missing_request_ms: int | None = None
    """What stands in for an unknown request; None is the run time."""
    reserve_by: str = "requested"
    kill_at_request: bool = False
    max_wait_ms: int | None = None
    scan_depth: int = 1000
    seed: int = 0
    moving: bool = False
    """A score of one's own moves with time; of the policies with names, one knows."""
    preempt: tuple[tuple[int, int], ...] = ()
    """(time, job): the job, if it runs, is stopped before the pass of the first instant not earlier than the time."""
    keep_progress: bool = True
    preemption_overhead_ms: int = 0
    preemption_overhead_per_gb_ms: int = 0
    """What each start after a stop costs, whether the job was preempted or its node failed."""
    mix: bool = False
    """Whether a job with GPUs may run on several types at once."""
    minimum_run_ms: int = 0
    """How long a job has run at least before a preemptive policy may stop it."""
    failure_keeps_progress: bool = False
    failures: tuple[tuple[int, int, bool], ...] = ()
    """(time, node, whether it is up from then on), sorted by time."""
    mtbf_ms: int | None = None
    """The mean time to failure of a node; None: no failures are drawn."""
    mttr_ms: int | None = None
    """The mean time to repair, given if and only if the mean time to failure is."""
    locality_wait_ms: int | None = 0
    """How long a job waits for nodes that are close together; None: for ever."""
    locality_loss_micro: int | None = 0
    """By how much longer it may run on nodes that it takes without waiting; None: it takes the closest alone."""
    slowdown_micro: tuple[int, int, int] = (1_000_000, 1_000_000, 1_000_000)
    """By how much slower gangs are on more nodes than they need, on several switches, in several racks."""
    pairs: str = "any"
    """Which types of GPUs a job takes: ``any``, ``price`` or ``eft``."""
    prices: tuple[float, ...] = ()
    """What a second costs on each type of GPU; none: they have no prices."""
    price_factor: float = 1.2
    size_by: str = "auto"
    """What sizes are counted in: ``auto``, ``cores``, ``gpus`` or ``cores-alone``."""
    rules: SiteRules = field(default=NO_RULES, hash=False)
    """What the site lets wait and start."""


@dataclass(frozen=True)
class Share:
    """What one node gives to a job: so many tasks, and so many milli-GPUs of each of its devices."""

    node: int
    tasks: int
    devices: tuple[int, ...] = ()


Allocation: TypeAlias = tuple[Share, ...]


@dataclass(frozen=True)
class Reject:
    """A job was refused when it arrived."""

    time_ms: int
    job: int
    reason: RejectReason


@dataclass(frozen=True)
class Leave:
    """A job left before it had started."""

    time_ms: int
    job: int


@dataclass(frozen=True)
class Start:
    """A job started, for the first time or again."""

    time_ms: int
    job: int
    allocation: Allocation


@dataclass(frozen=True)
class Preempt:
    """A running job was stopped and waits again."""

    time_ms: int
    job: int


@dataclass(frozen=True)
class Fail:
    """A node went down under a running job."""

    time_ms: int
    job: int


@dataclass(frozen=True)
class End:
    """A job ended for good."""

    time_ms: int
    job: int
    outcome: Outcome


Event: TypeAlias = Reject | Leave | Start | Preempt | Fail | End


@dataclass(frozen=True)
class Stop:
    """A stretch of running that did not end its job."""

    job: int
    start_ms: int
    end_ms: int
    allocation: Allocation
    by_failure: bool


@dataclass(frozen=True)
class Pass:
    """The state after one scheduling pass: who waits, in order, and until when reservations reach."""

    time_ms: int
    waiting: tuple[int, ...]
    reserved_start_ms: dict[int, int]


@dataclass
class Result:
    """What happened: the events in order, and the same by job (in the order of the table)."""

    start_ms: list[int | None]
    """The first start."""
    latest_start_ms: list[int | None]
    end_ms: list[int | None]
    outcome: list[Outcome]
    reject_reason: list[RejectReason]
    allocation: list[Allocation]
    """Of the latest start."""
    estimate_ms: list[int | None]
    """What the policy saw at the latest start."""
    eligible_ms: list[int | None]
    """Since when the job may wait for nodes."""
    failures: list[int]
    """How often nodes went down under the job."""
    events: list[Event] = field(default_factory=list)
    stops: list[Stop] = field(default_factory=list)
    passes: list[Pass] = field(default_factory=list)

    @classmethod
    def blank(cls, jobs: int) -> Result:
        """Returns the result before anything has happened."""
        return cls(
            start_ms=[None] * jobs,
            latest_start_ms=[None] * jobs,
            end_ms=[None] * jobs,
            outcome=[Outcome.UNFINISHED] * jobs,
            reject_reason=[RejectReason.NONE] * jobs,
            allocation=[()] * jobs,
            estimate_ms=[None] * jobs,
            eligible_ms=[None] * jobs,
            failures=[0] * jobs,
        )

    def nodes(self, job: int) -> tuple[tuple[int, int], ...]:
        """Returns the (node, tasks) pairs of a job, by node number."""
        return tuple(sorted((share.node, share.tasks) for share in self.allocation[job]))


def request_ms(job: RefJob, config: Config) -> int:
    """Returns the requested time, or what stands in for it."""
    if job.requested_ms is not None:
        return job.requested_ms
    return job.run_ms if config.missing_request_ms is None else config.missing_request_ms


def restart_ms(job: RefJob, config: Config) -> int:
    """Returns what each start of the job after a stop costs before it makes progress."""
    return config.preemption_overhead_ms + job.total_memory_mb * config.preemption_overhead_per_gb_ms // 1024


def is_killed(job: RefJob, config: Config) -> bool:
    """Tells whether the job is killed at its request rather than ending by itself."""
    return config.kill_at_request and job.requested_ms is not None and job.run_ms > job.requested_ms


def lasting_ms(job: RefJob, config: Config) -> int:
    """Returns for how long the job really runs."""
    return request_ms(job, config) if is_killed(job, config) else job.run_ms
