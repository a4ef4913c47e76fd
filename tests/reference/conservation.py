"""What must hold of any result, whoever made it: nothing is lost, doubled, overdrawn or used while it is down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from shunter.model.schedule import Outcome, RejectReason
from tests.reference.failures import MOST_FAILURES, Failures
from tests.reference.model import (
    DEVICE_MILLI,
    Allocation,
    Config,
    RefJob,
    RefNode,
    Result,
    is_killed,
    lasting_ms,
    restart_ms,
)
from tests.reference.resources import has_wanted_type, in_partition
from tests.reference.speeds import USUAL_MICRO, speed_micro

ENDED = (Outcome.COMPLETED, Outcome.KILLED, Outcome.FAILED)


@dataclass(frozen=True)
class Segment:
    """A job held an allocation during [start, end); ``ending`` says that it ended with it, and did not wait again."""

    job: int
    start_ms: int
    end_ms: int
    allocation: Allocation
    by_failure: bool = False
    ending: bool = False


@dataclass(frozen=True)
class Account:
    """A result together with what was asked for."""

    jobs: Sequence[RefJob]
    nodes: Sequence[RefNode]
    config: Config
    result: Result

    @cached_property
    def segments(self) -> list[Segment]:
        """Returns all segments, those of one job in the order of time."""
        stops = self.result.stops
        found = [Segment(one.job, one.start_ms, one.end_ms, one.allocation, one.by_failure) for one in stops]
        for job, outcome in enumerate(self.result.outcome):
            start_ms, end_ms = self.result.latest_start_ms[job], self.result.end_ms[job]
            if outcome in ENDED and start_ms is not None and end_ms is not None:
                found.append(Segment(job, start_ms, end_ms, self.result.allocation[job], ending=True))
        return sorted(found, key=lambda one: (one.job, one.start_ms, one.ending))

    def segments_of(self, job: int) -> list[Segment]:
        """Returns the segments of one job in the order of time."""
        return [segment for segment in self.segments if segment.job == job]


def check_conservation(jobs: Sequence[RefJob], nodes: Sequence[RefNode], config: Config, result: Result) -> None:
    """Asserts all of it; the devices only where the result names them."""
    account = Account(jobs, nodes, config, result)
    for job in range(len(jobs)):
        check_end(account, job)
        check_turns(account, job)
        check_work(account, job)
    for segment in account.segments:
        check_gang(account, segment)
    check_amounts(account)
    check_limits(account)
    check_down(account)


def check_end(account: Account, job: int) -> None:
    """Asserts that the job ended once at most, in a way that fits what happened to it."""
    result, outcome = account.result, account.result.outcome[job]
    ending = [segment for segment in account.segments_of(job) if segment.ending]
    assert len(ending) == (outcome in ENDED), f"job {job} is {outcome!r} with the last segments {ending}"
    assert (result.end_ms[job] is not None) == (outcome in (*ENDED, Outcome.CANCELLED))
    assert (result.reject_reason[job] is RejectReason.NONE) == (outcome is not Outcome.REJECTED)
    if outcome in (Outcome.REJECTED, Outcome.CANCELLED):
        assert not account.segments_of(job), f"job {job} was rejected or left, but ran"
    if outcome in (Outcome.COMPLETED, Outcome.KILLED):
        assert (outcome is Outcome.KILLED) == is_killed(account.jobs[job], account.config)
    stops = sum(segment.by_failure for segment in account.segments_of(job))
    assert result.failures[job] == stops + (outcome is Outcome.FAILED)
    assert (result.failures[job] >= MOST_FAILURES) == (outcome is Outcome.FAILED)


def check_turns(account: Account, job: int) -> None:
    """Asserts that the job never ran before it was submitted, nor twice at once, and first when the result says."""
    # One that follows another comes when that has ended, which may be before its submit time.
    follows = any(kind == "follows" for kind, _, _ in account.jobs[job].needs)
    eligible_ms = account.result.eligible_ms[job] if follows else None
    free_ms = account.jobs[job].submit_ms if eligible_ms is None else eligible_ms
    segments = account.segments_of(job)
    for segment in segments:
        assert free_ms <= segment.start_ms <= segment.end_ms, f"job {job} runs twice at once: {segments}"
        free_ms = segment.end_ms
    if segments:
        assert account.result.start_ms[job] == segments[0].start_ms


def check_gang(account: Account, segment: Segment) -> None:
    """Asserts that all tasks have a place, each node is named once and may be used, and types mix only if told."""
    job = account.jobs[segment.job]
    numbers = [share.node for share in segment.allocation]
    assert sum(share.tasks for share in segment.allocation) == job.tasks
    assert len(set(numbers)) == len(numbers)
    assert set(numbers) <= set(in_partition(job, account.nodes))
    assert all(has_wanted_type(job, account.nodes[number]) for number in numbers)
    if job.gpu_milli and not account.config.mix:
        assert len({account.nodes[number].gpu_type for number in numbers}) == 1, f"{segment} mixes types of GPUs"


def check_work(account: Account, job: int) -> None:
    """Asserts that the work kept in all segments adds up to the run time, up to the rounding of the last one."""
    asked, config = account.jobs[job], account.config
    left_ms = lasting_ms(asked, config)
    for number, segment in enumerate(account.segments_of(job)):
        speed = speed_micro(asked, segment.allocation, account.nodes, config)
        overhead_ms = restart_ms(asked, config) if number else 0
        work = max(0, segment.end_ms - segment.start_ms - overhead_ms) * speed
        if segment.ending:
            if account.result.outcome[job] is not Outcome.FAILED:
                assert segment.end_ms - segment.start_ms >= overhead_ms
                assert left_ms * USUAL_MICRO <= work < left_ms * USUAL_MICRO + speed, (
                    f"job {job} had {left_ms} ms left in {segment}"
                )
        elif config.failure_keeps_progress if segment.by_failure else config.keep_progress:
            left_ms -= min(left_ms, work // USUAL_MICRO)


def held_on(account: Account, node: int, time_ms: int) -> list[Segment]:
    """Returns the segments that use a node at a moment."""
    return [
        segment
        for segment in account.segments
        if segment.start_ms <= time_ms < segment.end_ms and any(share.node == node for share in segment.allocation)
    ]


def moments(account: Account) -> list[int]:
    """Returns the times at which anything changes hands."""
    segments = account.segments
    return sorted({time_ms for segment in segments for time_ms in (segment.start_ms, segment.end_ms)})


def used_on(account: Account, node: int, time_ms: int) -> tuple[int, int, int]:
    """Returns the milli-cores, megabytes and milli-GPUs in use on a node at a moment."""
    cores_milli = memory_mb = gpu_milli = 0
    for segment in held_on(account, node, time_ms):
        job = account.jobs[segment.job]
        tasks = sum(share.tasks for share in segment.allocation if share.node == node)
        cores_milli += tasks * job.cores_milli
        memory_mb += tasks * (job.memory_mb or 0)
        gpu_milli += tasks * job.gpu_milli
    return cores_milli, memory_mb, gpu_milli


def check_amounts(account: Account) -> None:
    """Asserts that what nodes handed out over time is what jobs held: core-milliseconds and GPU-milliseconds."""
    times = moments(account)
    handed_out = [0, 0]
    for begin_ms, end_ms in pairwise(times):
        for node in range(len(account.nodes)):
            cores_milli, _, gpu_milli = used_on(account, node, begin_ms)
            handed_out[0] += cores_milli * (end_ms - begin_ms)
            handed_out[1] += gpu_milli * (end_ms - begin_ms)
    held = [0, 0]
    for segment in account.segments:
        job, lasted_ms = account.jobs[segment.job], segment.end_ms - segment.start_ms
        held[0] += job.tasks * job.cores_milli * lasted_ms
        held[1] += job.tasks * job.gpu_milli * lasted_ms
    assert handed_out == held


def check_limits(account: Account) -> None:
    """Asserts that no node and no device ever gives more than it has."""
    for time_ms in moments(account):
        for number, node in enumerate(account.nodes):
            cores_milli, memory_mb, gpu_milli = used_on(account, number, time_ms)
            assert cores_milli <= node.cores_milli, f"node {number} is overdrawn at {time_ms} ms"
            assert node.memory_mb is None or memory_mb <= node.memory_mb
            assert gpu_milli <= node.gpus * DEVICE_MILLI
            for device in range(node.gpus):
                assert used_of_device(account, number, device, time_ms) <= DEVICE_MILLI


def used_of_device(account: Account, node: int, device: int, time_ms: int) -> int:
    """Returns the milli-GPUs in use of a device, as far as the result names devices."""
    shares = [share for one in held_on(account, node, time_ms) for share in one.allocation if share.node == node]
    return sum(share.devices[device] for share in shares if share.devices)


def check_down(account: Account) -> None:
    """Asserts that nobody runs on a node that is down: neither from before nor on it then."""
    segments = account.segments
    last_ms = max((segment.end_ms for segment in segments), default=account.jobs[0].submit_ms)
    failures = Failures.of(account.config, account.nodes, account.jobs[0].submit_ms)
    while (time_ms := failures.next_ms()) is not None and time_ms <= last_ms:
        for event in failures.take_due(time_ms):
            if failures.change(event):
                across = [one for one in held_on(account, event.node, time_ms) if one.start_ms < time_ms]
                assert not across, f"{across} go on though node {event.node} went down at {time_ms} ms"
        until_ms = failures.next_ms()
        # One event at a time: what a completion lets start at the very moment of a failure is over at that moment.
        committed = account.config.dispatch.startswith("committed")
        for segment in (one for one in segments if not (committed and one.end_ms == time_ms)):
            if segment.start_ms >= time_ms and (until_ms is None or segment.start_ms < until_ms):
                on_down = {share.node for share in segment.allocation} & failures.down
                assert not on_down, f"{segment} starts on nodes that are down"
