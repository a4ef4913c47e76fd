"""One reading of LSF from what its programs print: plain texts in, a reading out; no program is run here.

The texts are those of ``bjobs -u all -o "..." -json`` (``records.JSON_FIELDS``), ``bhosts``, ``bqueues`` and so on; any
but the first two may be missing, and forms before 10.1.0.2 are read as well.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from shunter.execution.lsf.jobs import job_of
from shunter.execution.lsf.machine import Machine, Queue, machine_of, with_states
from shunter.execution.lsf.records import job_records
from shunter.execution.lsf.values import INDEX_BITS
from shunter.execution.operating.site import Site, SiteError, SiteJob, SiteNode, State

_APS_LINE: Final = re.compile(r"\s*(\d{1,10})(?:\[(\d{1,9})\])?\s.*?(\(-?[\d.]+\)|-?\d+(?:\.\d+)?|-)\s*")
_NAME_INDEX: Final = re.compile(r"\[(\d{1,9})\]\s")
_LONG_JOB: Final = re.compile(r"^Job <(\d{1,10})(?:\[(\d{1,9})\])?>,", re.MULTILINE)
_ADMIN: Final = re.compile(r"Admin factor value <(-?\d+(?:\.\d+)?)>")
_SYSTEM: Final = re.compile(r"System Absolute Priority <(-?\d+(?:\.\d+)?)>")
_WRAPPED: Final = re.compile(r"\n {10,}")


@dataclass(frozen=True)
class Texts:
    """What the programs printed."""

    jobs: bytes
    """``bjobs -a -u all -o ...``"""
    hosts: bytes
    """``bhosts``"""
    queues: bytes = b""
    """``bqueues``: the present states."""
    long_queues: bytes = b""
    """``bqueues -l``"""
    lists: bytes = b""
    """``lshosts -w``"""
    gpus: bytes = b""
    """``lshosts -gpu``"""
    groups: bytes = b""
    """``bmgroup -w``"""
    aps: bytes = b""
    """``bjobs -u all -aps``: the absolute priorities."""
    long_jobs: bytes | None = None
    """``bjobs -u all -p -UF``: what administrators have added to them. None: nobody asked."""


def site_of(texts: Texts, now_s: float) -> Site:
    """Returns the reading that LSF's answers make.

    Args:
        texts: The answers.
        now_s: When they were given.

    Raises:
        SiteError: An answer makes no sense.
    """
    machine = machine_of(texts.hosts, lists=texts.lists, gpus=texts.gpus, queues=texts.long_queues, groups=texts.groups)
    return site_beside(with_states(machine, texts.hosts, texts.queues), texts, now_s)


def site_beside(machine: Machine, texts: Texts, now_s: float) -> Site:
    """Returns the reading of jobs on a machine that is known.

    Raises:
        SiteError: An answer makes no sense.
    """
    if not machine.nodes:
        raise SiteError("bhosts tells of no hosts that run jobs")
    jobs = jobs_of(texts.jobs, machine, now_s)
    order = aps_of(texts.aps)
    admins = None if texts.long_jobs is None else admins_of(texts.long_jobs)
    tiers = {name: min(queue.priority, 65_535) for name, queue in machine.queues.items()}
    nodes = tuple(_without_others(machine, jobs))
    return Site(now_s, tuple(in_lines(jobs, machine, order, admins)), nodes, tiers=tiers)


def _without_others(machine: Machine, jobs: Sequence[SiteJob]) -> Iterator[SiteNode]:
    """Yields hosts without the slots that are taken by what bjobs does not tell: reservations, or jobs just started."""
    told: Counter[str] = Counter()
    for job in jobs:
        told.update(dict(job.allocation))
    for node in machine.nodes:
        left = node.cores - max(0, machine.taken.get(node.name, 0) - told[node.name])
        yield replace(node, cores=max(1, left), is_closed=node.is_closed or left < 1)


def jobs_of(answer: bytes, machine: Machine, now_s: float) -> list[SiteJob]:
    """Returns the jobs that bjobs tells of, as they are listed: those that wait in the order of their queue.

    Raises:
        SiteError: It is no such answer, or one job is told twice.
    """
    jobs = [job_of(record, machine, now_s) for record in job_records(answer)]
    if len({job.id for job in jobs}) < len(jobs):
        raise SiteError("bjobs tells of one job twice")
    return jobs


def in_lines(
    jobs: Sequence[SiteJob],
    machine: Machine,
    order: dict[int, float],
    admins: dict[int, int | str | None] | None = None,
) -> list[SiteJob]:
    """Returns jobs with their lines and where they stand in them.

    Args:
        jobs: As bjobs lists them.
        machine: The queues.
        order: Absolute priorities by job, in queues that have them; infinity for what an administrator put first.
        admins: What administrators added to them, by job; None: nobody asked.
    """
    found = [_weighed(job, machine, order, admins) if job.state == State.PENDING else job for job in jobs]
    waiting = [job for job in found if job.state == State.PENDING]
    listed = {job.id: number for number, job in enumerate(waiting)}

    def standing(job: SiteJob) -> tuple[float, ...]:
        queue = _queue(job, machine)
        own = order.get(job.id, -math.inf) if queue.has_aps else job.priority
        return -queue.priority, -own, listed[job.id]

    place = {job.id: number for number, job in enumerate(sorted(waiting, key=standing), start=1)}
    moved = _moved(sorted(waiting, key=lambda job: place[job.id]), machine)
    return [
        replace(job, place=place[job.id], **moved.get(job.id, {})) if job.id in place else job for job in found
    ]  # fmt: skip


def _queue(job: SiteJob, machine: Machine) -> Queue:
    return machine.queues.get(job.partitions[0], Queue()) if job.partitions else Queue()


def _weighed(
    job: SiteJob, machine: Machine, order: dict[int, float], admins: dict[int, int | str | None] | None
) -> SiteJob:
    """Returns a job with its line, and with its absolute priority if its queue has such."""
    queue, name = _queue(job, machine), job.partitions[0] if job.partitions else ""
    if not queue.has_aps:
        # btop and bbot move a job among those of its queue whose users gave them the same priority.
        return replace(job, line=f"{name} {job.priority}")
    own = order.get(job.id)
    # What is behind the point decides among jobs of one whole number, and is in their places.
    priority = math.floor(own) if own is not None and math.isfinite(own) else 0
    added: int | str | None = None
    if admins is not None and own is not None:
        added = admins.get(job.id) if job.id in admins else None
    return replace(job, line=queue.group or name, priority=priority, aps=added)


def _moved(line: Sequence[SiteJob], machine: Machine) -> dict[int, dict[str, Any]]:
    """Returns when each job of a line came, and whether it stands before one that came earlier."""
    lines: dict[str, list[SiteJob]] = {}
    for job in line:
        queue = _queue(job, machine)
        if not queue.has_aps and not queue.is_shared_fairly:
            lines.setdefault(job.line, []).append(job)
    found: dict[int, dict[str, Any]] = {}
    for jobs in lines.values():
        came = {job.id: number for number, job in enumerate(sorted(jobs, key=_coming))}
        earliest = len(jobs)
        for job in reversed(jobs):
            found[job.id] = {"came": came[job.id], "is_moved": earliest < came[job.id]}
            earliest = min(earliest, came[job.id])
    return found


def _coming(job: SiteJob) -> tuple[float, int, int]:
    # The time may be told in minutes alone; ids are given as jobs come, and the elements of an array come together.
    return job.submit_s, job.array or job.id, job.id


def aps_of(answer: bytes) -> dict[int, float]:
    """Returns the absolute priorities that ``bjobs -aps`` tells, by job; infinity for those that are set by hand."""
    found: dict[int, float] = {}
    for line in answer.decode(errors="replace").splitlines():
        match = _APS_LINE.fullmatch(line)
        if match is None:
            continue
        # Elements of an array have their index behind the name, which is the last bracket before the time.
        index = match[2] or next(reversed(_NAME_INDEX.findall(line)), 0)
        if match[3] != "-":
            is_by_hand = match[3].startswith("(")
            found[int(match[1]) | int(index) << INDEX_BITS] = math.inf if is_by_hand else float(match[3])
    return found


def admins_of(answer: bytes) -> dict[int, int | str | None]:
    """Returns what administrators have added to absolute priorities, by job, from ``bjobs -l`` or ``-UF``.

    0 is nothing; None is not clear, for a job is told twice; a text is a value that nobody but them sets.
    """
    text = _WRAPPED.sub("", answer.decode(errors="replace"))
    starts = list(_LONG_JOB.finditer(text))
    found: dict[int, int | str | None] = {}
    ends = [match.start() for match in starts[1:]] + [len(text)] * bool(starts)
    for match, end in zip(starts, ends, strict=True):
        id = int(match[1]) | int(match[2] or 0) << INDEX_BITS
        block = text[match.end() : end]
        if "Status <PEND>" not in block and "Status <PSUSP>" not in block:
            continue
        # A user's own words may look like this; a job that is told twice is believed neither time.
        found[id] = None if id in found else _added(block)
    return found


def _added(block: str) -> int | str:
    if system := _SYSTEM.search(block):
        return f"system={system[1]}"
    # What LSF says stands behind the command, so that the last one counts.
    told = _ADMIN.findall(block)
    if not told:
        return 0
    return int(float(told[-1])) if float(told[-1]).is_integer() else str(told[-1])
