"""The state of a simulation, and the few things that can happen to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from shunter.model.schedule import Outcome, RejectReason
from tests.reference.asking import Ask, JobClass, candidates
from tests.reference.conditions import comes_ms
from tests.reference.estimates import Estimator, estimator
from tests.reference.failures import MOST_FAILURES, Failures
from tests.reference.fragments import classes_of
from tests.reference.gittins import Histograms, read_histograms
from tests.reference.holding import Reservation, Running
from tests.reference.locality import is_gang, spreads
from tests.reference.model import (
    Allocation,
    Config,
    End,
    Fail,
    Leave,
    Preempt,
    RefJob,
    RefNode,
    Reject,
    Result,
    Start,
    Stop,
    is_killed,
    lasting_ms,
    request_ms,
    restart_ms,
)
from tests.reference.pairs import target
from tests.reference.placements import place_job
from tests.reference.policies import Order, in_order
from tests.reference.resources import FreeNodes, empty, reject_reason, usable, without
from tests.reference.shares import Usage
from tests.reference.site_rules import closed_nodes, over_job_limit
from tests.reference.sizes import Sizes, sizes_of
from tests.reference.specs import OWN, Spec, order_moves, read_spec
from tests.reference.speeds import done_ms, lasts_ms, least_speed_micro, speed_micro


@dataclass
class State:
    """Who waits, who runs (in start order) and who holds a reservation now."""

    jobs: Sequence[RefJob]
    nodes: Sequence[RefNode]
    config: Config
    result: Result
    now_ms: int
    before: Sequence[RefJob] = ()
    """The jobs of the log before the first one."""
    quiet_since_ms: int = field(init=False)
    """The last instant that hours and reservations of the site did not bring alone."""
    arrived: int = 0
    """How many jobs have come."""
    came: set[int] = field(default_factory=set)
    held: list[int] = field(default_factory=list)
    """Those that were submitted, but may not wait for nodes yet."""
    waiting: list[int] = field(default_factory=list)
    running: list[Running] = field(default_factory=list)
    reservations: dict[int, Reservation] = field(default_factory=dict)
    progress_ms: dict[int, int] = field(default_factory=dict)
    """Of each job that has been stopped: the progress that it keeps, as work at the speed 1."""
    held_ms: Counter[int] = field(default_factory=Counter)
    """Of each job: how long it held its resources until it was stopped, all in all."""
    vain_ms: Counter[int] = field(default_factory=Counter)
    """Of each job: how long it worked in segments whose progress was lost."""
    arrival_limit_ms: dict[int, int] = field(default_factory=dict)
    """Of each job: its limit as it is when the job arrives, at least 1 ms."""
    policy: Spec = field(init=False)
    moves: bool = field(init=False)
    """Whether the order is made anew at every pass."""
    estimates: Estimator = field(init=False)
    histograms: Histograms = field(init=False)
    sizes: Sizes = field(init=False)
    usage: Usage = field(init=False)
    failures: Failures = field(init=False)
    classes: Counter[JobClass] = field(init=False)

    def __post_init__(self) -> None:
        """Reads the specs, and learns from the jobs that had ended in reality before the first one is submitted."""
        self.quiet_since_ms = self.now_ms
        policy, estimate = self.config.policy, read_spec(self.config.estimate, "estimate")
        self.policy = read_spec(policy, "policy") if isinstance(policy, str) else OWN
        self.moves = self.config.moving or order_moves(self.policy, estimate)
        self.estimates = estimator(estimate, self.config)
        self.histograms = read_histograms(self.policy)
        log = [*self.before, *self.jobs]
        self.sizes = sizes_of(self.config.size_by, log, self.nodes, self.config.mix, self.policy.name)
        self.usage = Usage(log, self.policy, self.sizes)
        self.failures = Failures.of(self.config, self.nodes, self.now_ms)
        self.classes = classes_of([*self.before, *self.jobs])
        for job in sorted(self.before, key=lambda job: job.logged_end_ms):
            if job.logged_end_ms <= self.now_ms:
                self.learn(job, job.run_ms)

    @property
    def log_begin_ms(self) -> int:
        """Returns when the log begins."""
        return [*self.before, *self.jobs][0].submit_ms

    @property
    def total_cores_milli(self) -> int:
        """Returns the cores of the cluster."""
        return sum(node.cores_milli for node in self.nodes)

    def free_cores_milli(self) -> int:
        """Returns the cores that nobody uses now, those of nodes that are down left out."""
        used = sum(self.jobs[running.job].total_cores_milli for running in self.running)
        return sum(self.nodes[node].cores_milli for node in self.up()) - used

    def free_milli(self) -> int:
        """Returns what nobody uses now of what sizes are counted in, that of nodes that are down left out."""
        if not self.sizes.by_gpus:
            return self.free_cores_milli()
        used = sum(self.jobs[running.job].total_gpu_milli for running in self.running)
        return 1000 * sum(self.nodes[node].gpus for node in self.up()) - used

    def up(self) -> list[int]:
        """Returns the nodes that are not down now."""
        return [node for node in range(len(self.nodes)) if node not in self.failures.down]

    def since_ms(self, job: int) -> int:
        """Returns since when a job may wait for nodes; of one that may not yet, when it was submitted."""
        eligible_ms = self.result.eligible_ms[job]
        return self.jobs[job].submit_ms if eligible_ms is None else eligible_ms

    def wait_s(self, job: int) -> float:
        """Returns how long a waiting job has waited."""
        return (self.now_ms - self.since_ms(job)) / 1000

    def number(self, job: int) -> int:
        """Returns the job's place in the log, by which everything random is drawn."""
        return len(self.before) + job

    def estimate_ms(self, job: int) -> int:
        """Returns the run time that the policy sees now."""
        return self.estimates.estimate_ms(self.number(job), self.jobs[job])

    def estimate_s(self, job: int) -> float:
        """Returns the same in seconds."""
        return self.estimate_ms(job) / 1000

    def learn(self, job: RefJob, run_ms: int) -> None:
        """Takes note of how long a job ran that has ended."""
        self.estimates.learn(job, run_ms)
        self.histograms.learn(job, run_ms)

    def arrive(self) -> None:
        """Lets the next job arrive: it is held, until it may wait, or is rejected."""
        _, job = min(self._coming())
        self.came.add(job)
        self.arrived += 1
        by_estimate = self.config.reserve_by == "estimate"
        request = request_ms(self.jobs[job], self.config)
        self.arrival_limit_ms[job] = max(1, self.estimate_ms(job) if by_estimate else request)
        reason = reject_reason(self.jobs[job], self.nodes, self.config.mix)
        if reason is RejectReason.NONE and over_job_limit(self.jobs[job], self.config.rules):
            reason = RejectReason.OVER_JOB_LIMIT
        if reason is RejectReason.NONE:
            self.held.append(job)
            return
        self.result.outcome[job] = Outcome.REJECTED
        self.result.reject_reason[job] = reason
        self.result.events.append(Reject(self.now_ms, job, reason))

    def wait(self, job: int) -> None:
        """Lets a held job wait for nodes."""
        self.held.remove(job)
        self.waiting.append(job)
        self.result.eligible_ms[job] = self.now_ms

    def leave(self, job: int) -> None:
        """Lets a job leave that has not started."""
        (self.waiting if job in self.waiting else self.held).remove(job)
        self.reservations.pop(job, None)
        self.result.outcome[job] = Outcome.CANCELLED
        self.result.end_ms[job] = self.now_ms
        self.result.events.append(Leave(self.now_ms, job))

    def next_submit_ms(self) -> int | None:
        """Returns when the next job arrives, or None if all have."""
        return min(self._coming(), default=(None, 0))[0]

    def _coming(self) -> list[tuple[int, int]]:
        """Returns when which jobs arrive that have not, as far as that is known."""
        coming = [(comes_ms(self, job), job) for job in range(len(self.jobs)) if job not in self.came]
        return [(time_ms, job) for time_ms, job in coming if time_ms is not None]

    def order(self) -> Order:
        """Returns the waiting jobs in their order."""
        return in_order(self)

    def free_now(self) -> FreeNodes:
        """Returns what the running jobs leave free."""
        free = empty(self.nodes)
        for running in self.running:
            free = without(free, self.jobs[running.job], running.allocation)
        return free

    def place(
        self, job: int, free: FreeNodes, at_ms: int | None = None, wanted: RefJob | None = None
    ) -> Allocation | None:
        """Returns where the placement rule puts a job in what is free now, or at a time to come; None: nowhere.

        ``wanted`` is what it asks for, if that is less than it could take: some types of GPUs alone.
        """
        rule = "first-fit" if self.policy.name == "first-available" else self.config.placement
        if wanted is None and self.config.pairs == "eft":
            wanted = target(self, job)
        return place_job(rule, self.ask(job, free, at_ms, wanted))

    def patient_until_ms(self, job: int) -> int | None:
        """Returns until when a gang waits for nodes that are close together, if that is a matter of time."""
        wait_ms = self.config.locality_wait_ms
        return self.since_ms(job) + wait_ms if wait_ms and is_gang(self.jobs[job]) else None

    def waits_for_locality(self, job: int, at_ms: int) -> bool:
        """Tells whether a job does not take any nodes at a time."""
        until_ms = self.patient_until_ms(job)
        return self.config.locality_wait_ms is None or (until_ms is not None and at_ms < until_ms)

    def ask(self, job: int, free: FreeNodes, at_ms: int | None = None, wanted: RefJob | None = None) -> Ask:
        """Returns what a placement rule is asked about a job in what is free."""
        start_ms = self.now_ms if at_ms is None else at_ms
        waits = self.waits_for_locality(job, start_ms)
        asked = wanted or self.jobs[job]
        shut = self.failures.down | closed_nodes(self, job, start_ms)
        nodes = [node for node in usable(asked, self.nodes) if node not in shut]
        return Ask(
            asked,
            self.number(job),
            self.nodes,
            tuple(nodes),
            free,
            candidates(asked, nodes, free),
            pool=tuple(range(len(self.nodes))),
            mix=self.config.mix,
            seed=self.config.seed,
            spreads=spreads(asked, self.nodes, self.config) if waits else (),
            classes=self.classes,
        )

    def overhead_ms(self, job: int) -> int:
        """Returns what the job's next start, or its present one, costs before it makes progress."""
        return restart_ms(self.jobs[job], self.config) if job in self.progress_ms else 0

    def limit_ms(self, job: int) -> int:
        """Returns how much work the job is expected to have left, at the speed 1."""
        return max(1, self.arrival_limit_ms[job] - self.progress_ms.get(job, 0))

    def duration_ms(self, job: int, allocation: Allocation) -> int:
        """Returns for how long the job is expected to hold an allocation once started."""
        return self.overhead_ms(job) + lasts_ms(self.limit_ms(job), self.speed_micro(job, allocation))

    def longest_duration_ms(self, job: int) -> int:
        """Returns the same for the slowest nodes that the job may get, for which a reservation is planned."""
        return self.overhead_ms(job) + lasts_ms(
            self.limit_ms(job), least_speed_micro(self.jobs[job], self.nodes, self.config)
        )

    def speed_micro(self, job: int, allocation: Allocation) -> int:
        """Returns the speed at which the job runs on an allocation."""
        return speed_micro(self.jobs[job], allocation, self.nodes, self.config)

    def left_ms(self, job: int) -> int:
        """Returns how much work the job really had left when it started last."""
        return lasting_ms(self.jobs[job], self.config) - self.progress_ms.get(job, 0)

    def start(self, job: int, allocation: Allocation) -> None:
        """Starts a waiting job now."""
        lasting = self.overhead_ms(job) + lasts_ms(self.left_ms(job), self.speed_micro(job, allocation))
        end_ms, limit_end_ms = self.now_ms + lasting, self.now_ms + self.duration_ms(job, allocation)
        self.waiting.remove(job)
        self.reservations.pop(job, None)
        self.usage.change(self.jobs[job], 1, self.now_ms)
        self.running.append(Running(job, self.now_ms, end_ms, limit_end_ms, allocation))
        if self.result.start_ms[job] is None:
            self.result.start_ms[job] = self.now_ms
        self.result.latest_start_ms[job] = self.now_ms
        self.result.allocation[job] = allocation
        self.result.estimate_ms[job] = self.estimate_ms(job)
        self.result.events.append(Start(self.now_ms, job, allocation))

    def end(self, running: Running) -> None:
        """Ends a running job and gives its resources back; the estimates learn its run time."""
        job = self.jobs[running.job]
        self.running.remove(running)
        self.usage.change(job, -1, self.now_ms)
        self.learn(job, lasting_ms(job, self.config))
        outcome = Outcome.KILLED if is_killed(job, self.config) else Outcome.COMPLETED
        self.result.end_ms[running.job] = running.end_ms
        self.result.outcome[running.job] = outcome
        self.result.events.append(End(running.end_ms, running.job, outcome))

    def done_ms(self, running: Running) -> int:
        """Returns the work that a running job has done so far and not lost, at the speed 1."""
        held_ms = max(0, self.now_ms - running.start_ms - self.overhead_ms(running.job))
        done = done_ms(held_ms, self.speed_micro(running.job, running.allocation))
        return self.progress_ms.get(running.job, 0) + min(done, self.left_ms(running.job))

    def preempt(self, running: Running) -> None:
        """Stops a running job, which waits again."""
        self.result.events.append(Preempt(self.now_ms, running.job))
        self._stop(running, self.config.keep_progress)
        self._wait_again(running, by_failure=False)

    def change_nodes(self) -> None:
        """Lets the node events until now happen."""
        for event in self.failures.take_due(self.now_ms):
            if self.failures.change(event):
                self.fail(event.node)

    def fail(self, node: int) -> None:
        """Stops the jobs on a node that goes down, in the order of their starts; one that fails too often ends."""
        for running in [one for one in self.running if any(share.node == node for share in one.allocation)]:
            self.result.events.append(Fail(self.now_ms, running.job))
            self.result.failures[running.job] += 1
            self._stop(running, self.config.failure_keeps_progress)
            if self.result.failures[running.job] < MOST_FAILURES:
                self._wait_again(running, by_failure=True)
                continue
            self.result.end_ms[running.job] = self.now_ms
            self.result.outcome[running.job] = Outcome.FAILED
            self.result.events.append(End(self.now_ms, running.job, Outcome.FAILED))

    def _stop(self, running: Running, keeps_progress: bool) -> None:
        """Gives a job's resources back before it has ended; its progress since its last start is kept or lost."""
        done = self.done_ms(running)
        self.running.remove(running)
        self.usage.change(self.jobs[running.job], -1, self.now_ms)
        if not keeps_progress:
            self.vain_ms[running.job] += max(0, self.now_ms - running.start_ms - self.overhead_ms(running.job))
        self.progress_ms[running.job] = done if keeps_progress else self.progress_ms.get(running.job, 0)
        self.held_ms[running.job] += self.now_ms - running.start_ms

    def _wait_again(self, running: Running, by_failure: bool) -> None:
        """Puts a job that was stopped back among those that wait."""
        self.waiting.append(running.job)
        self.result.stops.append(Stop(running.job, running.start_ms, self.now_ms, running.allocation, by_failure))
