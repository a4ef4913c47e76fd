"""A site's limits, licenses, hours and advance reservations, asked of every job anew."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from shunter.model.site import RUNNING, AdvanceReservation, Limit, SiteRules, clock_s, day_numbers
from tests.reference.model import RefJob

if TYPE_CHECKING:
    from tests.reference.state import State

DAY_MS = 86_400_000
WEEK_MS = 7 * DAY_MS
QUEUED = ("queued_jobs", "queued_cores", "queued_gpus")


def with_parents(rules: SiteRules, account: str | None) -> list[str]:
    """Returns an account and all above it."""
    found = []
    while account is not None:
        found.append(account)
        account = rules.accounts.get(account)
    return found


def applies(limit: Limit, job: RefJob, rules: SiteRules) -> bool:
    """Tells whether a job is under a limit: it matches each of its filters."""
    named = [part.strip() for part in (job.partition or rules.default_partition or "").split(",")]
    return (
        (not limit.partitions or any(name in limit.partitions for name in named))
        and (not limit.qos or job.qos in limit.qos)
        and (not limit.users or job.user in limit.users)
        and (not limit.accounts or any(one in limit.accounts for one in with_parents(rules, job.account)))
    )


def group(limit: Limit, job: RefJob, rules: SiteRules) -> tuple[str | None, ...]:
    """Returns with whom a job is counted."""
    names = {
        "user": job.user,
        "account": job.account,
        "qos": job.qos,
        "partition": job.partition or rules.default_partition,
    }
    return tuple(names[one] for one in limit.per)


def amount(bound: str, job: RefJob) -> int:
    """Returns what a job has of what a key of a limit bounds, in thousandths of cores and GPUs."""
    return {
        "jobs": 1,
        "cores": job.total_cores_milli,
        "gpus": job.total_gpu_milli,
        "memory_mb": job.total_memory_mb,
    }[bound.partition("_")[2]]


def capacity(bound: str, limit: Limit) -> int | None:
    """Returns how much of it there may be, in the same unit."""
    most: int | None = getattr(limit, bound)
    return most * 1000 if most is not None and bound.endswith(("cores", "gpus")) else most


def asks_too_much(limit: Limit, job: RefJob) -> bool:
    """Tells whether a job asks for more than one job may; an unknown time is not too long."""
    asked_s = None if job.requested_ms is None else job.requested_ms / 1000
    return (
        (limit.max_time_s is not None and asked_s is not None and asked_s > limit.max_time_s)
        or (limit.max_cores is not None and job.total_cores_milli > 1000 * limit.max_cores)
        or (limit.max_gpus is not None and job.total_gpu_milli > 1000 * limit.max_gpus)
    )


def site_time(rules: SiteRules, time_ms: int) -> datetime:
    """Returns what the site's clock shows."""
    zero = datetime.fromisoformat(rules.time_zero or "1970-01-01 00:00:00")
    return zero + timedelta(milliseconds=time_ms)


def holds_at(limit: Limit, rules: SiteRules, time_ms: int) -> bool:
    """Tells whether a limit holds at a time: hours that began yesterday may last until today."""
    now = site_time(rules, time_ms)
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    days = day_numbers(limit.days)
    if not limit.from_time:
        return now.weekday() in days
    from_s, to_s = clock_s("from_time", limit.from_time), clock_s("to_time", limit.to_time)
    for begin in (midnight, midnight - timedelta(days=1)):
        end_s = to_s if to_s > from_s else to_s + 86_400
        if begin.weekday() in days and timedelta(seconds=from_s) <= now - begin < timedelta(seconds=end_s):
            return True
    return False


def over_job_limit(job: RefJob, rules: SiteRules) -> bool:
    """Tells whether a job alone is over a limit that holds at all hours."""
    for limit in rules.limits:
        if limit.has_hours or not applies(limit, job, rules):
            continue
        bounds = ((amount(bound, job), capacity(bound, limit)) for bound in (*RUNNING, *QUEUED))
        if asks_too_much(limit, job) or any(most is not None and asked > most for asked, most in bounds):
            return True
    return any(count > rules.licenses[name] for name, count in job.licenses)


def is_barred(state: State, job: int, others: Iterable[int]) -> bool:
    """Tells whether a limit keeps a job from starting now beside others: those that run, or are counted as if."""
    rules, told = state.config.rules, state.jobs[job]
    beside = [state.jobs[other] for other in others]
    for limit in rules.limits:
        if not applies(limit, told, rules) or not (not limit.has_hours or holds_at(limit, rules, state.now_ms)):
            continue
        if asks_too_much(limit, told) or is_full(limit, RUNNING, told, beside, rules):
            return True
    for name, count in told.licenses:
        used = sum(dict(other.licenses).get(name, 0) for other in beside)
        if used + count > rules.licenses[name]:
            return True
    return False


def is_full(limit: Limit, bounds: Iterable[str], job: RefJob, beside: list[RefJob], rules: SiteRules) -> bool:
    """Tells whether a limit leaves too little for a job beside others; who asks for nothing is not bound."""
    for bound in bounds:
        most, asked = capacity(bound, limit), amount(bound, job)
        if most is None or asked == 0:
            continue
        alike = [
            other
            for other in beside
            if applies(limit, other, rules) and group(limit, other, rules) == group(limit, job, rules)
        ]
        if asked + sum(amount(bound, other) for other in alike) > most:
            return True
    return False


def is_barred_now(state: State, job: int, before: Iterable[int] = ()) -> bool:
    """The same beside those that run, and those that hold reservations before it."""
    return is_barred(state, job, [*(running.job for running in state.running), *before])


def may_queue(state: State, job: int) -> bool:
    """Tells whether the limits on jobs that wait or run leave room for one more."""
    rules = state.config.rules
    here = [state.jobs[one] for one in (*state.waiting, *(running.job for running in state.running))]
    under = [limit for limit in rules.limits if applies(limit, state.jobs[job], rules)]
    return not any(is_full(limit, QUEUED, state.jobs[job], here, rules) for limit in under)


def binds(one: AdvanceReservation, job: RefJob, rules: SiteRules) -> bool:
    """Tells whether a job may not use nodes that are reserved."""
    accounts = with_parents(rules, job.account)
    if one.binds_up_to_s is not None and (job.requested_ms or 0) > 1000 * one.binds_up_to_s:
        return False
    return job.user not in one.users and not any(account in one.accounts for account in accounts)


def starts_ms(one: AdvanceReservation, rules: SiteRules) -> Iterator[int]:
    """Returns when a reservation begins, again and again."""
    assert not isinstance(one.start, str)
    begin_ms = round(one.start * 1000)
    yield from [begin_ms] if one.repeat == "once" else ()
    days = {"daily": range(7), "weekdays": range(5), "weekends": range(5, 7), "weekly": range(7)}
    while one.repeat != "once":
        if site_time(rules, begin_ms).weekday() in days[one.repeat]:
            yield begin_ms
        begin_ms += WEEK_MS if one.repeat == "weekly" else DAY_MS


def windows(one: AdvanceReservation, rules: SiteRules, until_ms: int) -> list[tuple[int, int]]:
    """Returns the times at which nodes are reserved, those that begin before a time."""
    found = []
    for start_ms in starts_ms(one, rules):
        if start_ms >= until_ms:
            break
        found.append((start_ms, start_ms + round(one.duration_s * 1000)))
    return found


def closed_nodes(state: State, job: int, start_ms: int) -> set[int]:
    """Returns the nodes that a job which starts then would not have left when they are reserved for others."""
    rules = state.config.rules
    until_ms = start_ms + state.longest_duration_ms(job)
    closed: set[int] = set()
    for one in rules.reservations:
        if not binds(one, state.jobs[job], rules):
            continue
        if any(end_ms > start_ms for _, end_ms in windows(one, rules, until_ms)):
            closed |= {
                number
                for number, node in enumerate(state.nodes)
                if (not one.nodes or f"n{number}" in one.nodes) and one.partition in (None, node.partition)
            }
    return closed


def seen_ms(ones: Iterable[AdvanceReservation], rules: SiteRules, time_ms: int) -> int:
    """Returns when all that reservations do has been seen, if nothing else changes from a time on."""
    last_ms = time_ms
    for one in ones:
        if one.repeat == "once":
            last_ms = max(last_ms, *(end_ms for _, end_ms in windows(one, rules, 2**62)))
        else:
            first_ms = next(starts_ms(one, rules))
            assert not isinstance(one.start, str)
            firsts = [start_ms for start_ms, _ in windows(one, rules, round(one.start * 1000) + WEEK_MS)]
            last_ms = max(last_ms, first_ms if one.repeat == "daily" else max(firsts))
    return last_ms + WEEK_MS


def ends_ms(state: State, job: int, from_ms: int, last_ms: int) -> list[int]:
    """Returns the ends of reservations that bind a job, after a time."""
    rules = state.config.rules
    binding = [one for one in rules.reservations if binds(one, state.jobs[job], rules)]
    if not binding:
        return []
    until_ms = seen_ms(binding, rules, last_ms)
    ends = {end_ms for one in binding for _, end_ms in windows(one, rules, until_ms + 1)}
    return sorted(end_ms for end_ms in ends if from_ms < end_ms <= until_ms)


def next_rule_ms(state: State, alone: bool) -> list[int]:
    """Returns the next time at which hours begin or end, or reserved nodes are free again, for a job that waits.

    If nothing else is to come, only until all of it has been seen once.
    """
    rules, times = state.config.rules, set[int]()
    for job in state.waiting:
        times |= set(ends_ms(state, job, state.now_ms, state.now_ms)[:1])
        for limit in rules.limits:
            if limit.has_hours and is_counted(limit, state.jobs[job], rules):
                times |= set(changes_ms(limit, rules, state.now_ms)[:1])
    seen = seen_ms(rules.reservations, rules, state.quiet_since_ms)
    soonest = [time_ms for time_ms in [min(times, default=None)] if time_ms is not None]
    return [time_ms for time_ms in soonest if not alone or time_ms <= seen]


def is_counted(limit: Limit, job: RefJob, rules: SiteRules) -> bool:
    """Tells whether a job has anything of what a limit bounds, or asks for more than it may."""
    has_some = any(capacity(bound, limit) is not None and amount(bound, job) > 0 for bound in RUNNING)
    return applies(limit, job, rules) and (has_some or asks_too_much(limit, job))


def changes_ms(limit: Limit, rules: SiteRules, from_ms: int) -> list[int]:
    """Returns when a limit begins or ends to hold, in the week after a time."""
    now = site_time(rules, from_ms)
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    marks = {0, *(clock_s("hours", text) % 86_400 for text in (limit.from_time, limit.to_time) if text)}
    times = sorted(
        from_ms + round((midnight + timedelta(days=day, seconds=mark) - now) / timedelta(milliseconds=1))
        for day in range(9)
        for mark in marks
    )
    return [
        time_ms
        for time_ms in times
        if time_ms > from_ms and holds_at(limit, rules, time_ms) != holds_at(limit, rules, time_ms - 1)
    ]
